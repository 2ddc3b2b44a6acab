"""The records of a partition for a share group: who has which, and what is done."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper_broker import share_partition
from doorkeeper_broker.share_partition import (
    ACCEPT,
    ACQUIRED_MAX,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledged,
    Acquired,
    Budget,
    SharePartition,
    Terms,
)

LOCK_MS = 30_000
BATCHES = ((0, 9), (10, 19), (20, 29))


def terms(records_max: int = 500, **fields: Any) -> Terms:
    values = {
        "batch_size": 500,
        "is_exact": False,
        "deliveries_max": 5,
        "in_flight_max": 2_000,
        "lock_ms": LOCK_MS,
        **fields,
    }
    return Terms(records_max, **values)


def a_partition() -> SharePartition:
    return SharePartition(0, Budget())


def acquire(
    partition: SharePartition, member: str = "a", now_ms: int = 0, **fields: Any
) -> list[Acquired]:
    return partition.acquire(member, BATCHES, terms(**fields), now_ms)


def acknowledge(
    partition: SharePartition, *parts: tuple[int, int, int], member: str = "a"
) -> ErrorCode:
    """Acknowledge parts; return the error."""
    try:
        partition.acknowledge(member, [Acknowledged(*part) for part in parts], 5, LOCK_MS)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def test_records_are_acquired_once() -> None:
    """Whole batches, up to a number of records; the next member gets what comes behind."""
    partition = a_partition()

    assert acquire(partition, records_max=15) == [Acquired(0, 19, 1)]
    assert partition.next_offset(2_000) == 20
    assert acquire(partition, "b", batch_size=5) == [Acquired(20, 29, 1)]
    assert acquire(partition, "b") == []


def test_acquired_records_end_at_batch_boundaries() -> None:
    assert acquire(a_partition(), batch_size=10) == [
        Acquired(0, 9, 1),
        Acquired(10, 19, 1),
        Acquired(20, 29, 1),
    ]


def test_exact_number_of_records_is_acquired() -> None:
    """With ``record_limit`` (KIP-1206) a batch may be cut."""
    partition = a_partition()

    assert acquire(partition, records_max=3, is_exact=True) == [Acquired(0, 2, 1)]
    assert acquire(partition, records_max=3, is_exact=True) == [Acquired(3, 5, 1)]


def test_start_offset_moves_past_completed_records() -> None:
    partition = a_partition()
    acquire(partition)

    assert acknowledge(partition, (5, 9, ACCEPT), (20, 29, REJECT)) is ErrorCode.NONE
    assert (partition.start_offset, partition.done, partition.stored_offset) == (0, 15, 0)
    assert acknowledge(partition, (0, 1, GAP), (2, 4, ACCEPT)) is ErrorCode.NONE
    assert (partition.start_offset, partition.done, partition.stored_offset) == (10, 10, 10)


def test_released_records_are_redelivered() -> None:
    partition = a_partition()
    counts = []
    for _ in range(5):
        (acquired,) = partition.acquire("a", [(0, 0)], terms(), 0)
        counts.append(acquired.deliveries)
        acknowledge(partition, (0, 0, RELEASE))

    assert counts == [1, 2, 3, 4, 5]
    assert partition.start_offset == 1


def test_bad_record_is_isolated() -> None:
    partition = a_partition()
    sizes = []
    for _ in range(6):
        acquired = partition.acquire("a", [(0, 15)], terms(), 0)
        sizes.append([(part.first, part.last) for part in acquired])
        for part in acquired:
            acknowledge(partition, (part.first, part.last, RELEASE))

    assert sizes == [[(0, 15)], [(0, 15)], [(0, 15)], [(0, 7)], [(0, 0)], [(1, 1)]]


def test_acquisition_locks_expire() -> None:
    partition = a_partition()
    woken = []
    partition.waiters.add(lambda: woken.append(True))
    acquire(partition)
    assert partition.next_deadline_ms == LOCK_MS

    partition.advance(LOCK_MS, 5)

    assert woken
    assert acknowledge(partition, (0, 29, ACCEPT)) is ErrorCode.INVALID_RECORD_STATE
    assert acquire(partition, "b") == [Acquired(0, 29, 2)]


def test_acquisition_locks_are_renewed() -> None:
    """RENEW (KIP-1222) changes nothing but the time."""
    partition = a_partition()
    acquire(partition)
    partition.acknowledge("a", [Acknowledged(0, 29, RENEW)], 5, 2 * LOCK_MS)

    partition.advance(LOCK_MS, 5)

    assert partition.next_deadline_ms == 2 * LOCK_MS
    assert acknowledge(partition, (0, 29, ACCEPT)) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("parts", "member", "code"),
    [
        ([(0, 9, ACCEPT)], "b", ErrorCode.INVALID_RECORD_STATE),
        ([(0, 30, ACCEPT)], "a", ErrorCode.INVALID_REQUEST),
        ([(30, 31, ACCEPT)], "a", ErrorCode.INVALID_REQUEST),
        ([(0, 9, ACCEPT), (9, 12, ACCEPT)], "a", ErrorCode.INVALID_RECORD_STATE),
    ],
)
def test_invalid_acknowledgement_changes_nothing(
    parts: list[tuple[int, int, int]], member: str, code: ErrorCode
) -> None:
    partition = a_partition()
    acquire(partition)

    assert acknowledge(partition, *parts, member=member) is code
    assert (partition.start_offset, partition.done) == (0, 0)
    assert acknowledge(partition, (0, 29, ACCEPT)) is ErrorCode.NONE


def test_acquired_records_are_limited() -> None:
    partition = a_partition()
    acquire(partition, in_flight_max=10, records_max=10)

    assert partition.next_offset(10) is None
    assert acquire(partition, in_flight_max=10) == []
    acknowledge(partition, (0, 9, RELEASE))
    assert partition.next_offset(10) == 0


def test_deleted_records_are_skipped() -> None:
    """What is acquired and deleted need not be acknowledged."""
    partition = a_partition()
    acquire(partition)

    partition.skip_to(15)

    assert partition.start_offset == 15
    assert acknowledge(partition, (0, 14, ACCEPT), (15, 29, ACCEPT)) is ErrorCode.NONE
    assert partition.start_offset == 30


def test_share_partition_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = a_partition()
    (acquired,) = partition.acquire("a", [(0, 2**31 - 2)], terms(), 0)
    assert acquired.last == ACQUIRED_MAX - 1

    monkeypatch.setattr(share_partition, "RUNS_MAX", 4)
    assert acknowledge(partition, (5, 5, RELEASE)) is ErrorCode.NONE
    assert acknowledge(partition, (10, 10, RELEASE)) is ErrorCode.INVALID_RECORD_STATE
    assert acknowledge(partition, (0, 4, ACCEPT)) is ErrorCode.NONE
