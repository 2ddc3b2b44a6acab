"""How a node stands with the store that it shares."""

from __future__ import annotations

from doorkeeper.storage.postgres.health import FOLLOWER, WRITER, BackOff, Health, reason
from testkit.edge import Log


def test_pauses_grow_to_a_bound_and_begin_anew() -> None:
    """Each is between half and whole of twice the one before."""
    longest, shortest = BackOff(lambda: 1.0), BackOff(lambda: 0.0)

    assert [longest.next_s() for _ in range(9)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert shortest.next_s() == 0.025
    longest.reset()
    assert longest.next_s() == 0.05


def test_an_outage_is_told_once_and_its_end_with_its_length() -> None:
    """The age is that of what the node decides from."""
    now_s = [100.0]
    log = Log()
    health = Health(lambda: now_s[0], log, "db.example/doorkeeper")  # type: ignore[arg-type]

    now_s[0] = 103.0
    health.lost(FOLLOWER, ConnectionRefusedError("nobody listens"))
    now_s[0] = 104.0
    health.lost(FOLLOWER, ConnectionRefusedError("nobody listens"))
    away = (health.is_reachable, health.age_s)
    health.confirmed()
    health.answered(FOLLOWER)

    assert away == (False, 4.0)
    assert (health.is_reachable, health.age_s) == (True, 0.0)
    events = [(line.event, line.fields.get("away_s")) for line in log.lines]
    assert [away_s for _, away_s in events] == [None, 1.0]


def test_a_store_that_takes_no_writes_is_away() -> None:
    """Though it is followed: it is back when both are answered, and each is told once."""
    log = Log()
    health = Health(lambda: 0.0, log, "db.example/doorkeeper")  # type: ignore[arg-type]

    health.lost(WRITER, ValueError("read-only"))
    health.lost(FOLLOWER, ValueError("gone"))
    for _ in range(2):
        health.confirmed()
        health.answered(FOLLOWER)
        assert not health.is_reachable
        assert health.is_lost_by(WRITER)
        assert not health.is_lost_by(FOLLOWER)
        assert len(log.lines) == 1
    health.answered(WRITER)

    assert health.is_reachable
    assert log.lines[-1].event == "the store is back"
    assert len(log.lines) == 2


def test_a_reason_is_one_line_and_never_empty() -> None:
    """asyncpg's errors have several lines, and a time-out has none."""
    assert reason(ValueError("a\nHINT:  b")) == "ValueError: a HINT: b"
    assert reason(TimeoutError()) == "TimeoutError"
