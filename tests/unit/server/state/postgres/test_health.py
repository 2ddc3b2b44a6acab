"""How a node stands with the store that it shares."""

from __future__ import annotations

from doorkeeper.server.state.postgres.health import FOLLOWER, WRITER, BackOff, Health
from doorkeeper.server.state.store import StoreReplaced
from testkit.recording_logger import RecordingLogger


def test_retry_pauses_grow_to_a_maximum() -> None:
    longest, shortest = BackOff(lambda: 1.0), BackOff(lambda: 0.0)

    assert [longest.next_s() for _ in range(9)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert shortest.next_s() == 0.025
    longest.reset()
    assert longest.next_s() == 0.05


def test_outage_is_logged_once() -> None:
    now_s = [103.0]
    log = RecordingLogger()
    health = Health(lambda: now_s[0], log, "db.example/doorkeeper")

    health.record_failure(FOLLOWER, ConnectionRefusedError("nothing listens"))
    now_s[0] = 104.0
    health.record_failure(FOLLOWER, TimeoutError())
    away = health.problem
    health.record_success(FOLLOWER)

    assert away == "TimeoutError"
    assert health.problem is None
    assert [fields.get("away_s") for _, _, fields in log.lines] == [None, 1.0]


def test_read_only_store_is_unavailable() -> None:
    log = RecordingLogger()
    health = Health(lambda: 0.0, log, "db.example/doorkeeper")

    health.record_failure(WRITER, ValueError("read-only"))
    health.record_failure(FOLLOWER, ValueError("gone"))
    for _ in range(2):
        health.record_success(FOLLOWER)
        assert health.problem == "ValueError: read-only"
        assert health.lost_by.keys() == {WRITER}
        assert len(log.lines) == 1
    health.record_success(WRITER)

    assert health.problem is None
    assert log.lines[-1][1] == "the store is available again"
    assert len(log.lines) == 2


def test_replaced_store_is_logged_once() -> None:
    log = RecordingLogger()
    health = Health(lambda: 0.0, log, "db.example/doorkeeper")

    health.record_failure(FOLLOWER, ConnectionError("gone"))
    for who in (FOLLOWER, WRITER, FOLLOWER):
        health.record_failure(who, StoreReplaced("no store is here"))

    assert [line[2]["cause"] for line in log.lines] == ["ConnectionError: gone", "no store is here"]
