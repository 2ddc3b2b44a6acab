"""How late the loop is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper.server.operations.http.heartbeat import BEAT_S, Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable


class HandLoop:
    """A loop whose time the test moves, and which calls when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.due: tuple[float, Callable[[], None]] | None = None
        self.cancelled = False

    def time(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, call: Callable[[], None]) -> Any:
        self.due = (when_s, call)
        return self

    def cancel(self) -> None:
        self.cancelled = True

    def turn(self, at_s: float) -> None:
        assert self.due is not None
        self.now_s = at_s
        self.due[1]()


def test_lag_of_the_last_beat() -> None:
    """In time it is 0, and late as much as it is late, also before the beat has come at all."""
    loop = HandLoop()
    heart = Heartbeat(loop)  # type: ignore[arg-type]

    loop.turn(100 + BEAT_S)
    assert heart.lag_s == 0
    loop.turn(100 + 2 * BEAT_S + 0.25)
    assert heart.lag_s == 0.25
    loop.turn(100 + 3 * BEAT_S + 0.25)
    assert heart.lag_s == 0
    loop.now_s += BEAT_S + 7
    assert heart.lag_s == 7
