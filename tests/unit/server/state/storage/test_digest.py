"""Rows that are not those that the store wrote are found, and nothing where nothing is."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, CONFIG, CREDENTIAL
from doorkeeper.server.state.storage import digest
from doorkeeper.server.state.storage.backup import accept_store, backup, restore
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.identity import IDENTITY_NAME
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.reading import read_acls
from doorkeeper.server.state.store import StateDiffers, StorageError
from testkit.stores import (
    NOW_MS,
    adding,
    binding,
    commit,
    config,
    credential,
    fill,
    numbers_in,
    removing,
    started_store,
)

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.schema.change import Change

CHANGES = (
    adding(1, 2, 3),
    edit(CONFIG, set=[config("log.retention.ms", "1")]),
    edit(CREDENTIAL, set=[credential("alice")]),
    {**adding(4), **edit(CONFIG, set=[config("log.retention.ms", "2")])},
    removing(2),
)

DIFFERENCES = {
    "all ACLs deleted": "DELETE FROM item WHERE kind = 'acl'",
    "an ACL deleted": "DELETE FROM item WHERE key LIKE '%3'",
    "an ACL planted": "INSERT INTO item SELECT kind, '9', value, NULL, 1 FROM item LIMIT 1",
    "a deleted ACL is back": "INSERT INTO item SELECT kind, key, value, NULL, 1 FROM change_log"
    " WHERE deleted = 1",
    "a value changed": "UPDATE item SET value = replace(value, '\"*\"', '\"1.1.1.1\"')"
    " WHERE kind = 'acl'",
    "an earlier value": "UPDATE item SET value = (SELECT value FROM change_log WHERE revision = 2)"
    " WHERE kind = 'config'",
    "a secret changed": "UPDATE item SET secret = '[]' WHERE kind = 'credential'",
    "a row of a later kind planted": "INSERT INTO item VALUES ('later', 'x', '[]', NULL, 1)",
    "tables of an earlier time": "DELETE FROM change_log WHERE revision = 5",
}


def change_by_hand(data_dir: Path, statement: str) -> None:
    connection = apsw.Connection(str(data_dir / DATABASE_NAME))
    connection.execute(statement)
    assert connection.total_changes()
    connection.close()


@pytest.mark.parametrize("case", DIFFERENCES)
async def test_modified_rows_are_not_served(data_dir: Path, case: str) -> None:
    await fill(data_dir, *CHANGES)
    (data_dir / "doorkeeper.identity").unlink()
    change_by_hand(data_dir, DIFFERENCES[case])

    with pytest.raises(StateDiffers, match=r"doorkeeper\.db: the rows do not match") as caught:
        numbers_in(data_dir)
    with pytest.raises(StateDiffers):
        read_acls(data_dir / DATABASE_NAME)
    async with reading(data_dir, alone=False) as store:
        assert str(*await store.findings()).startswith("digest: the rows do not match")
    for words in ("expected ", "doorkeeper store check", "doorkeeper store accept"):
        assert words in str(caught.value)

    accept_store(data_dir, data_dir / IDENTITY_NAME)
    numbers_in(data_dir)
    await fill(data_dir, adding(10))
    assert 10 in numbers_in(data_dir)


async def test_write_by_another_process_fails_the_next_change(
    data_dir: Path,
) -> None:
    await fill(data_dir, *CHANGES)
    store = started_store(data_dir)
    change_by_hand(data_dir, DIFFERENCES["an ACL deleted"])

    with pytest.raises(StorageError, match="the rows do not match revision 5"):
        await commit(store, adding(10))

    assert store.unavailable is not None
    store.close()


@pytest.mark.parametrize("seed", range(3))
async def test_every_commit_updates_the_digest(data_dir: Path, seed: int) -> None:
    random = Random(seed)
    store = started_store(data_dir)
    numbers: set[int] = set()
    for _ in range(8):
        changes = [some_change(random, numbers) for _ in range(random.choice((1, 1, 2, 5)))]
        await commit(store, *changes)
        connection = store._connection
        assert digest.finding(connection) is None
    store.close()

    assert numbers_in(data_dir) == sorted(numbers)


def some_change(random: Random, numbers: set[int]) -> Change:
    """Return a change of ACLs and other kinds; ``numbers`` follows the ACLs."""
    gone = random.sample(sorted(numbers), random.randrange(len(numbers) + 1))
    added = range(len(numbers) * 7, len(numbers) * 7 + random.choice((1, 3, 100, 1100)))
    new = [number for number in added if number not in numbers]
    numbers -= set(gone)
    numbers |= set(new)
    acls = edit(ACL, set=map(binding, new), deleted=map(binding, gone))
    others = [config(name, str(random.random())) for name in random.sample("abcd", 2)]
    return {**acls, **edit(CONFIG, set=others)}


async def test_backups_and_pruning_keep_the_digest(data_dir: Path) -> None:
    """A restored backup is loaded; so is a store whose log has only the newest revision."""
    await fill(data_dir, *CHANGES)
    backup(data_dir, data_dir.with_name("backup"))
    await fill(data_dir, removing(1))
    restore(data_dir.with_name("backup"), data_dir, now_ms=lambda: NOW_MS)
    assert numbers_in(data_dir) == [1, 3, 4]

    change_by_hand(data_dir, "DELETE FROM change_log WHERE revision < 5")
    assert numbers_in(data_dir) == [1, 3, 4]
