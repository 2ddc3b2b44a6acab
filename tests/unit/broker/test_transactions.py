"""Transactions as others see them: DescribeTransactions, ListTransactions, and their end."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import PatternType, ResourcePattern, ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import describe_transactions, list_transactions
from doorkeeper.server.api.node import Update
from doorkeeper_broker.records import Records
from doorkeeper_broker.transaction_apis import TransactionApis
from doorkeeper_broker.transactions import Ending, Producer, Transactions
from doorkeeper_wire.messages.describe_transactions import DescribeTransactionsRequest
from doorkeeper_wire.messages.end_txn import EndTxnRequest
from doorkeeper_wire.messages.init_producer_id import InitProducerIdRequest
from doorkeeper_wire.messages.list_transactions import ListTransactionsRequest
from doorkeeper_wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from testkit.acl import DESCRIBE, allow, topic
from testkit.nodes import ADMIN, a_topic, answer, node_of, outcome

if TYPE_CHECKING:
    from testkit.nodes import ANode

START_MS = 1_699_999_000_000


def transactional_id(name: str) -> ResourcePattern:
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, PatternType.LITERAL)


def some() -> Transactions:
    """Return an open transaction of "x" in two topics, and "y" without one."""
    transactions = Transactions(iter(range(100)).__next__)
    producer = transactions.init("x", 5_000, None)
    assert isinstance(producer, Producer)
    transactions.add_partitions("x", producer, [("t", 1), ("t", 0), ("u", 0)], START_MS)
    transactions.init("y", 5_000, None)
    return transactions


def ask(module: Any, request: Any, node: ANode, version: int, user: str = ADMIN) -> Any:
    handle = partial(module.handle, transactions=some().described)
    return answer(replace(module.API, handle=handle), request, node, version, user=user)


async def test_transactions_are_described() -> None:
    """With the partitions of topics that may be described; an unknown id is 105."""
    node = await node_of(
        allow("alice", DESCRIBE, transactional_id("x")), allow("alice", DESCRIBE, topic("u"))
    )
    request = DescribeTransactionsRequest(transactional_ids=("x", "z"))

    row, unknown = ask(describe_transactions, request, node, 0).transaction_states
    assert (row.transaction_state, row.producer_id, row.producer_epoch) == ("Ongoing", 0, 0)
    assert (row.transaction_timeout_ms, row.transaction_start_time_ms) == (5_000, START_MS)
    assert [(each.topic, each.partitions) for each in row.topics] == [("t", (0, 1)), ("u", (0,))]
    assert unknown.error_code == 105
    row, denied = ask(describe_transactions, request, node, 0, "alice").transaction_states
    assert [each.topic for each in row.topics] == ["u"]
    assert denied.error_code == 53


async def test_transactions_are_listed() -> None:
    """Those that the filters select, and that may be described."""
    node = await node_of(allow("alice", DESCRIBE, transactional_id("y")))

    def listed(user: str = ADMIN, **filters: Any) -> list[tuple[str, str]]:
        answered = ask(list_transactions, ListTransactionsRequest(**filters), node, 2, user)
        rows = answered.transaction_states
        return [(each.transactional_id, each.transaction_state) for each in rows]

    assert listed() == [("x", "Ongoing"), ("y", "Empty")]
    assert listed("alice") == [("y", "Empty")]
    assert listed(state_filters=("Ongoing",)) == [("x", "Ongoing")]
    assert listed(producer_id_filters=(1,)) == [("y", "Empty")]
    assert listed(transactional_id_pattern="[x]") == [("x", "Ongoing")]
    assert listed(duration_filter=node.time_ms - START_MS) == [("y", "Empty")]


def commit(producer: Producer, metadata: str = "") -> TxnOffsetCommitRequest:
    """Return a commit of an offset of topic "t" for group "g" in the transaction "y"."""
    row = TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_metadata=metadata
    )
    return TxnOffsetCommitRequest(
        transactional_id="y",
        group_id="g",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=(TxnOffsetCommitRequestTopic(name="t", partitions=(row,)),),
    )


async def test_errors_of_transactional_offsets() -> None:
    """A fenced producer is 47 in all versions, and a group of no transaction 120 from 4 on (4.3.1).

    The text of an offset is counted in UTF-16 units, as by OffsetCommit.
    """
    node = await node_of(topics=[a_topic("t")])
    apis = TransactionApis(Records(1_000_000), node)
    apis.transactions = some()
    api = next(each for each in apis.apis() if each.request is TxnOffsetCommitRequest)

    def code(request: TxnOffsetCommitRequest, version: int) -> int:
        return answer(api, request, node, version).topics[0].partitions[0].error_code  # type: ignore[no-any-return]

    versions = (0, 2, 4, 5)
    fenced = commit(Producer(1, 7))
    assert [code(fenced, version) for version in versions] == [47, 47, 47, 47]
    assert [code(commit(Producer(1, 0)), version) for version in versions] == [48, 48, 120, 0]
    texts = ("\U0001f600" * 2_048, "\U0001f600" * 2_049)
    assert [code(commit(Producer(1, 0), text), 5) for text in texts] == [0, 12]
    apis.close()


async def test_refused_transactional_offsets_come_first() -> None:
    """As on a broker, which adds the coordinator's rows to theirs, by topic (4.3.1)."""
    node = await node_of(topics=[a_topic("t"), a_topic("u")])
    apis = TransactionApis(Records(1_000_000), node)
    apis.transactions = some()
    api = next(each for each in apis.apis() if each.request is TxnOffsetCommitRequest)

    def rows(*partitions: tuple[str, int]) -> list[tuple[str, list[tuple[int, int]]]]:
        topics = tuple(
            TxnOffsetCommitRequestTopic(
                name=name,
                partitions=(
                    TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=1),
                ),
            )
            for name, index in partitions
        )
        request = commit(Producer(1, 0)).replace(topics=topics)
        return [
            (each.name, [(row.partition_index, row.error_code) for row in each.partitions])
            for each in answer(api, request, node, 5).topics
        ]

    ok = [(0, 0)]
    assert rows(("t", 0), ("x", 0), ("t", 9), ("t", 0)) == [
        ("x", [(0, 3)]),
        ("t", [(9, 3), (0, 0), (0, 0)]),
    ]
    assert rows(("t", 0), ("u", 0), ("t", 0)) == [("t", ok), ("u", ok), ("t", ok)]
    apis.close()


