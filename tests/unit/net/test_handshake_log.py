"""Lines about handshakes that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.net import handshake_log
from doorkeeper.net.handshake_log import LINES_MAX, HandshakeLog
from testkit.edge import Log, until

if TYPE_CHECKING:
    import pytest

UNTOLD = "failed TLS handshakes, not logged one by one"


async def test_a_flood_is_counted() -> None:
    """After some lines the others of that time are one line."""
    log = Log()
    handshakes = HandshakeLog("DOOR", log)

    for number in range(LINES_MAX + 30):
        handshakes.record_failure(f"c{number}", "it takes too long")
    handshakes.close()

    assert log.events() == ["failed TLS handshake"] * LINES_MAX + [UNTOLD]
    assert handshakes.failures == LINES_MAX + 30
    assert log.one(UNTOLD).fields == {"listener": "DOOR", "count": 30}
    assert log.lines[0].fields == {
        "listener": "DOOR",
        "connection": "c0",
        "reason": "it takes too long",
    }


async def test_lines_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After that time there are lines again; where nothing was left out, nothing is told."""
    monkeypatch.setattr(handshake_log, "WINDOW_S", 0.01)
    log = Log()
    handshakes = HandshakeLog("DOOR", log)

    handshakes.record_failure("a", "x")
    await until(lambda: handshakes._window is None)
    handshakes.record_failure("b", "x")
    handshakes.close()

    assert [line.fields["connection"] for line in log.lines] == ["a", "b"]
