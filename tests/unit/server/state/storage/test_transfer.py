"""Two stores are the same, or the difference is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.state.storage.portable import BASE, COLUMNS, LOG, Header, Row
from doorkeeper.server.state.storage.portable_embedded import reading
from doorkeeper.server.state.storage.transfer import Reader, Sum, compare
from doorkeeper.server.state.store import StorageError
from testkit.portables import Held, fill_fully

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
async def store(data_dir: Path) -> Held:
    await fill_fully(data_dir)
    async with reading(data_dir, alone=True) as found:
        held = await Held.of(found)
    held.tables[BASE] = [("feature", "metadata.version", "[33]", 0)]
    return held


def changed(rows: list[Row], at: int, cell: int, value: object) -> list[Row]:
    row = list(rows[at])
    row[cell] = value
    return [*rows[:at], tuple(row), *rows[at + 1 :]]


async def sums_of(store: Held) -> dict[str, Sum]:
    reader = Reader(store, 0, None)
    await reader.read_all()
    return reader.sums


async def test_store_equals_itself(store: Held) -> None:
    sums = await sums_of(store)
    for rows in store.tables.values():
        rows.reverse()
    store.tables[LOG] = [(*row[:-2], 7, "ab" * 16) for row in store.tables[LOG]]

    await compare("source", sums, store.kept, store, None)


@pytest.mark.parametrize("table", COLUMNS)
async def test_differing_cell_is_found(store: Held, table: str) -> None:
    sums = await sums_of(store)
    rows = store.tables[table]

    for wrong in (changed(rows, 0, 2, "x"), rows[1:], [*rows, rows[0]]):
        store.tables[table] = wrong
        with pytest.raises(StorageError, match=f"held: {table} has {len(wrong)} rows, but source"):
            await compare("source", sums, store.kept, store, None)


@pytest.mark.parametrize("what", ["cluster_id", "salt_key", "revision"])
async def test_differing_identity_is_found(store: Held, what: str) -> None:
    sums, header = await sums_of(store), store.kept
    other: dict[str, Any] = {what: b"secret" if what == "salt_key" else 99}
    store.kept = replace(header, **other)

    with pytest.raises(StorageError, match=f"its {what} differs from that of source") as caught:
        await compare("source", sums, header, store, None)

    assert "secret" not in str(caught.value)


async def test_progress_counts_rows(store: Held) -> None:
    """It is told after each piece, and ends with all of them."""
    told: list[tuple[int, int]] = []
    whole = sum(map(len, store.tables.values()))

    await Reader(store, whole, lambda *words: told.append(words)).read_all()

    assert told == sorted(told)
    assert told[-1] == (whole, whole)
    assert isinstance(store.kept, Header)
