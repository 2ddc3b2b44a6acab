"""Produce, producer ids, and transactions that are not found."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import (
    describe_transactions,
    init_producer_id,
    list_transactions,
    produce,
)
from doorkeeper_wire.messages.describe_transactions import DescribeTransactionsRequest
from doorkeeper_wire.messages.init_producer_id import InitProducerIdRequest
from doorkeeper_wire.messages.list_transactions import ListTransactionsRequest
from doorkeeper_wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic
from testkit.nodes import CLUSTER, ANode, a_topic, answer, context_of, node_of, outcome

TRANSACTION = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "tx-1", PatternType.LITERAL)


def batch(*, transactional: bool, magic: int = 2, length: int = 49) -> bytes:
    """Return a batch without records, of which only the header counts here."""
    attributes = 0x10 if transactional else 0
    head = bytes(8) + length.to_bytes(4) + bytes(4) + bytes([magic]) + bytes(4)
    return (head + attributes.to_bytes(2)).ljust(12 + length, b"\0")


def produced(
    *topics: TopicProduceData, acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    return ProduceRequest(acks=acks, topic_data=topics, transactional_id=transactional_id)


def data(
    name: str, *partitions: int, records: bytes | None = b"", **fields: Any
) -> TopicProduceData:
    rows = tuple(PartitionProduceData(index=index, records=records) for index in partitions)
    return TopicProduceData(name=name, partition_data=rows, **fields)


def codes(response: ProduceResponse) -> list[tuple[str, int, int]]:
    """Return topic, partition and code of each row."""
    return [
        (each.name, row.index, row.error_code)
        for each in response.responses
        for row in each.partition_responses
    ]


async def a_node() -> ANode:
    return await node_of(
        allow("alice", WRITE, topic("orders")),
        allow("alice", WRITE, topic("gone")),
        allow("alice", WRITE, TRANSACTION),
        topics=[a_topic("orders", 2), a_topic("secret")],
    )


@pytest.mark.parametrize("version", [0, 8, 12])
async def test_each_partition_has_its_own_error(version: int) -> None:
    """29 without WRITE, 3 where there is no such partition, 44 where a broker would write."""
    node = await a_node()
    request = produced(data("secret", 0), data("orders", 1, 2, 0), data("gone", 0))

    response = answer(produce.API, request, node, version, "alice")

    assert codes(response) == [
        ("secret", 0, 29),
        ("orders", 1, 44),
        ("orders", 2, 3),
        ("orders", 0, 44),
        ("gone", 0, 3),
    ]
    assert node.lines() == [
        "INFO Denied WRITE Topic:LITERAL:secret 1",
        "DEBUG Allowed WRITE Topic:LITERAL:orders 3",
        "DEBUG Allowed WRITE Topic:LITERAL:gone 1",
    ]


async def test_version_13_identifies_topics_by_id() -> None:
    """100 for an id that nothing has; WRITE is asked of the name that the id stands for."""
    node = await a_node()
    ids = [a_topic(name).topic_id for name in ("orders", "secret")]
    request = produced(*(data("", 0, topic_id=each) for each in (*ids, bytes(16), b"x" * 16)))

    response = answer(produce.API, request, node, 13, "alice")

    assert [row[2] for row in codes(response)] == [44, 29, 100, 100]
    assert [each.topic_id for each in response.responses[:2]] == ids
    assert "Denied WRITE Topic:LITERAL:secret 1" in node.lines()[1]


@pytest.mark.parametrize(
    ("user", "transactional_id", "code"),
    [("alice", "tx-1", 44), ("bob", "tx-1", 53), ("alice", "tx-2", 53), ("admin", None, 53)],
)
async def test_transactional_records_require_write_on_the_transaction(
    user: str, transactional_id: str | None, code: int
) -> None:
    """And an id at all; without both each partition has 53, and no topic is asked about."""
    node = await a_node()
    records = batch(transactional=False) + batch(transactional=True)
    request = produced(data("orders", 0, 1, records=records), transactional_id=transactional_id)

    response = answer(produce.API, request, node, 11, user)

    assert [row[2] for row in codes(response)] == [code, code]
    assert len(node.lines()) == (2 if code == 44 else int(transactional_id is not None))


@pytest.mark.parametrize(
    "records",
    [
        None,
        b"",
        batch(transactional=False),
        batch(transactional=True)[:22],
        batch(transactional=True, magic=1),
        batch(transactional=False, length=13) + batch(transactional=True),
        bytes(8) + b"\xff" * 4 + batch(transactional=False)[12:] + batch(transactional=True),
    ],
)
async def test_other_records_need_no_transaction(records: bytes | None) -> None:
    node = await a_node()
    request = produced(data("orders", 0, records=records), transactional_id="tx-2")

    response = answer(produce.API, request, node, 9, "alice")

    assert [row[2] for row in codes(response)] == [44]
    assert node.lines() == ["DEBUG Allowed WRITE Topic:LITERAL:orders 1"]


async def test_error_text_names_the_test_fixture() -> None:
    node = await a_node()

    response = answer(produce.API, produced(data("orders", 0)), node, 9, "alice")

    text = response.responses[0].partition_responses[0].error_message
    assert "records=True" in text
    assert "doorkeeper.test.broker=true" in text


async def test_no_response_with_acks_0() -> None:
    """With acks 0 errors close the connection: the refusal has no form; and without any nothing."""
    node = await a_node()
    denied = produced(data("orders", 0, records=batch(transactional=True)), acks=0)

    assert outcome(produce.API, produced(data("orders", 0), acks=0), node, 9, "alice") is None
    assert outcome(produce.API, denied, node, 9, "alice") is None
    with pytest.raises(ApiError) as refused:
        produce.API.handle(
            produced(data("orders", 0), acks=0), context_of(produce.API, 9, "alice"), node
        )
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    assert produce.API.handle(produced(acks=0), context_of(produce.API, 9, "alice"), node) is None
    assert (
        produce.API.handle(
            produced(data("orders"), acks=0), context_of(produce.API, 9, "alice"), node
        )
        is None
    )


TX = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "tx", PatternType.LITERAL)
REQUEST = DescribeTransactionsRequest(transactional_ids=("tx", "other", ""))


async def test_transactions_are_not_found() -> None:
    """Refused ones are 53, unknown ones 105, and the empty one 42, in the order of the request."""
    node = await node_of(allow("alice", DESCRIBE, TX))

    def codes(user: str) -> list[int]:
        found = answer(describe_transactions.API, REQUEST, node, 0, user=user)
        assert [row.transactional_id for row in found.transaction_states] == ["tx", "other", ""]
        return [row.error_code for row in found.transaction_states]

    assert codes("alice") == [105, 53, 53]
    assert codes("admin") == [105, 105, 42]


async def test_describe_transactions_on_another_node() -> None:
    """The client asks FindCoordinator again."""
    node = await node_of()
    node.coordinator_id = 7

    found = answer(describe_transactions.API, REQUEST, node, 0)

    assert [row.error_code for row in found.transaction_states] == [16, 16, 42]


async def test_list_transactions_returns_unknown_states() -> None:
    """Each once; the case of letters counts, and nobody needs a right."""
    request = ListTransactionsRequest(state_filters=("Ongoing", "ongoing", "x", "x", "Dead"))

    found = answer(list_transactions.API, request, await node_of(), 0, user="nobody")

    assert (found.error_code, found.transaction_states) == (0, ())
    assert found.unknown_state_filters == ("ongoing", "x")


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        (None, 0),
        ("", 0),
        ("a.*", 0),
        ("(", 128),
        ("a" + "(" * 9_999, 128),
        # Takes Python's compiler 23 seconds.
        ("(?i)" + "[\x01-\uffff]" * 1_000, 128),
    ],
)
async def test_list_transactions_by_pattern(pattern: str | None, code: int) -> None:
    request = ListTransactionsRequest(transactional_id_pattern=pattern)

    assert answer(list_transactions.API, request, await node_of(), 2).error_code == code


def ask(node: ANode, user: str, version: int = 5, **fields: Any) -> tuple[int, int, int]:
    """Return the error, the id and the epoch."""
    plain = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    request = InitProducerIdRequest(**(plain | fields))
    response = answer(init_producer_id.API, request, node, version, user=user)
    return response.error_code, response.producer_id, response.producer_epoch


async def test_producer_ids_require_write_or_idempotent_write() -> None:
    node = await node_of(
        allow("alice", WRITE, topic("a")),
        allow("bob", AclOperation.IDEMPOTENT_WRITE, CLUSTER),
        allow("carol", READ, topic("a")),
    )

    codes = {user: ask(node, user)[0] for user in ("alice", "bob", "carol")}

    assert codes == {"alice": 0, "bob": 0, "carol": 31}
    assert not any("INFO" in line and "IDEMPOTENT" in line for line in node.lines())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": "other"}, 53),
        ({"transactional_id": ""}, 53),
        ({"transactional_id": "tx", "producer_id": 1}, 42),
        ({"transactional_id": "tx", "transaction_timeout_ms": 0}, 50),
        ({"transactional_id": "tx", "transaction_timeout_ms": 900_001}, 50),
        ({"transactional_id": "tx", "transaction_timeout_ms": 900_000}, 35),
        ({"transactional_id": "tx", "producer_id": 1, "producer_epoch": 1}, 35),
    ],
)
async def test_producer_ids_for_transactions_are_rejected(
    fields: dict[str, Any], code: int
) -> None:
    node = await node_of(allow("alice", WRITE, TX))

    assert ask(node, "alice", **fields) == (code, -1, -1)


async def test_empty_transactional_id_is_invalid() -> None:
    """With 42, for a caller who may write every id."""
    node = await node_of()

    assert ask(node, "admin", transactional_id="", transaction_timeout_ms=0) == (42, -1, -1)
