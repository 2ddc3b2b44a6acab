"""The log of a partition, and transactions: ids and epochs, what belongs to one, how it ends."""

from __future__ import annotations

import gc
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import astuple, replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import list_offsets
from doorkeeper.server.resources.groups import Offsets, size_of
from doorkeeper.server.schema.declared import StoredOffset
from doorkeeper_broker import producers
from doorkeeper_broker import transactions as module
from doorkeeper_broker.batches import marker
from doorkeeper_broker.log import Memory, PartitionLog, Segment
from doorkeeper_broker.producers import PRODUCER_OVERHEAD
from doorkeeper_broker.records import Records
from doorkeeper_broker.transactions import EPOCH_MAX, Ending, Producer, Transactions
from doorkeeper_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from testkit.batches import base_offsets, batch
from testkit.nodes import a_topic, answer, node_of

if TYPE_CHECKING:
    from collections.abc import Callable


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


def test_read_size_is_limited() -> None:
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


def test_duplicate_batch_keeps_its_offset() -> None:
    log = a_log()
    first = log.append(batch(b"a", producer=(7, 0, 0)))
    second = log.append(batch(b"b", b"c", producer=(7, 0, 1)))

    assert log.append(batch(b"b", b"c", producer=(7, 0, 1))) == second
    assert log.append(batch(b"a", producer=(7, 0, 0))) == first
    assert log.end_offset == 3


