from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from doorkeeper.server.state.storage import schema
from doorkeeper.server.state.storage.database import connect
from doorkeeper.server.state.storage.upkeep import (
    CHECKPOINT_PAGES,
    PRUNE_INTERVAL_MS,
    Upkeep,
    prune,
)
from testkit.stores import NOW_MS, adding, append, create_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import apsw

DAY_MS = 86_400_000


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    connection = connect(tmp_path / "doorkeeper.db")
    create_tables(connection)
    yield connection
    connection.close()


def log(connection: apsw.Connection, *times_ms: int, items: int = 1) -> None:
    """Write one revision for each time, of so many items."""
    first = schema.last_revision(connection) + 1
    for revision, time_ms in enumerate(times_ms, first):
        numbers = range(revision * 10_000, revision * 10_000 + items)
        append(connection, adding(*numbers), revision, time_ms)


def work(upkeep: Upkeep) -> bool:
    """Do what is due while nothing waits; say whether there may be more to do at once."""
    due = upkeep.due(is_idle=True)
    return due is not None and due()


def revisions(connection: apsw.Connection) -> list[object]:
    found = connection.execute("SELECT DISTINCT revision FROM change_log ORDER BY revision")
    return [revision for (revision,) in found]


@pytest.mark.parametrize(
    ("times_ms", "before_ms", "left"),
    [
        ((), 1000, []),
        ((10, 20, 30, 40), 30, [3, 4]),
        # The newest one stays for ever: the store counts on from it.
        ((10, 20, 30), 1000, [3]),
        # The clock was set back: an old time after a young one stays, without a gap.
        ((10, 99, 20, 99), 50, [2, 3, 4]),
    ],
)
def test_old_revisions_are_deleted(
    connection: apsw.Connection, times_ms: tuple[int, ...], before_ms: int, left: list[int]
) -> None:
    """From the oldest on, up to the first that is young enough; the rows themselves stay."""
    log(connection, *times_ms)

    assert prune(connection, before_ms=before_ms) == (len(left) < len(times_ms))

    assert revisions(connection) == left
    assert connection.execute("SELECT count(*) FROM item").get == len(times_ms)
    assert schema.last_revision(connection) == len(times_ms)
    assert not prune(connection, before_ms=before_ms)


def test_old_revisions_are_deleted_in_batches(connection: apsw.Connection) -> None:
    """Each of about so many rows, and of whole revisions."""
    log(connection, *range(100))
    assert prune(connection, before_ms=1000, rows=10)
    assert len(revisions(connection)) == 90

    log(connection, 1000, items=7)
    log(connection, 1001)
    assert prune(connection, before_ms=1001, rows=95)
    assert revisions(connection) == [102]


def test_pruning_is_off_without_a_limit(connection: apsw.Connection) -> None:
    """With -1 days the log keeps all."""
    log(connection, 10, 20)
    upkeep = Upkeep(connection, now_ms=Clock(), retention_days=-1)

    assert not work(upkeep)

    assert revisions(connection) == [1, 2]


def test_waiting_changes_precede_pruning(connection: apsw.Connection) -> None:
    log(connection, 10, 20)
    upkeep = Upkeep(connection, now_ms=Clock(), retention_days=0)

    assert upkeep.due(is_idle=False) is None
    assert upkeep.due(is_idle=True) is not None


def test_pruning_runs_hourly(connection: apsw.Connection) -> None:
    clock = Clock()
    upkeep = Upkeep(connection, now_ms=clock, retention_days=5)
    log(connection, NOW_MS - 6 * DAY_MS, NOW_MS - 5 * DAY_MS, NOW_MS)

    assert work(upkeep)
    assert not work(upkeep)
    assert revisions(connection) == [2, 3]

    clock.ms += PRUNE_INTERVAL_MS - 1
    assert not work(upkeep)
    clock.ms += 1
    assert work(upkeep)
    assert revisions(connection) == [3]


@pytest.mark.parametrize("jump_ms", [3 * PRUNE_INTERVAL_MS, 3650 * DAY_MS, -DAY_MS])
def test_clock_that_jumps_prunes_nothing_for_an_hour(
    connection: apsw.Connection, jump_ms: int
) -> None:
    """It may be set back soon; what was pruned is lost."""
    clock = Clock()
    upkeep = Upkeep(connection, now_ms=clock, retention_days=5)
    log(connection, NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS, NOW_MS)
    assert not work(upkeep)

    clock.ms += jump_ms
    assert upkeep.due(is_idle=True) is None
    clock.ms -= jump_ms
    assert upkeep.due(is_idle=True) is None
    assert revisions(connection) == [1, 2, 3]
    clock.ms += PRUNE_INTERVAL_MS
    assert upkeep.due(is_idle=True) is not None


def test_failed_pruning_is_logged(
    connection: apsw.Connection,
) -> None:
    log(connection, 10, NOW_MS)
    upkeep = Upkeep(connection, now_ms=Clock(), retention_days=0)
    connection.pragma("query_only", True)

    with capture_logs() as lines:
        assert not work(upkeep)
        assert not work(upkeep)

    assert [line["event"] for line in lines] == ["the log was not pruned"]
    assert "readonly" in lines[0]["error"]


def write_pages(connection: apsw.Connection, pages: int) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS filling (content)")
    connection.execute("INSERT INTO filling VALUES (zeroblob(?))", (pages * 4096,))


def test_checkpoint_runs_after_enough_pages(connection: apsw.Connection, tmp_path: Path) -> None:
    upkeep = Upkeep(connection, now_ms=Clock(), retention_days=-1)
    database = tmp_path / "doorkeeper.db"

    write_pages(connection, CHECKPOINT_PAGES // 2)
    work(upkeep)
    before = database.stat().st_size
    write_pages(connection, CHECKPOINT_PAGES // 2)
    work(upkeep)

    assert before < CHECKPOINT_PAGES * 4096 / 2
    assert database.stat().st_size >= CHECKPOINT_PAGES * 4096


def test_wal_size_is_bounded(connection: apsw.Connection, tmp_path: Path) -> None:
    upkeep = Upkeep(connection, now_ms=Clock(), retention_days=-1)

    for _ in range(40):
        write_pages(connection, CHECKPOINT_PAGES // 4)
        work(upkeep)

    wal = tmp_path / "doorkeeper.db-wal"
    assert wal.stat().st_size < 2 * CHECKPOINT_PAGES * 4096


def test_failed_checkpoint_is_logged(connection: apsw.Connection) -> None:
    upkeep = Upkeep(connection, now_ms=Clock(), retention_days=-1)
    write_pages(connection, CHECKPOINT_PAGES)
    connection.execute("BEGIN IMMEDIATE")

    with capture_logs() as lines:
        work(upkeep)

    assert [line["event"] for line in lines] == ["checkpoint failed"]
    assert "locked" in lines[0]["error"]
    connection.execute("ROLLBACK")
