"""Stores of older versions: converted as a whole, or left as they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.kinds.declared import ACL, CONFIG, KINDS, TOPIC
from doorkeeper.state.store import StorageError
from doorkeeper.storage import schema
from doorkeeper.storage.checking import findings
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.portable_embedded import reading
from testkit.old_stores import CHANGES, CLUSTER_ID, ROWS, create_old_store
from testkit.stores import adding, fill, open_store, query, topic

if TYPE_CHECKING:
    from pathlib import Path


def copies(data_dir: Path) -> list[str]:
    return sorted(path.name for path in data_dir.iterdir() if "backup" in path.name)


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_an_older_store_is_copied_and_migrated(data_dir: Path, version: int) -> None:
    """All rows and revisions are there, the store is sound, and the copy is the old one."""
    create_old_store(data_dir, version)

    store = open_store(data_dir)
    found = {name: list(store.rows(kind)) for name, kind in KINDS.items() if name in ROWS}
    revision = store.revision
    store.close()

    expected = ROWS | ({TOPIC.name: [topic("kept", 3)]} if version == 1 else {})
    for name, rows in found.items():
        is_known = KINDS[name] in (ACL, TOPIC) or (KINDS[name] is CONFIG and version > 1)
        assert rows == (expected[name] if is_known or version > 2 else [])
    assert revision == sum(since <= version for since, _ in CHANGES)
    assert store.identity.cluster_id == CLUSTER_ID
    assert store.identity.salt_key == b"\xab" * 32
    async with reading(data_dir, alone=True) as sound:
        assert await findings(sound) == []
    assert copies(data_dir) == [f"doorkeeper.db.v{version}-backup-20261014T174640Z"]
    copy = data_dir / copies(data_dir)[0]
    assert copy.stat().st_mode & 0o777 == 0o600
    connection = apsw.Connection(str(copy))
    assert schema.version(connection) == version
    connection.close()
    assert query(data_dir, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1") == [
        ("base",),
        ("change_log",),
        ("item",),
        ("meta",),
    ]


async def test_a_migrated_store_takes_changes(data_dir: Path) -> None:
    """The next change has the next number."""
    create_old_store(data_dir, 3)

    await fill(data_dir, adding(1))

    assert query(data_dir, "SELECT max(revision) FROM change_log") == [(len(CHANGES) + 1,)]
    open_store(data_dir).close()
    assert len(copies(data_dir)) == 1


def test_a_store_without_a_salt_key_gets_one(data_dir: Path) -> None:
    """The first versions had none."""
    create_old_store(data_dir, 1)
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("DELETE FROM meta WHERE key = 'salt_key'")
    connection.close()

    store = open_store(data_dir)

    assert len(store.identity.salt_key) == 32
    store.close()


CRASH = f"""
import os, signal, sys
from pathlib import Path
from doorkeeper.storage import old_layout
from testkit.stores import open_store

convert = old_layout.convert

def half(connection):
    convert(connection)
    os.kill(os.getpid(), {signal.SIGKILL:d})

old_layout.convert = half
open_store(Path(sys.argv[1]))
"""


def test_a_crash_in_the_middle_leaves_the_old_store(data_dir: Path) -> None:
    """A process killed in the midst of it leaves the store as it was; the next one migrates."""
    create_old_store(data_dir, 3)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    child = subprocess.run(
        [sys.executable, "-c", CRASH, str(data_dir)], env=environment, check=False
    )

    assert child.returncode == -signal.SIGKILL
    assert query(data_dir, "SELECT value FROM meta WHERE key = 'schema_version'") == [(3,)]
    open_store(data_dir).close()
    assert query(data_dir, "SELECT value FROM meta WHERE key = 'schema_version'") == [(5,)]


def test_a_failure_leaves_the_old_store(data_dir: Path) -> None:
    """A row that cannot be converted stops the start, and nothing is changed."""
    create_old_store(data_dir, 3)
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("UPDATE bindings SET operation = 99")
    connection.close()

    with pytest.raises(StorageError, match="the store is damaged"):
        open_store(data_dir)

    assert query(data_dir, "SELECT value FROM meta WHERE key = 'schema_version'") == [(3,)]
    assert query(data_dir, "SELECT count(*) FROM bindings") == [(1,)]


def test_a_newer_store_is_refused_untouched(data_dir: Path) -> None:
    """The error says which version was found and which can be read; nothing is copied."""
    open_store(data_dir).close()
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute("UPDATE meta SET value = 6 WHERE key = 'schema_version'")
    connection.close()
    before = (data_dir / DATABASE_NAME).read_bytes()

    with pytest.raises(StorageError) as raised:
        open_store(data_dir)

    assert f"{data_dir / DATABASE_NAME}: the store has schema version 6" in str(raised.value)
    assert "reads schema versions up to 5" in str(raised.value)
    assert (data_dir / DATABASE_NAME).read_bytes() == before
    assert copies(data_dir) == []


def test_a_new_store_is_not_migrated(data_dir: Path) -> None:
    """It has the newest schema from the beginning."""
    open_store(data_dir).close()

    assert query(data_dir, "SELECT value FROM meta WHERE key = 'schema_version'") == [
        (schema.VERSION,)
    ]
    assert copies(data_dir) == []
