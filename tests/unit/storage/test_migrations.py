from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from doorkeeper.storage import schema
from doorkeeper.storage.contract import Change, ConfigKey, StorageError
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.migrations import MIGRATIONS, Migration, newest_version
from doorkeeper.storage.rows import topic_json
from testkit.stores import (
    AUTHOR,
    NOW_MS,
    adding,
    credential,
    fill,
    numbers_in,
    open_store,
    query,
    topic,
)


def run(statement: str) -> Callable[[apsw.Connection], None]:
    def apply(connection: apsw.Connection) -> None:
        connection.execute(statement)

    return apply


NOTES = Migration(4, run("CREATE TABLE notes (text); INSERT INTO notes VALUES ('two')"))
MORE_NOTES = Migration(5, run("INSERT INTO notes VALUES ('three')"))
BROKEN = Migration(5, run("INSERT INTO nowhere VALUES (1)"))


def versions(data_dir: Path) -> list[tuple[object, ...]]:
    return query(data_dir, "SELECT value FROM meta WHERE key = 'schema_version'")


def copies(data_dir: Path) -> list[str]:
    return sorted(path.name for path in data_dir.iterdir() if "backup" in path.name)


def test_migrations_have_versions_in_order() -> None:
    """The shipped migrations count from 2 on, without a gap."""
    assert [step.version for step in MIGRATIONS] == list(range(2, 2 + len(MIGRATIONS)))
    assert newest_version() == 1 + len(MIGRATIONS)


async def test_an_older_store_is_copied_and_migrated(data_dir: Path) -> None:
    """All missing steps run, once, in order; the copy beside the store is the old one."""
    await fill(data_dir, adding(1, 2))

    open_store(data_dir, migrations=(*MIGRATIONS, NOTES, MORE_NOTES)).close()
    open_store(data_dir, migrations=(*MIGRATIONS, NOTES, MORE_NOTES)).close()

    assert versions(data_dir) == [(5,)]
    assert query(data_dir, "SELECT text FROM notes") == [("two",), ("three",)]
    assert query(data_dir, "SELECT count(*) FROM bindings") == [(2,)]
    assert copies(data_dir) == ["doorkeeper.db.v3-backup-20261014T174640Z"]
    copy = apsw.Connection(str(data_dir / copies(data_dir)[0]))
    assert schema.version(copy) == 3
    assert copy.execute("SELECT count(*) FROM bindings").get == 2
    copy.close()


async def test_the_copy_is_private(data_dir: Path) -> None:
    """The copy of an old store has mode 0600, as the store has."""
    await fill(data_dir, adding(1))

    open_store(
        data_dir,
        migrations=(
            *MIGRATIONS,
            NOTES,
        ),
    ).close()

    assert (data_dir / copies(data_dir)[0]).stat().st_mode & 0o777 == 0o600


def test_a_new_store_takes_the_same_steps_without_a_copy(data_dir: Path) -> None:
    """A new store is the first version plus every migration; there is nothing to copy."""
    open_store(data_dir, migrations=(*MIGRATIONS, NOTES, MORE_NOTES)).close()

    assert versions(data_dir) == [(5,)]
    assert query(data_dir, "SELECT text FROM notes") == [("two",), ("three",)]
    assert copies(data_dir) == []


async def test_a_step_that_fails_undoes_the_steps_before_it(data_dir: Path) -> None:
    """All steps are one transaction: the store stays at its version, whole, and opens again."""
    await fill(data_dir, adding(1))

    with pytest.raises(StorageError, match=r"doorkeeper\.db: no such table: nowhere"):
        open_store(data_dir, migrations=(*MIGRATIONS, NOTES, BROKEN))

    assert versions(data_dir) == [(3,)]
    assert query(data_dir, "SELECT name FROM sqlite_schema WHERE name = 'notes'") == []
    assert numbers_in(data_dir) == [1]


CRASH = f"""
import os, signal, sys
from pathlib import Path
from doorkeeper.storage.migrations import MIGRATIONS, Migration
from testkit.stores import open_store

def half(connection):
    connection.execute("CREATE TABLE notes (text); DELETE FROM bindings; DELETE FROM meta")
    os.kill(os.getpid(), {signal.SIGKILL:d})

open_store(Path(sys.argv[1]), migrations=(*MIGRATIONS, Migration(4, half)))
"""


async def test_a_crash_in_the_middle_leaves_the_old_store(data_dir: Path) -> None:
    """A process killed in the midst of a step leaves the store as it was; the next one migrates."""
    await fill(data_dir, adding(1, 2))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    child = subprocess.run(
        [sys.executable, "-c", CRASH, str(data_dir)], env=environment, check=False
    )

    assert child.returncode == -signal.SIGKILL
    assert numbers_in(data_dir) == [1, 2]
    assert versions(data_dir) == [(3,)]
    open_store(
        data_dir,
        migrations=(
            *MIGRATIONS,
            NOTES,
        ),
    ).close()
    assert versions(data_dir) == [(4,)]


def test_a_store_of_version_1_gets_room_for_dynamic_values(data_dir: Path) -> None:
    """What it held is there, its log too; then values can be kept, and topics altered."""
    open_store(data_dir, migrations=()).close()
    old = apsw.Connection(str(data_dir / DATABASE_NAME))
    columns = ",".join(["?"] * 17)
    kept = (
        1,
        0,
        3,
        NOW_MS,
        *AUTHOR,
        None,
        None,
        "orders",
        *(None,) * 5,
        topic_json(topic("orders")),
    )
    old.execute(f"INSERT INTO change_log VALUES ({columns})", kept)
    old.close()

    store = open_store(data_dir)

    assert list(store.topics()) == [topic("orders")]
    assert list(store.configs()) == []
    assert store.revision == 1
    store.close()
    assert versions(data_dir) == [(3,)]
    assert copies(data_dir) == ["doorkeeper.db.v1-backup-20261014T174640Z"]


async def test_a_store_of_version_2_gets_room_for_users_and_tokens(data_dir: Path) -> None:
    """What it held is there; then credentials and tokens can be kept, and go on from its log."""
    before = open_store(data_dir, migrations=MIGRATIONS[:1])
    before.close()
    old = apsw.Connection(str(data_dir / DATABASE_NAME))
    cells = (1, 0, 6, NOW_MS, *AUTHOR, *(None,) * 2, "1", *(None,) * 6, "super.users", "User:a")
    old.execute(f"INSERT INTO change_log VALUES ({','.join('?' * 19)})", cells)
    old.close()

    await fill(data_dir, Change(author=AUTHOR, credentials_set=(credential("alice"),)))

    store = open_store(data_dir)
    assert list(store.configs()) == [(ConfigKey("1", "super.users"), "User:a")]
    assert list(store.credentials()) == [credential("alice")]
    assert list(store.tokens()) == []
    assert store.revision == 2
    store.close()
    assert copies(data_dir) == ["doorkeeper.db.v2-backup-20261014T174640Z"]


def test_a_newer_store_is_refused_untouched(data_dir: Path) -> None:
    """The error says which version was found and which can be read; nothing is copied."""
    open_store(
        data_dir,
        migrations=(
            *MIGRATIONS,
            NOTES,
        ),
    ).close()
    before = (data_dir / DATABASE_NAME).read_bytes()

    with pytest.raises(StorageError) as raised:
        open_store(data_dir)

    assert f"{data_dir / DATABASE_NAME}: the store has schema version 4" in str(raised.value)
    assert "reads schema versions up to 3" in str(raised.value)
    assert (data_dir / DATABASE_NAME).read_bytes() == before
    assert copies(data_dir) == []