async def test_errors_of_records_outside_the_transaction() -> None:
    """They are 48 with a text, and 120 from version 11 of Produce on (4.3.1)."""
    apis = TransactionApis(Records(1_000_000), await node_of())
    apis.transactions = some()

    def refusal(version: int) -> tuple[int, str | None]:
        with pytest.raises(ApiError) as refused:
            apis.check_batch("y", Producer(1, 0), ("t", 0), version)
        return refused.value.code, refused.value.message

    assert refusal(10) == (48, "Partition was not added to the transaction")
    assert refusal(11) == (120, None)


async def test_old_producer_is_fenced_by_its_version() -> None:
    """PRODUCER_FENCED came to InitProducerId with version 4."""
    node = await node_of()
    apis = TransactionApis(Records(1_000_000), node)
    apis.transactions = some()
    api = next(each for each in apis.apis() if each.request is InitProducerIdRequest)
    request = InitProducerIdRequest(
        transactional_id="y", transaction_timeout_ms=1_000, producer_id=1, producer_epoch=9
    )

    assert [answer(api, request, node, version).error_code for version in (3, 4)] == [47, 90]


@pytest.mark.parametrize("version", [4, 5])
async def test_end_whose_offsets_cannot_be_stored_is_repeated(version: int) -> None:
    """The producer keeps its epoch, and the transaction is open until its time is over."""
    node = await node_of(topics=[a_topic("t")])
    apis = TransactionApis(Records(1_000_000), node)
    apis.transactions = some()
    by_request = {each.request: each for each in apis.apis()}
    answer(by_request[TxnOffsetCommitRequest], commit(Producer(1, 0)), node, 5)
    request = EndTxnRequest(transactional_id="y", producer_id=1, producer_epoch=0, committed=True)

    def end() -> Any:
        return outcome(by_request[EndTxnRequest], request, node, version)

    with pytest.raises(ApiError):
        await end().apply(SimpleNamespace(log=Failing()))

    assert apis.transactions.described()["y"].state == "Ongoing"
    assert apis.transactions.next_deadline_ms is not None
    assert isinstance(end(), Update)
    apis.close()


class Failing:
    """A log that stores nothing."""

    async def submit(self, *_: Any, **__: Any) -> None:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)


def test_producer_may_abort_before_begin() -> None:
    """With KIP-890 its epoch rises; the same request again has the same answer."""
    transactions = some()
    first = Producer(1, 0)

    ending = transactions.end("y", first, commits=False, raises_epoch=True)
    assert isinstance(ending, Ending)
    assert (ending.producer, ending.partitions) == (Producer(1, 1), ())
    ending.transaction.complete()
    assert transactions.end("y", first, commits=False, raises_epoch=True) == Producer(1, 1)
