from __future__ import annotations

import sqlite3
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CREDENTIAL
from doorkeeper.server.state.storage.database import (
    check_integrity,
    connect,
    connect_readonly,
    reason,
    sqlite_errors,
)
from doorkeeper.server.state.store import StorageError
from testkit.stores import append, create_tables, credential


def test_connection_settings(tmp_path: Path) -> None:
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "wal_autocheckpoint": 0,
        "mmap_size": 0,
        "fullfsync": 1,
        "journal_size_limit": 64 * 1024 * 1024,
        "cache_size": -16 * 1024,
        "cell_size_check": 1,
        "temp_store": 2,
        "trusted_schema": 0,
    }

    connection = connect(tmp_path / "doorkeeper.db")

    assert {name: connection.pragma(name) for name in expected} == expected
    connection.close()


def test_database_files_are_private(tmp_path: Path) -> None:
    """All files get mode 0600, also those that a crash left with another mode."""
    path = tmp_path / "doorkeeper.db"
    path.touch(0o644)
    connection = connect(path)
    connection.execute("CREATE TABLE t (c)")

    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    assert modes == dict.fromkeys(
        ("doorkeeper.db", "doorkeeper.db-wal", "doorkeeper.db-shm"), 0o600
    )
    connection.close()


@pytest.mark.parametrize("opening", [connect, connect_readonly])
def test_other_file_is_rejected(tmp_path: Path, opening: object) -> None:
    path = tmp_path / "doorkeeper.db"
    path.write_bytes(b"Dear diary, " * 100)
    assert callable(opening)

    with pytest.raises(StorageError) as raised:
        opening(path)

    assert str(raised.value) == f"{path}: file is not a database"
    assert path.read_bytes() == b"Dear diary, " * 100


def test_database_of_another_program_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "doorkeeper.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name)")
    other.close()
    before = path.read_bytes()

    with pytest.raises(StorageError, match="not a Doorkeeper store"):
        connect(path)

    assert path.read_bytes() == before


def test_errors_name_the_file_and_reason() -> None:
    """SQLite's words, or the class of an error without words."""
    with (
        pytest.raises(StorageError, match=r"^data/doorkeeper\.db: database or disk is full$"),
        sqlite_errors(Path("data/doorkeeper.db")),
    ):
        raise apsw.FullError("database or disk is full")

    assert reason(apsw.FullError("not an error")) == "database or disk is full"
    assert reason(apsw.BusyError("BusyError: database is locked")) == "database is locked"
    assert reason(MemoryError()) == "MemoryError"


def test_disk_error_has_its_code(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from doorkeeper.server.state.store import StorageError\n"
        "from doorkeeper.server.state.storage.database import connect, sqlite_errors\n"
        "connection = connect(Path(sys.argv[1]))\n"
        "connection.pragma('journal_mode', 'off')\n"
        "connection.execute('CREATE TABLE t (c)')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try:\n"
        "    with sqlite_errors(Path('file')):\n"
        "        connection.execute('INSERT INTO t VALUES (zeroblob(90_000))')\n"
        "except StorageError as error:\n"
        "    print(error)\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "doorkeeper.db")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout == "file: disk I/O error (SQLITE_IOERR_WRITE)\n"


def test_damage_is_found(tmp_path: Path) -> None:
    """A table whose pages were overwritten fails the integrity check, by its file's name."""
    path = tmp_path / "doorkeeper.db"
    connection = connect(path)
    connection.execute("CREATE TABLE t (c); INSERT INTO t VALUES (zeroblob(9000))")
    check_integrity(connection, path)
    connection.close()
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\x0d" * 4096
    path.write_bytes(content)
    damaged = apsw.Connection(str(path))

    with pytest.raises(StorageError) as raised:
        check_integrity(damaged, path)

    assert str(raised.value).startswith(f"{path}: the database is damaged: ")
    damaged.close()


def test_deleted_credentials_are_erased(tmp_path: Path) -> None:
    path = tmp_path / "doorkeeper.db"
    connection = connect(path)
    create_tables(connection)
    users = [
        replace(credential(f"user-{at:02}"), stored_key=f"what checks user {at:02}".encode())
        for at in range(40)
    ]
    gone, kept = users[:30], users[30:]

    append(connection, edit(CREDENTIAL, set=users), 1)
    append(connection, edit(CREDENTIAL, deleted=gone), 2)
    connection.close()

    octets = path.read_bytes()
    assert [each.user for each in kept if b64encode(each.stored_key) not in octets] == []
    assert [each.user for each in gone if b64encode(each.stored_key) in octets] == []
