"""DescribeTransactions: no id is found, and refusals."""

from __future__ import annotations

from doorkeeper.acl.model import PatternType, ResourcePattern, ResourceType
from doorkeeper.handlers.describe_transactions import API
from doorkeeper_wire.messages.describe_transactions import DescribeTransactionsRequest
from testkit.acl import DESCRIBE, allow
from testkit.nodes import answer, node_of

TX = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "tx", PatternType.LITERAL)
REQUEST = DescribeTransactionsRequest(transactional_ids=("tx", "other", ""))


async def test_ids() -> None:
    """Refused ones are 53, unknown ones 105, and the empty one 42, in the order of the request."""
    node = await node_of(allow("alice", DESCRIBE, TX))

    def codes(user: str) -> list[int]:
        found = answer(API, REQUEST, node, 0, user=user)
        assert [row.transactional_id for row in found.transaction_states] == ["tx", "other", ""]
        return [row.error_code for row in found.transaction_states]

    assert codes("alice") == [105, 53, 53]
    assert codes("admin") == [105, 105, 42]


async def test_another_node_coordinates() -> None:
    """The client asks FindCoordinator again."""
    node = await node_of()
    node.coordinator_id = 7

    found = answer(API, REQUEST, node, 0)

    assert [row.error_code for row in found.transaction_states] == [16, 16, 42]
