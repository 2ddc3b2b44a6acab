"""Connections as the configuration describes them: passwords, TLS, the primary."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import asyncpg
import pytest

from doorkeeper.server.state.postgres.connecting import connection_to, connector
from doorkeeper.server.state.store import StorageError
from testkit import certificates
from testkit.kafka_jars import Unavailable, cannot
from testkit.postgres import OWNER, Postgres
from testkit.shared_stores import store_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from testkit.postgres import Database

URL = "postgresql://u@127.0.0.1:1/d"
SECRET = "s3cret/@ä"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Postgres]:
    """A server that asks for a password, and takes TLS only."""
    try:
        server = Postgres(password=SECRET, authority=certificates.world().authority)
    except Unavailable as missing:
        cannot(str(missing))
    with server:
        yield server


@pytest.mark.interop
async def test_password_file_is_read_for_each_connection(guarded: Postgres, tmp_path: Path) -> None:
    database = guarded.create_database()
    ca, file = tmp_path / "ca", tmp_path / "password"
    ca.write_text(certificates.world().authority.pem)
    file.write_text("old one\n")
    trust = {"sslmode": "verify-full", "sslrootcert": str(ca)}
    connect = connector(store_of(database.url(trust), f"doorkeeper.store.password.file={file}"))

    with pytest.raises(asyncpg.InvalidPasswordError):
        await connect()
    file.write_bytes(SECRET.encode("latin-1"))
    with pytest.raises(OSError, match="password: the file is not UTF-8"):
        await connect()
    file.write_text(SECRET)
    connection = await connect()

    assert await connection.fetchval("SELECT current_user") == OWNER
    assert await connection.fetchval("SHOW application_name") == "doorkeeper"
    await connection.close()


@pytest.mark.interop
async def test_untrusted_server_is_rejected(guarded: Postgres, tmp_path: Path) -> None:
    database = guarded.create_database()
    ca = tmp_path / "ca"
    ca.write_text(certificates.Authority("Another").pem)
    trust = {"sslmode": "verify-full", "sslrootcert": str(ca)}

    with pytest.raises(OSError, match="certificate verify failed"):
        await connector(store_of(database.url(trust, password=SECRET)))()


@pytest.mark.interop
async def test_connection_failure_is_explained(database: Database) -> None:
    database.execute(f'ALTER DATABASE "{database.name}" SET default_transaction_read_only = on')

    with pytest.raises(
        StorageError, match=r"^postgresql://127\.0\.0\.1:\d+/test_\d+: it is read-only"
    ):
        async with connection_to(store_of(database.url())):
            pass


@pytest.mark.interop
async def test_timeout_is_explained(database: Database) -> None:
    """For a lock of another session, say: that is no word of PostgreSQL's."""
    store = store_of(database.url(), "doorkeeper.store.statement.timeout.ms=100")

    with pytest.raises(StorageError, match=r"no response within 0\.1 s; another session may"):
        async with connection_to(store) as connection:
            await connection.execute("SELECT pg_sleep(10)")


@pytest.mark.parametrize("name", ["sslrootcert", "sslcrl", "sslcert and sslkey"])
def test_invalid_certificate_files_stop_the_start(tmp_path: Path, name: str) -> None:
    file = tmp_path / "file.pem"
    file.write_text("nothing")
    names = name.split(" and ")
    ca = tmp_path / "ca.pem"
    ca.write_text(certificates.world().authority.pem)
    files = {"sslrootcert": ca} | dict.fromkeys(names, file)
    query = "&".join(f"{key}={path}" for key, path in files.items())

    with pytest.raises(StorageError, match=f"{name}: .*file.pem.*: expected PEM"):
        connector(store_of(f"{URL}?sslmode=verify-ca&{query}"))


def test_encrypted_key_is_rejected(tmp_path: Path) -> None:
    own = certificates.world().alice
    crt, key = tmp_path / "crt", tmp_path / "key"
    crt.write_text(own.chain_pem)
    key.write_text(own.key_pem("secret"))

    with pytest.raises(StorageError, match=r"sslcert and sslkey: .*cannot be used"):
        connector(store_of(f"{URL}?sslmode=require&sslcert={crt}&sslkey={key}"))


def test_missing_extra_is_reported(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(f"node.id=1\ndoorkeeper.store={URL}\n")
    code = (
        "import sys\n"
        "sys.modules['asyncpg'] = None\n"
        "from doorkeeper.cli import main\n"
        "main(['serve', '--config', 'server.properties'])\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "pip install 'doorkeeper[postgres]'" in ended.stderr
