"""Transactions: ids and epochs, what belongs to a transaction, and how it ends."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.kinds.declared import StoredOffset
from doorkeeper_broker.transactions import EPOCH_MAX, Ending, Producer, Transactions

if TYPE_CHECKING:
    from collections.abc import Callable

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


def code_of(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        work()
    return refused.value.code


def end(
    transactions: Transactions, producer: Producer, *, commits: bool = True, raises: bool = False
) -> Ending | Producer:
    return transactions.end("tx", producer, commits=commits, raises_epoch=raises)


def test_each_start_has_another_epoch() -> None:
    """The id stays; the producer of an earlier start is fenced."""
    transactions = Transactions(count(1000).__next__)

    first = transactions.init("tx", TIMEOUT_MS, None)
    second = transactions.init("tx", TIMEOUT_MS, None)

    assert (first, second) == (Producer(1000, 0), Producer(1000, 1))
    assert isinstance(first, Producer)
    fenced = code_of(lambda: transactions.add_partitions("tx", Producer(1000, 0), [PART], 0))
    assert fenced is ErrorCode.PRODUCER_FENCED
    other = code_of(lambda: transactions.add_partitions("tx", Producer(7, 1), [PART], 0))
    assert other is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    unknown = code_of(lambda: transactions.add_partitions("no", Producer(7, 1), [PART], 0))
    assert unknown is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert code_of(lambda: transactions.find("")) is ErrorCode.INVALID_REQUEST


def test_a_producer_goes_on_with_its_epoch() -> None:
    """One that says another epoch than the present one is fenced (KIP-360)."""
    transactions = Transactions(count(1000).__next__)
    transactions.init("tx", TIMEOUT_MS, None)

    assert transactions.init("tx", TIMEOUT_MS, Producer(1000, 0)) == Producer(1000, 1)
    fenced = code_of(lambda: transactions.init("tx", TIMEOUT_MS, Producer(1000, 0)))
    assert fenced is ErrorCode.PRODUCER_FENCED


def test_a_used_up_id_is_replaced() -> None:
    """After the last epoch."""
    transactions = Transactions(count(1000).__next__)
    transactions.init("tx", TIMEOUT_MS, None)
    transactions.find("tx").producer = Producer(1000, EPOCH_MAX)

    assert transactions.init("tx", TIMEOUT_MS, None) == Producer(1001, 0)


def test_a_transaction_is_committed() -> None:
    """Its partitions get markers and its offsets are stored; a second commit changes nothing."""
    transactions, producer = begun()
    transactions.stage_offsets("tx", producer, "g", [ROW])

    ending = end(transactions, producer)

    assert isinstance(ending, Ending)
    assert ending[1:] == (producer, True, (PART,), (ROW,))
    assert code_of(lambda: end(transactions, producer)) is ErrorCode.CONCURRENT_TRANSACTIONS
    ending.transaction.complete()
    assert end(transactions, producer) == producer
    assert code_of(lambda: end(transactions, producer, commits=False)) is (
        ErrorCode.INVALID_TXN_STATE
    )


def test_offsets_are_pending_until_the_end() -> None:
    """Those that ask for stable offsets hear so."""
    transactions, producer = begun()
    transactions.stage_offsets("tx", producer, "g", [ROW])

    assert transactions.is_pending("g", "t-0")
    assert not transactions.is_pending("g", "t-1")
    ending = end(transactions, producer)
    assert isinstance(ending, Ending)
    ending.transaction.complete()
    assert not transactions.is_pending("g", "t-0")


def test_newer_clients_take_another_epoch() -> None:
    """With the answer to the end, which may be asked for again (KIP-890)."""
    transactions, producer = begun()

    ending = end(transactions, producer, raises=True)

    assert isinstance(ending, Ending)
    assert ending.producer == Producer(1000, 1)
    ending.transaction.complete()
    assert end(transactions, producer, raises=True) == Producer(1000, 1)
    assert code_of(lambda: end(transactions, Producer(1000, 1), raises=True)) is (
        ErrorCode.INVALID_TXN_STATE
    )


def test_what_is_not_part_of_a_transaction_is_refused() -> None:
    """Records of a partition, and offsets of a group, that were not added."""
    transactions, producer = begun()

    transactions.check_partition("tx", producer, PART)
    assert code_of(lambda: transactions.check_partition("tx", producer, ("t", 1))) is (
        ErrorCode.INVALID_TXN_STATE
    )
    assert code_of(lambda: transactions.stage_offsets("tx", producer, "h", [ROW])) is (
        ErrorCode.INVALID_TXN_STATE
    )


def test_a_new_start_aborts_an_open_transaction() -> None:
    """The producer asks again, and gets the epoch after that of the abort."""
    transactions, _ = begun()

    ending = transactions.init("tx", TIMEOUT_MS, None)

    assert isinstance(ending, Ending)
    assert ending[1:3] == (Producer(1000, 1), False)
    ending.transaction.complete()
    assert transactions.init("tx", TIMEOUT_MS, None) == Producer(1000, 2)


def test_the_transaction_of_a_dead_producer_is_aborted() -> None:
    """At the end of its time-out, which begins with its first partition."""
    transactions, producer = begun()

    deadlines = [transactions.next_deadline_ms]
    assert not transactions.expire(TIMEOUT_MS - 1)
    (ending,) = transactions.expire(TIMEOUT_MS)
    ending.transaction.complete()

    assert ending[1:4] == (Producer(1000, 1), False, (PART,))
    assert [*deadlines, transactions.next_deadline_ms] == [TIMEOUT_MS, None]
    assert code_of(lambda: end(transactions, producer)) is ErrorCode.PRODUCER_FENCED
