"""Lines about handshakes that fail."""

from __future__ import annotations

from doorkeeper.net.handshake_log import LINES_MAX, HandshakeLog
from testkit.edge import Log

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
