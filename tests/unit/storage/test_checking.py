"""What is wrong with a store is found, and nothing where nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.storage.checking import FINDINGS_MAX, findings
from doorkeeper.storage.portable import LOG
from doorkeeper.storage.portable_embedded import reading
from testkit.portables import Held, fill_fully

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper.storage.portable import Row

REVISIONS = 4


@pytest.fixture
async def store(data_dir: Path) -> Held:
    await fill_fully(data_dir)
    async with reading(data_dir, alone=True) as found:
        return await Held.of(found)


async def test_a_sound_store_has_no_findings(store: Held) -> None:
    """Whole or pruned, down to the newest revision, and new."""
    for first in range(1, REVISIONS + 1):
        store.tables[LOG] = [row for row in store.tables[LOG] if int(row[0] or 0) >= first]
        assert await findings(store) == []
    store.tables = {table: [] for table in store.tables}
    store.kept = store.kept._replace(revision=0)
    assert await findings(store) == []


def without_revision(number: int) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row for row in rows if row[0] != number]


def with_cell(at: int, cell: int, value: object) -> Callable[[list[Row]], list[Row]]:
    def change(rows: list[Row]) -> list[Row]:
        row = list(rows[at])
        row[cell] = value  # type: ignore[call-overload]  # whatever a test puts there
        return [*rows[:at], tuple(row), *rows[at + 1 :]]

    return change


@pytest.mark.parametrize(
    ("table", "change", "text"),
    [
        (LOG, without_revision(2), "change_log: revision 3 follows revision 1"),
        (LOG, without_revision(4), "its newest revision is 3; the store's is 4"),
        (LOG, lambda rows: rows[:5] + rows[6:], "item 6 stands where item 5 belongs"),
        (LOG, lambda rows: rows[1:], "revision 1: item 1 stands where item 0 belongs"),
        (LOG, with_cell(3, 2, 99), "revision 1: item 3 has the kind 99"),
        (LOG, with_cell(1, 8, f"{0:022}"), "is made twice"),
        ("bindings", lambda rows: rows[1:], "is not there; revision 1 set it"),
        ("bindings", with_cell(0, 5, "10.9.9.9"), "is not what revision 1 says"),
        ("bindings", with_cell(0, 8, 2), "is of revision 2; revision 1 set it last"),
        ("bindings", with_cell(0, 8, 9), "is of revision 9, which is not there yet"),
        ("bindings", lambda rows: [*rows, (f"{3:022}", *rows[0][1:])], "revision 4 deleted it"),
        (
            "bindings",
            lambda rows: [*rows, ("other", *rows[0][1:])],
            "'other' is of revision 1, whose log says nothing of it",
        ),
        ("bindings", lambda rows: [*rows, ("other", *rows[0][1:])], "are the same ACL"),
        ("topics", with_cell(0, 1, "{}"), "topics: 'b' is not what revision 3 says"),
        ("topics", lambda _: [], "topics: 'b' is not there; revision 3 set it"),
        ("configs", with_cell(0, 2, "x"), "configs: '', 'k' is not what revision 2 says"),
        ("credentials", lambda _: [], "is not there; revision 2 set it"),
        ("credentials", with_cell(0, 6, 3), "is of revision 3; revision 2 set it last"),
        ("tokens", with_cell(0, 1, "{}"), "tokens: 't2' is not what revision 2 says"),
    ],
)
async def test_each_fault_is_found(
    store: Held, table: str, change: Callable[[list[Row]], list[Row]], text: str
) -> None:
    """What is missing, too much or different in a table or in the log is told by its name."""
    store.tables[table] = change(store.tables[table])

    assert text in "\n".join(await findings(store))


async def test_faults_below_the_rows_come_first(store: Held) -> None:
    """What the database's own check says stands before the rest."""
    store.broken = ["the file is damaged"]

    assert await findings(store) == ["the file is damaged"]


async def test_a_store_that_is_wrong_all_over_is_told_briefly(store: Held) -> None:
    """Of many findings of one table the first are told, and how many more there are."""
    row = store.tables["bindings"][0]
    store.tables["bindings"] += [(f"other-{at}", *row[1:]) for at in range(100)]

    found = await findings(store)

    assert len(found) == FINDINGS_MAX + 1
    assert found[-1] == "bindings: and 180 more like these"
