"""Watchers: every revision in order, once, from any that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

from doorkeeper.server.state.history import watching
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.verification import RecordedHash
from doorkeeper.server.state.history.watching import next_revisions, parse_last
from doorkeeper.server.state.storage.backup import backup, restore
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.portable_embedded import reading
from testkit.stores import NOW_MS, adding, append

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.state.storage.portable import Portable


async def numbers_behind(store: Portable, after: int) -> list[int]:
    _, revisions = await next_revisions(store, RecordedHash(after, ""))
    return [each.revision for each in revisions]


async def test_watcher_receives_every_revision_once(
    database: apsw.Connection, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "AT_ONCE", 2)
    waits: list[int] = []

    found: list[int] = []
    while len(found) < 7:
        after = found[-1] if found else 0
        async with reading(data_dir, alone=False) as store:
            _, revisions = await next_revisions(store, RecordedHash(after, ""))
        part = [each.revision for each in revisions]
        found += part
        if not part:
            waits.append(after)
            append(database, adding(100 + after), after + 1)

    assert found == [1, 2, 3, 4, 5, 6, 7]
    assert waits == [4, 5, 6]


async def test_watcher_resumes_from_a_revision(store: Portable) -> None:
    assert await numbers_behind(store, 2) == [3, 4]
    assert await numbers_behind(store, 4) == []
    with pytest.raises(BeforeHistory, match="revision 6 does not exist yet; the newest is 4"):
        await numbers_behind(store, 5)


async def test_watcher_begins_behind_the_newest(database: apsw.Connection, data_dir: Path) -> None:
    async with reading(data_dir, alone=False) as store:
        last, revisions = await next_revisions(store, None)
    append(database, adding(100), 5)
    async with reading(data_dir, alone=False) as store:
        behind = await next_revisions(store, last)

    assert (last.revision, revisions) == (4, [])
    assert [each.revision for each in behind[1]] == [5]
    assert behind[0] == RecordedHash(5, behind[1][0].hash)


async def test_watcher_notices_a_restored_store(
    database: apsw.Connection, data_dir: Path, tmp_path: Path
) -> None:
    """Without the hash it would skip the revisions up to the number that it knows."""
    backup(data_dir, tmp_path / "backup")
    append(database, adding(100), 5)
    async with reading(data_dir, alone=False) as store:
        last, _ = await next_revisions(store, RecordedHash(4, ""))
    database.close()
    restore(tmp_path / "backup", data_dir, now_ms=lambda: NOW_MS)
    restored = apsw.Connection(str(data_dir / DATABASE_NAME))
    append(restored, adding(101), 5)
    append(restored, adding(102), 6)
    restored.close()

    async with reading(data_dir, alone=False) as store:
        with pytest.raises(BeforeHistory, match="revision 5 is not the one that was watched"):
            await next_revisions(store, last)
        assert await numbers_behind(store, 5) == [6]


@pytest.mark.parametrize("text", ["", "x", "-1", "1:", "1:abc", f"1:{'a' * 64}x"])
def test_last_revision_is_a_number_with_or_without_hash(text: str) -> None:
    for last in (RecordedHash(12, ""), RecordedHash(12, "ab" * 32)):
        assert parse_last(str(last)) == last
    with pytest.raises(ValueError, match="expected: a revision, or REVISION:HASH"):
        parse_last(text)


async def test_watcher_stops_at_a_gap(database: apsw.Connection, data_dir: Path) -> None:
    database.execute("DELETE FROM change_log WHERE revision = 3")

    async with reading(data_dir, alone=False) as store:
        assert await numbers_behind(store, 0) == [1, 2]
        with pytest.raises(BeforeHistory, match="revision 3 is missing from the log"):
            await numbers_behind(store, 2)
