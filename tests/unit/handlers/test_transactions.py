"""DescribeTransactions, ListTransactions and InitProducerId without transactions."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.handlers import describe_transactions, init_producer_id, list_transactions
from doorkeeper_wire.messages.describe_transactions import DescribeTransactionsRequest
from doorkeeper_wire.messages.init_producer_id import InitProducerIdRequest
from doorkeeper_wire.messages.list_transactions import ListTransactionsRequest
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic
from testkit.nodes import CLUSTER, ANode, answer, node_of

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


async def test_another_node_coordinates() -> None:
    """The client asks FindCoordinator again."""
    node = await node_of()
    node.coordinator_id = 7

    found = answer(describe_transactions.API, REQUEST, node, 0)

    assert [row.error_code for row in found.transaction_states] == [16, 16, 42]


async def test_unknown_states_are_told() -> None:
    """Each once; the case of letters counts, and nobody needs a right."""
    request = ListTransactionsRequest(state_filters=("Ongoing", "ongoing", "x", "x", "Dead"))

    found = answer(list_transactions.API, request, await node_of(), 0, user="nobody")

    assert (found.error_code, found.transaction_states) == (0, ())
    assert found.unknown_state_filters == ("ongoing", "x")


@pytest.mark.parametrize(
    ("pattern", "code"), [(None, 0), ("", 0), ("a.*", 0), ("(", 128), ("a" + "(" * 9_999, 128)]
)
async def test_transactions_by_pattern(pattern: str | None, code: int) -> None:
    """What is none is refused."""
    request = ListTransactionsRequest(transactional_id_pattern=pattern)

    assert answer(list_transactions.API, request, await node_of(), 2).error_code == code


def ask(node: ANode, user: str, version: int = 5, **fields: Any) -> tuple[int, int, int]:
    """Return the error, the id and the epoch."""
    plain = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    request = InitProducerIdRequest(**(plain | fields))
    response = answer(init_producer_id.API, request, node, version, user=user)
    return response.error_code, response.producer_id, response.producer_epoch


async def test_producer_ids_differ() -> None:
    """A producer that has an id gets another one, with epoch 0."""
    node = await node_of(secured=False)

    first = ask(node, "alice", 0)
    second = ask(node, "alice", producer_id=first[1], producer_epoch=7)

    assert (first[0], first[2]) == (second[0], second[2]) == (0, 0)
    assert 0 <= first[1] != second[1] >= 0


async def test_producer_ids_need_write_or_idempotent_write() -> None:
    """IDEMPOTENT_WRITE on the cluster, or WRITE on any topic; the first denial is not audited."""
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
async def test_producer_ids_of_transactions_are_refused(fields: dict[str, Any], code: int) -> None:
    """The permission comes first, then the id and its epoch, then the time-out."""
    node = await node_of(allow("alice", WRITE, TX))

    assert ask(node, "alice", **fields) == (code, -1, -1)


async def test_an_empty_transactional_id_is_invalid() -> None:
    """With 42, for a caller who may write every id."""
    node = await node_of()

    assert ask(node, "admin", transactional_id="", transaction_timeout_ms=0) == (42, -1, -1)
