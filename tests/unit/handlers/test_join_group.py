"""JoinGroup: nobody joins, and nobody learns more than a broker tells."""

from __future__ import annotations

import pytest

from doorkeeper.handlers.join_group import API
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from testkit.acl import READ, allow, group
from testkit.nodes import ANode, answer, node_of

REQUEST = JoinGroupRequest(group_id="payments", member_id="m-1", protocol_type="consumer")


def joined(node: ANode, version: int) -> JoinGroupResponse:
    response = answer(API, REQUEST, node, version, "alice")
    assert isinstance(response, JoinGroupResponse)
    return response


@pytest.mark.parametrize("version", [0, 1])
async def test_there_is_no_coordinator(version: int) -> None:
    """With READ on the group the answer is 15, which clients try again."""
    node = await node_of(allow("alice", READ, group("payments")))

    response = joined(node, version)

    assert response == JoinGroupResponse(error_code=15, generation_id=-1, member_id="m-1")
    assert node.lines() == ["DEBUG Allowed READ Group:LITERAL:payments 1"]


async def test_who_may_not_read_the_group_is_refused() -> None:
    """Without READ on the group the answer is 30, without the member's id."""
    node = await node_of()

    assert joined(node, 1) == JoinGroupResponse(error_code=30)
