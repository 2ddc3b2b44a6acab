"""Lines about the input of peers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.net import peer_log
from doorkeeper.net.peer_log import LINES_MAX, PeerLog
from testkit.edge import Log, until

if TYPE_CHECKING:
    import pytest

OMITTED = "log lines omitted"


async def test_long_texts_are_cut() -> None:
    """Names come from clients, up to 32 kB of them; numbers and errors stay as they are."""
    log, error = Log(), ValueError("x")
    lines = PeerLog(log, asyncio.get_running_loop())

    lines.warning("refused", client_id="c" * 30_000, version=3, name="short")
    lines.error("failed", exc_info=error)

    assert log.lines[0].fields == {
        "client_id": f"{'c' * 500}... (30000 characters)",
        "version": 3,
        "name": "short",
    }
    assert log.lines[1].fields == {"exc_info": error}


async def test_a_flood_is_counted() -> None:
    """Each event has its own number of lines; the others of that time are one line."""
    log = Log()
    lines = PeerLog(log, asyncio.get_running_loop())

    for _ in range(LINES_MAX + 30):
        lines.info("refused")
    lines.warning("closed")
    lines.close()

    assert log.events() == ["refused"] * LINES_MAX + ["closed", OMITTED]
    assert log.one(OMITTED).fields == {"of": "refused", "count": 30}


async def test_lines_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time of a window the count is logged, and there are lines again."""
    monkeypatch.setattr(peer_log, "WINDOW_S", 0.01)
    monkeypatch.setattr(peer_log, "LINES_MAX", 1)
    log = Log()
    lines = PeerLog(log, asyncio.get_running_loop())

    lines.info("a")
    lines.info("a")
    await until(lambda: OMITTED in log.events())
    lines.info("a")
    lines.close()

    assert log.events() == ["a", OMITTED, "a"]
