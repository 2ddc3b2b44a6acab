"""Watchers: every revision in order, once, from any that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.state.history import watching
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.watching import next_revisions
from doorkeeper.server.state.storage.portable_embedded import reading
from testkit.stores import adding, append

if TYPE_CHECKING:
    from pathlib import Path

    import apsw

    from doorkeeper.server.state.storage.portable import Portable


async def test_watcher_receives_every_revision_once(
    database: apsw.Connection, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "AT_ONCE", 2)
    waits: list[int] = []

    found: list[int] = []
    while len(found) < 7:
        after = found[-1] if found else 0
        async with reading(data_dir, alone=False) as store:
            part = [each.revision for each in await next_revisions(store, after)]
        found += part
        if not part:
            waits.append(after)
            append(database, adding(100 + after), after + 1)

    assert found == [1, 2, 3, 4, 5, 6, 7]
    assert waits == [4, 5, 6]


async def test_watcher_resumes_from_a_revision(store: Portable) -> None:
    assert [each.revision for each in await next_revisions(store, 2)] == [3, 4]
    assert await next_revisions(store, 4) == []
    with pytest.raises(BeforeHistory, match="revision 6 does not exist yet; the newest is 4"):
        await next_revisions(store, 5)


async def test_watcher_stops_at_a_gap(database: apsw.Connection, data_dir: Path) -> None:
    database.execute("DELETE FROM change_log WHERE revision = 3")

    async with reading(data_dir, alone=False) as store:
        assert [each.revision for each in await next_revisions(store, 0)] == [1, 2]
        with pytest.raises(BeforeHistory, match="revision 3 is missing from the log"):
            await next_revisions(store, 2)
