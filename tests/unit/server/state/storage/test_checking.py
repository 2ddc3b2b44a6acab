"""What is wrong with a store is found, and nothing where nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.server.state.storage.checking import findings
from doorkeeper.server.state.storage.portable import BASE, ITEM, LOG
from doorkeeper.server.state.storage.portable_embedded import reading
from testkit.portables import Held, fill_fully

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.server.state.storage.portable import Row

REVISIONS = 4


@pytest.fixture
async def store(data_dir: Path) -> Held:
    await fill_fully(data_dir)
    async with reading(data_dir, alone=True) as found:
        return await Held.of(found)


async def test_sound_store_has_no_findings(store: Held) -> None:
    for first in range(1, REVISIONS + 1):
        prune(store, first)
        assert await findings(store) == []
    store.tables = {table: [] for table in store.tables}
    store.kept = replace(store.kept, revision=0)
    assert await findings(store) == []


async def test_initial_rows_are_not_in_the_log(store: Held) -> None:
    """A store is created with them: beside a log from revision 1, a pruned one, and none."""
    store.tables[ITEM].append(("feature", "metadata.version", "[33]", None, 0))
    store.tables[BASE].insert(0, ("feature", "metadata.version", "[33]", 0))
    assert await findings(store) == []
    prune(store, 3)
    assert await findings(store) == []
    store.tables = {LOG: [], ITEM: store.tables[ITEM][-1:], BASE: store.tables[BASE][:1]}
    store.kept = replace(store.kept, revision=0)
    assert await findings(store) == []


def prune(store: Held, first: int) -> None:
    """Fold the revisions before ``first`` into the base."""
    rows = {row[:2]: row for row in store.tables[BASE]}
    for revision, _, kind, key, value, deleted, *_ in store.tables[LOG]:
        if int(revision or 0) < first:
            rows.pop((kind, key), None)
            if not deleted:
                rows[kind, key] = (kind, key, value, revision)
    store.tables[BASE] = list(rows.values())
    store.tables[LOG] = [row for row in store.tables[LOG] if int(row[0] or 0) >= first]


def without_revision(number: int) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row for row in rows if row[0] != number]


def with_cell(at: int, cell: int, value: object) -> Callable[[list[Row]], list[Row]]:
    def change(rows: list[Row]) -> list[Row]:
        row = list(rows[at])
        row[cell] = value
        return [*rows[:at], tuple(row), *rows[at + 1 :]]

    return change


def with_row(kind: str, key: str, revision: int) -> Callable[[list[Row]], list[Row]]:
    """Add an item with the value of the first one."""
    return lambda rows: [*rows, (kind, key, rows[0][2], None, revision)]


def without(kind: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row for row in rows if row[0] != kind]


def changed(kind: str, cell: int, value: object) -> Callable[[list[Row]], list[Row]]:
    """Change a cell of the first item of a kind."""
    return lambda rows: with_cell([row[0] for row in rows].index(kind), cell, value)(rows)


@pytest.mark.parametrize(
    ("table", "change", "text"),
    [
        (LOG, without_revision(2), "change_log: revision 3 follows revision 1"),
        (LOG, without_revision(4), "its newest revision is 3; the store's is 4"),
        (LOG, lambda rows: rows[:5] + rows[6:], "item 6 instead of item 5"),
        (LOG, lambda rows: rows[1:], "revision 1: item 1 instead of item 0"),
        (LOG, with_cell(-1, 3, f"{3:022}"), "which does not exist"),
        (ITEM, lambda rows: rows[1:], "is missing, but revision 1 set it"),
        (ITEM, with_cell(0, 2, "[]"), "differs from revision 1"),
        (ITEM, with_cell(0, 4, 2), "is of revision 2; revision 1 set it last"),
        (ITEM, with_cell(0, 4, 9), "is of revision 9, which is not in the log yet"),
        (ITEM, with_row("acl", f"{3:022}", 1), "revision 4 deleted it"),
        (
            ITEM,
            with_row("acl", "other", 1),
            "'other' is of revision 1, whose log does not contain it",
        ),
        (ITEM, with_row("acl", "other", 1), "are the same ACL"),
        (
            ITEM,
            with_row("later", "other", 1),
            "later: 'other' is of revision 1, whose log does not",
        ),
        (ITEM, changed("topic", 2, "{}"), "topic: 'b' differs from revision 3"),
        (ITEM, without("topic"), "topic: 'b' is missing, but revision 3 set it"),
        (ITEM, changed("config", 2, "x"), "differs from revision 2"),
        (ITEM, without("credential"), "is missing, but revision 2 set it"),
        (ITEM, changed("credential", 4, 3), "is of revision 3; revision 2 set it last"),
        (ITEM, changed("credential", 2, "x"), "differs from revision 2"),
        (ITEM, changed("token", 2, "{}"), "token: 't2' differs from revision 2"),
        (
            BASE,
            lambda _rows: [("topic", "old", "[]", 0)],
            "topic: 'old' is not the same in the base, and no revision changed it",
        ),
    ],
)
async def test_each_fault_is_found(
    store: Held, table: str, change: Callable[[list[Row]], list[Row]], text: str
) -> None:
    """What is missing, too much or different in a table or in the log is told by its name."""
    store.tables[table] = change(store.tables[table])

    assert text in "\n".join(await findings(store))


async def test_secrets_are_not_compared(store: Held) -> None:
    """The log has none."""
    store.tables[ITEM] = changed("credential", 3, "[]")(store.tables[ITEM])

    assert await findings(store) == []


async def test_database_faults_come_first(store: Held) -> None:
    store.broken = ["the file is damaged"]

    assert await findings(store) == ["the file is damaged"]
