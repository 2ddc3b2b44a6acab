"""Stores of older versions: converted as a whole, or left as they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.kinds.declared import ACL, KINDS, TOPIC
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


@pytest.mark.parametrize("version", [1, 3])
async def test_an_older_store_is_copied_and_migrated(data_dir: Path, version: int) -> None:
    """All rows and revisions are there, the store is sound, and the copy is the old one."""
    create_old_store(data_dir, version)

    store = open_store(data_dir)
    found = {name: list(store.rows(kind)) for name, kind in KINDS.items() if name in ROWS}
    revision = store.revision
    store.close()

    only_in_3: dict[str, list[object]] = {
        name: [] for name in ROWS if name not in (ACL.name, TOPIC.name)
    }
    assert found == (ROWS if version == 3 else ROWS | {TOPIC.name: [topic("kept", 3)]} | only_in_3)
    assert revision == sum(since <= version for since, _ in CHANGES)
    assert store.identity.cluster_id == CLUSTER_ID
    async with reading(data_dir, alone=True) as sound:
        assert await findings(sound) == []
    (copy,) = copies(data_dir)
    assert copy == f"doorkeeper.db.v{version}-backup-20261014T174640Z"
    assert (data_dir / copy).stat().st_mode & 0o777 == 0o600
    connection = apsw.Connection(str(data_dir / copy))
    assert schema.version(connection) == version
    connection.close()
    await fill(data_dir, adding(1))
    assert query(data_dir, "SELECT max(revision) FROM change_log") == [(revision + 1,)]
    assert copies(data_dir) == [copy]


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
    assert query(data_dir, "SELECT value FROM meta WHERE key = 'schema_version'") == [(6,)]


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
    connection.execute("UPDATE meta SET value = 7 WHERE key = 'schema_version'")
    connection.close()
    before = (data_dir / DATABASE_NAME).read_bytes()

    with pytest.raises(StorageError) as raised:
        open_store(data_dir)

    assert f"{data_dir / DATABASE_NAME}: the store has schema version 7" in str(raised.value)
    assert "reads schema versions up to 6" in str(raised.value)
    assert (data_dir / DATABASE_NAME).read_bytes() == before
    assert copies(data_dir) == []
