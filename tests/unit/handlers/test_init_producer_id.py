"""InitProducerId: ids without transactions, refused transactions, permissions."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.handlers.init_producer_id import API
from doorkeeper_wire.messages.init_producer_id import InitProducerIdRequest
from testkit.acl import READ, WRITE, allow, topic
from testkit.nodes import CLUSTER, ANode, answer, node_of

TX = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "tx", PatternType.LITERAL)


def ask(node: ANode, user: str, version: int = 5, **fields: Any) -> tuple[int, int, int]:
    """Return the error, the id and the epoch."""
    plain = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    request = InitProducerIdRequest(**(plain | fields))
    response = answer(API, request, node, version, user=user)
    return response.error_code, response.producer_id, response.producer_epoch


async def test_ids_differ() -> None:
    """A producer that has an id gets another one, with epoch 0."""
    node = await node_of(secured=False)

    first = ask(node, "alice", 0)
    second = ask(node, "alice", producer_id=first[1], producer_epoch=7)

    assert (first[0], first[2]) == (second[0], second[2]) == (0, 0)
    assert 0 <= first[1] != second[1] >= 0


async def test_permissions_without_a_transaction() -> None:
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
async def test_transactions_are_refused(fields: dict[str, Any], code: int) -> None:
    """The permission comes first, then the id and its epoch, then the time-out."""
    node = await node_of(allow("alice", WRITE, TX))

    assert ask(node, "alice", **fields) == (code, -1, -1)


async def test_an_empty_transactional_id_is_invalid() -> None:
    """With 42, for a caller who may write every id."""
    node = await node_of()

    assert ask(node, "admin", transactional_id="", transaction_timeout_ms=0) == (42, -1, -1)
