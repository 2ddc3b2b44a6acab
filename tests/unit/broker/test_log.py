"""The log of a partition: offsets, reading, time, producers, transactions, memory."""

from __future__ import annotations

import pytest

from doorkeeper.api.records import TimedOffset
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper_broker.batches import marker
from doorkeeper_broker.log import Memory, PartitionLog
from testkit.batches import base_offsets, batch

TRANSACTIONAL = 0x10


def a_log(bytes_max: int = 1_048_576) -> PartitionLog:
    return PartitionLog(Memory(bytes_max))


def read(log: PartitionLog, offset: int, *, bytes_max: int = 10_000) -> list[int]:
    """Return the base offsets of what is read."""
    found = log.read(offset, bytes_max, committed=False, at_least_one=True)
    return base_offsets(found.data)


def code_of(log: PartitionLog, **options: object) -> ErrorCode:
    """Return the code with which a batch is refused."""
    with pytest.raises(ApiError) as refused:
        log.append(batch(b"a", **options))
    return refused.value.code


def test_offsets_count_records() -> None:
    """A batch begins where the last one ended."""
    log = a_log()

    offsets = [log.append(batch(*values)) for values in ((b"a",), (b"b", b"c"), (b"d",))]

    assert offsets == [0, 1, 3]
    assert (log.start_offset, log.end_offset, log.stable_offset) == (0, 4, 4)


def test_a_read_has_a_size() -> None:
    """Only the first batch may be larger, where that is allowed."""
    log = a_log()
    size = len(batch(b"a").data)
    for _ in range(3):
        log.append(batch(b"a"))

    assert read(log, 0, bytes_max=2 * size) == [0, 1]
    assert read(log, 0, bytes_max=2 * size - 1) == [0]
    assert read(log, 0, bytes_max=1) == [0]
    assert log.read(0, 1, committed=False, at_least_one=False).data == b""
    assert log.readable_bytes(1, 1000, committed=False) == 2 * size
    assert log.readable_bytes(1, 10, committed=False) == 10
    assert log.readable_bytes(3, 10, committed=False) == 0


def test_records_are_found_by_time() -> None:
    """In the first batch that has one; the largest time has its own answer."""
    log = a_log()
    log.append(batch(b"a", b"b", times=[10, 20]))
    log.append(batch(b"c", b"d", times=[15, 30]))

    assert log.find_time(0) == TimedOffset(0, 10)
    assert log.find_time(16) == TimedOffset(1, 20)
    assert log.find_time(21) == TimedOffset(3, 30)
    assert log.find_time(31) is None
    assert log.find_largest_time() == TimedOffset(3, 30)
    assert a_log().find_largest_time() is None


def test_a_duplicate_keeps_its_offset() -> None:
    """The last five batches of a producer are known; nothing is appended twice."""
    log = a_log()
    first = log.append(batch(b"a", producer=(7, 0, 0)))
    second = log.append(batch(b"b", b"c", producer=(7, 0, 1)))

    assert log.append(batch(b"b", b"c", producer=(7, 0, 1))) == second
    assert log.append(batch(b"a", producer=(7, 0, 0))) == first
    assert log.end_offset == 3


def test_sequence_numbers_have_no_holes() -> None:
    """Neither backwards nor forwards; a later epoch begins at 0, an earlier one is fenced."""
    log = a_log()
    log.append(batch(b"a", producer=(7, 1, 5)))

    assert code_of(log, producer=(7, 1, 7)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log, producer=(7, 1, 4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log, producer=(7, 2, 6)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log, producer=(7, 0, 6)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.append(batch(b"a", producer=(7, 1, 6))) == 1
    assert log.append(batch(b"a", producer=(7, 2, 0))) == 2


def test_an_open_transaction_holds_the_stable_offset() -> None:
    """Until its marker; those that read what is committed do not pass it."""
    log = a_log()
    log.append(batch(b"a"))
    log.append(batch(b"b", producer=(7, 0, 0), attributes=TRANSACTIONAL))
    log.append(batch(b"c"))

    assert (log.stable_offset, log.end_offset) == (1, 3)
    assert base_offsets(log.read(0, 9999, committed=True, at_least_one=True).data) == [0]

    log.append_marker(marker(7, 0, 0, commits=True), commits=True)

    assert (log.stable_offset, log.end_offset) == (4, 4)
    found = log.read(0, 9999, committed=True, at_least_one=True)
    assert base_offsets(found.data) == [0, 1, 2, 3]
    assert found.aborted == ()


def test_an_aborted_transaction_is_named() -> None:
    """To readers of what is committed, where their part has records of it."""
    log = a_log()
    log.append(batch(b"a", producer=(7, 0, 0), attributes=TRANSACTIONAL))
    log.append(batch(b"b"))
    log.append_marker(marker(7, 0, 0, commits=False), commits=False)
    log.append(batch(b"c"))

    found = log.read(1, 9999, committed=True, at_least_one=True)
    assert [each[:2] for each in found.aborted] == [(7, 0)]
    assert log.read(3, 9999, committed=True, at_least_one=True).aborted == ()
    assert log.read(0, 9999, committed=False, at_least_one=True).aborted == ()


def test_a_producer_does_not_leave_its_transaction() -> None:
    """Records without a transaction are refused while one is open."""
    log = a_log()
    log.append(batch(b"a", producer=(7, 0, 0), attributes=TRANSACTIONAL))

    assert code_of(log, producer=(7, 0, 1)) is ErrorCode.INVALID_TXN_STATE


def test_records_are_deleted_up_to_an_offset() -> None:
    """The first offset moves; memory is given up by whole segments."""
    memory = Memory(1_048_576)
    log = PartitionLog(memory)
    for _ in range(4):
        log.append(batch(b"a" * 20_000))
    used = memory.used

    log.delete_before(1)

    assert log.start_offset == 1
    assert read(log, 1) == [1]
    assert 0 < memory.used < used

    log.delete_before(4)

    assert (log.start_offset, log.end_offset, memory.used) == (4, 4, 0)
    assert log.append(batch(b"b")) == 4


def test_the_oldest_segments_of_all_logs_are_dropped() -> None:
    """Whichever topic they are of; what is left is within the bound."""
    memory = Memory(64 * 1000)
    first, second = PartitionLog(memory), PartitionLog(memory)
    for _ in range(40):
        first.append(batch(b"a" * 900))

    for _ in range(60):
        second.append(batch(b"b" * 900))

    assert memory.used <= memory.bytes_max
    assert first.start_offset == first.end_offset == 40
    assert 0 < second.start_offset < second.end_offset == 60
    assert read(second, second.start_offset)[0] == second.start_offset
