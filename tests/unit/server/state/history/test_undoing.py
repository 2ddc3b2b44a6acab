"""What an undo reads of a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.state.history import revisions as revisions_module
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.undoing import changed_acls, read_undo
from testkit.portables import CHANGES

if TYPE_CHECKING:
    from doorkeeper.server.state.storage.portable import Portable

WINDOW = 2


async def test_log_is_read_in_windows(store: Portable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may have millions of revisions, of a kilobyte each in memory."""
    whole = await read_undo(store, 1, 2), await changed_acls(store, 0)
    read, windows = store.rows, []

    def rows(table: str, *columns: Any, after: int, until: int) -> Any:
        windows.append(until - after)
        return read(table, *columns, after=after, until=until)

    monkeypatch.setattr(store, "rows", rows)
    monkeypatch.setattr(revisions_module, "WINDOW", WINDOW)

    assert (await read_undo(store, 1, 2), await changed_acls(store, 0)) == whole
    assert whole[1]
    assert len(windows) > len(CHANGES) // WINDOW
    assert max(windows) == WINDOW


async def test_range_that_is_not_in_the_log_is_rejected(store: Portable) -> None:
    last = len(CHANGES)
    with pytest.raises(BeforeHistory, match=f"{last} to {last + 1} are not all .* has {last} to"):
        await read_undo(store, last, last + 1)
    with pytest.raises(BeforeHistory, match="which has none of them"):
        await read_undo(store, last + 1, last + 1)