def test_sequence_gaps_are_rejected() -> None:
    """Neither backwards nor forwards; a later epoch begins at 0, an earlier one is fenced."""
    log = a_log()
    log.append(batch(b"a", producer=(7, 1, 5)))

    assert code_of(log, producer=(7, 1, 7)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log, producer=(7, 1, 4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log, producer=(7, 2, 6)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(log, producer=(7, 0, 6)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert log.append(batch(b"a", producer=(7, 1, 6))) == 1
    assert log.append(batch(b"a", producer=(7, 2, 0))) == 2


def test_transaction_of_a_new_producer_begins_at_sequence_0() -> None:
    """Produce 12 of one at sequence 4 is 45 (4.3.1), unless it may have been forgotten here."""
    log = a_log()
    late = batch(b"a", producer=(7, 1, 4), attributes=TRANSACTIONAL)

    with pytest.raises(ApiError) as refused:
        log.append(late, begins_at_zero=True)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(batch(b"a", producer=(8, 1, 4))) == 0
    log.delete_before(1)
    assert log.append(late, begins_at_zero=True) == 1


def test_first_sequence_after_a_marker_alone_is_0() -> None:
    """The partition was part of a transaction, and got no record (4.3.1)."""
    log = a_log()
    log.append_marker(marker(7, 1, 0, commits=True), commits=True)

    assert code_of(log, producer=(7, 1, 5)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(batch(b"a", producer=(7, 1, 0))) == 1


def test_open_transaction_holds_last_stable_offset() -> None:
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


def test_aborted_transactions_are_returned_to_readers() -> None:
    log = a_log()
    log.append(batch(b"a", producer=(7, 0, 0), attributes=TRANSACTIONAL))
    log.append(batch(b"b"))
    log.append_marker(marker(7, 0, 0, commits=False), commits=False)
    log.append(batch(b"c"))

    found = log.read(1, 9999, committed=True, at_least_one=True)
    assert [each[:2] for each in found.aborted] == [(7, 0)]
    assert log.read(3, 9999, committed=True, at_least_one=True).aborted == ()
    assert log.read(0, 9999, committed=False, at_least_one=True).aborted == ()


async def test_offsets_by_time_end_with_the_last_stable_offset() -> None:
    """For readers of committed records; the marker has a time too (4.3.1)."""
    node = await node_of(topics=[a_topic("t")])
    records = Records(1_048_576)
    topic = node.topics.get("t")
    assert topic is not None
    log = records.log_of(topic, 0)
    log.append(batch(b"a", times=[1_000]))
    log.append(batch(b"b", times=[2_000], producer=(7, 0, 0), attributes=TRANSACTIONAL))

    def offsets(isolation_level: int) -> list[int]:
        found = []
        for time in (1_000, 1_001, -3):
            row = ListOffsetsPartition(partition_index=0, timestamp=time)
            request = ListOffsetsRequest(
                isolation_level=isolation_level,
                topics=(ListOffsetsTopic(name="t", partitions=(row,)),),
            )
            handle = partial(list_offsets.handle, log_of=records.log_of)
            api = replace(list_offsets.API, handle=handle)
            found.append(answer(api, request, node, 8).topics[0].partitions[0].offset)
        return found

    assert [offsets(0), offsets(1)] == [[0, 1, 1], [0, -1, -1]]
    log.append_marker(marker(7, 0, 3_000, commits=True), commits=True)
    assert [offsets(0), offsets(1)] == [[0, 1, 2], [0, 1, 2]]


def test_records_outside_the_open_transaction_are_rejected() -> None:
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


def test_oldest_segments_of_all_logs_are_dropped() -> None:
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


def test_deleted_records_are_not_kept_behind_older_ones() -> None:
    """A test server lives long: topics come and go beside one that stays."""
    memory = Memory(1_048_576)
    stays, goes = PartitionLog(memory), PartitionLog(memory)
    stays.append(batch(b"a"))
    before = segments_alive()
    goes.append(batch(b"b" * 20_000))

    goes.delete()

    assert segments_alive() == before


def segments_alive() -> int:
    gc.collect()
    return sum(isinstance(each, Segment) for each in gc.get_objects())


def test_producers_are_forgotten_with_their_last_segment() -> None:
    """Each batch may have another id: nothing else would bound them."""
    memory = Memory(64 * 1000)
    log = PartitionLog(memory)
    log.append(batch(b"a", producer=(0, 0, 0), attributes=TRANSACTIONAL))
    for number in range(1, 2_000):
        log.append(batch(b"a", producer=(number, 0, 0)))

    assert memory.used <= memory.bytes_max
    assert len(log.producers) <= memory.bytes_max // PRODUCER_OVERHEAD + 1
    assert log.producers.first_open_offset == 0
    assert log.size < memory.used

    log.append_marker(marker(0, 0, 1000, commits=True), commits=True)
    log.delete_before(log.end_offset)

    assert len(log.producers) == 0
    assert memory.used == 0
    assert log.append(batch(b"a", producer=(1_999, 0, 7))) == 2_001


def test_number_of_producers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that has not appended for longest goes, unless it has an open transaction."""
    monkeypatch.setattr(producers, "PRODUCERS_MAX", 3)
    log = a_log()
    log.append(batch(b"a", producer=(0, 0, 0), attributes=TRANSACTIONAL))
    for number in (1, 2):
        log.append(batch(b"a", producer=(number, 0, 0)))
    log.append(batch(b"b", producer=(1, 0, 1)))

    log.append(batch(b"a", producer=(3, 0, 0)))

    assert len(log.producers) == 3
    assert code_of(log, producer=(1, 0, 7)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(batch(b"c", producer=(2, 0, 7))) == 5
    assert log.producers.first_open_offset == 0


TIMEOUT_MS = 60_000
PART = ("t", 0)
ROW = StoredOffset("g", "t-0", b"t" * 16, 5, 0, "")


def begun() -> tuple[Transactions, Producer]:
    """Return transactions with a producer that has one open with a partition and a group."""
    transactions = Transactions(count(1000).__next__)
    producer = transactions.init("tx", TIMEOUT_MS, None)
    assert isinstance(producer, Producer)
    transactions.add_partitions("tx", producer, [PART], 0)
    transactions.add_group("tx", producer, "g", 0)
    return transactions, producer


def refusal_of(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        work()
    return refused.value.code


def end(
    transactions: Transactions, producer: Producer, *, commits: bool = True, raises: bool = False
) -> Ending | Producer:
    return transactions.end("tx", producer, commits=commits, raises_epoch=raises)


def test_each_producer_start_gets_a_new_epoch() -> None:
    transactions = Transactions(count(1000).__next__)

    first = transactions.init("tx", TIMEOUT_MS, None)
    second = transactions.init("tx", TIMEOUT_MS, None)

    assert (first, second) == (Producer(1000, 0), Producer(1000, 1))
    assert isinstance(first, Producer)
    fenced = refusal_of(lambda: transactions.add_partitions("tx", Producer(1000, 0), [PART], 0))
    assert fenced is ErrorCode.PRODUCER_FENCED
    other = refusal_of(lambda: transactions.add_partitions("tx", Producer(7, 1), [PART], 0))
    assert other is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    unknown = refusal_of(lambda: transactions.add_partitions("no", Producer(7, 1), [PART], 0))
    assert unknown is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert refusal_of(lambda: transactions.find("")) is ErrorCode.INVALID_REQUEST


def test_producer_resumes_with_its_epoch() -> None:
    """It may repeat a request whose answer was lost; an older epoch is fenced (KIP-360)."""
    transactions = Transactions(count(1000).__next__)
    transactions.init("tx", TIMEOUT_MS, None)

    assert transactions.init("tx", TIMEOUT_MS, Producer(1000, 0)) == Producer(1000, 1)
    assert transactions.init("tx", TIMEOUT_MS, Producer(1000, 0)) == Producer(1000, 1)
    assert transactions.init("tx", TIMEOUT_MS, Producer(1000, 1)) == Producer(1000, 2)
    fenced = refusal_of(lambda: transactions.init("tx", TIMEOUT_MS, Producer(1000, 0)))
    assert fenced is ErrorCode.PRODUCER_FENCED


def test_number_of_transactional_ids_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not used, and has no open transaction, is forgotten, as by a broker in time."""
    monkeypatch.setattr(module, "IDS_MAX", 2)
    transactions, producer = begun()
    idle = transactions.init("idle", TIMEOUT_MS, None)
    assert isinstance(idle, Producer)

    transactions.init("new", TIMEOUT_MS, None)

    assert transactions.described().keys() == {"tx", "new"}
    assert refusal_of(lambda: transactions.add_partitions("idle", idle, [PART], 0)) is (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    transactions.check_partition("tx", producer, PART)
    other = transactions.init("new", TIMEOUT_MS, None)
    assert isinstance(other, Producer)
    transactions.add_partitions("new", other, [PART], 0)
    assert refusal_of(lambda: transactions.init("newer", TIMEOUT_MS, None)) is (
        ErrorCode.COORDINATOR_NOT_AVAILABLE
    )


def test_exhausted_producer_id_is_replaced() -> None:
    transactions = Transactions(count(1000).__next__)
    transactions.init("tx", TIMEOUT_MS, None)
    transactions.find("tx").producer = Producer(1000, EPOCH_MAX)

    assert transactions.init("tx", TIMEOUT_MS, None) == Producer(1001, 0)


def test_transaction_commits() -> None:
    transactions, producer = begun()
    transactions.stage_offsets("tx", producer, "g", [ROW], Offsets())

    ending = end(transactions, producer)

    assert isinstance(ending, Ending)
    assert astuple(ending)[1:] == (producer, True, (PART,), (ROW,))
    assert refusal_of(lambda: end(transactions, producer)) is ErrorCode.CONCURRENT_TRANSACTIONS
    ending.transaction.complete()
    assert end(transactions, producer) == producer
    assert refusal_of(lambda: end(transactions, producer, commits=False)) is (
        ErrorCode.INVALID_TXN_STATE
    )


def test_offsets_are_pending_until_the_transaction_ends() -> None:
    transactions, producer = begun()
    transactions.stage_offsets("tx", producer, "g", [ROW], Offsets())

    assert transactions.pending() == {("g", "t-0")}
    ending = end(transactions, producer)
    assert isinstance(ending, Ending)
    ending.transaction.complete()
    assert not transactions.pending()


def test_offsets_of_transactions_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Like those that are committed at once: in the size of all, and the number of groups."""
    transactions, producer = begun()
    monkeypatch.setattr(module, "SIZE_MAX", 2 * size_of(ROW))
    committed = Offsets().with_changes([replace(ROW, group_id="h")], ())

    transactions.stage_offsets("tx", producer, "g", [ROW], committed)
    assert refusal_of(
        lambda: transactions.stage_offsets(
            "tx", producer, "g", [replace(ROW, partition="t-1")], committed
        )
    ) is (ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    transactions.stage_offsets("tx", producer, "g", [ROW], committed)
    ending = end(transactions, producer)
    assert isinstance(ending, Ending)
    ending.transaction.complete()
    transactions.add_group("tx", producer, "g", 0)
    transactions.stage_offsets("tx", producer, "g", [ROW], committed)
    monkeypatch.setattr(module, "GROUPS_MAX", 1)
    assert refusal_of(
        lambda: transactions.stage_offsets("tx", producer, "g", [ROW], committed)
    ) is (ErrorCode.INVALID_COMMIT_OFFSET_SIZE)


def test_end_of_transaction_bumps_the_epoch() -> None:
    """With the answer to the end, which may be asked for again (KIP-890)."""
    transactions, producer = begun()

    ending = end(transactions, producer, raises=True)

    assert isinstance(ending, Ending)
    assert ending.producer == Producer(1000, 1)
    ending.transaction.complete()
    assert end(transactions, producer, raises=True) == Producer(1000, 1)
    assert refusal_of(lambda: end(transactions, Producer(1000, 1), raises=True)) is (
        ErrorCode.INVALID_TXN_STATE
    )


def test_partitions_outside_the_transaction_are_rejected() -> None:
    transactions, producer = begun()

    transactions.check_partition("tx", producer, PART)
    assert refusal_of(lambda: transactions.check_partition("tx", producer, ("t", 1))) is (
        ErrorCode.INVALID_TXN_STATE
    )
    assert refusal_of(
        lambda: transactions.stage_offsets("tx", producer, "h", [ROW], Offsets())
    ) is (ErrorCode.INVALID_TXN_STATE)


def test_new_start_aborts_an_open_transaction() -> None:
    transactions, _ = begun()

    ending = transactions.init("tx", TIMEOUT_MS, None)

    assert isinstance(ending, Ending)
    assert astuple(ending)[1:3] == (Producer(1000, 1), False)
    ending.transaction.complete()
    assert transactions.init("tx", TIMEOUT_MS, None) == Producer(1000, 2)


def test_transaction_of_inactive_producer_is_aborted() -> None:
    transactions, producer = begun()

    deadlines = [transactions.next_deadline_ms]
    assert not transactions.expire(TIMEOUT_MS - 1)
    (ending,) = transactions.expire(TIMEOUT_MS)
    ending.transaction.complete()

    assert astuple(ending)[1:4] == (Producer(1000, 1), False, (PART,))
    assert [*deadlines, transactions.next_deadline_ms] == [TIMEOUT_MS, None]
    assert refusal_of(lambda: end(transactions, producer)) is ErrorCode.PRODUCER_FENCED
