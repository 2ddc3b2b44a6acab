"""What handlers ask the authorizer, and how it is audited."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.metadata import API
from doorkeeper.server.api.permissions import (
    Need,
    allowed_names,
    authorized_operations,
    is_allowed,
    needs,
    require_on_cluster,
)
from testkit.acl import DESCRIBE, READ, allow, topic
from testkit.nodes import context_of, node_of

ALICE = context_of(API, 12, "alice")
DELETE = AclOperation.DELETE
TOPIC = ResourceType.TOPIC
READ_TOPIC = Need(READ, TOPIC, log_if_allowed=True, log_if_denied=True, refusal=ErrorCode.NONE)
(ALTER,) = needs(30)
*_, DESCRIBE_CLUSTER = needs(3)


async def test_single_permission_check() -> None:
    node = await node_of(allow("alice", READ, topic("a")))

    assert is_allowed(node, ALICE, READ_TOPIC, "a")
    assert not is_allowed(node, ALICE, READ_TOPIC, "b")
    assert not is_allowed(node, ALICE, replace(DESCRIBE_CLUSTER, log_if_denied=False))
    assert node.lines() == [
        "DEBUG Allowed READ Topic:LITERAL:a 1",
        "INFO Denied READ Topic:LITERAL:b 1",
        "TRACE Denied DESCRIBE Cluster:LITERAL:kafka-cluster 1",
    ]


async def test_names_are_checked_once_with_their_count() -> None:
    node = await node_of(allow("alice", READ, topic("a")))

    assert allowed_names(node, ALICE, READ_TOPIC, ["b", "a", "b"]) == {"a"}
    assert node.lines() == [
        "INFO Denied READ Topic:LITERAL:b 2",
        "DEBUG Allowed READ Topic:LITERAL:a 1",
    ]
    assert allowed_names(node, ALICE, READ_TOPIC, []) == frozenset()
    assert node.lines() == []


async def test_masks_include_implied_operations() -> None:
    node = await node_of(allow("alice", DELETE, topic("a")))

    masks = authorized_operations(node, ALICE, TOPIC, ["a", "b", "a"])

    assert masks == {"a": 1 << DELETE | 1 << DESCRIBE, "b": 0}
    lines = node.lines()
    assert len(lines) == 8 * 3
    assert {line.split()[0] for line in lines} == {"TRACE"}


@pytest.mark.parametrize(
    ("resource_type", "mask"),
    [(ResourceType.TOPIC, 3576), (ResourceType.GROUP, 3400), (ResourceType.CLUSTER, 8096)],
)
async def test_without_authorizer_everything_is_allowed(
    resource_type: ResourceType, mask: int
) -> None:
    node = await node_of(secured=False)

    assert is_allowed(node, ALICE, READ_TOPIC, "a")
    assert allowed_names(node, ALICE, READ_TOPIC, ["a", "a"]) == {"a"}
    assert authorized_operations(node, ALICE, resource_type, ["x"]) == {"x": mask}
    require_on_cluster(node, ALICE, ALTER)


async def test_missing_permission_is_an_error_response() -> None:
    """31 with the broker's text, which describes the request and names the operation."""
    node = await node_of()

    with pytest.raises(ApiError, match=r"^Request Request\(described\) needs ALTER permission\.$"):
        require_on_cluster(node, ALICE, ALTER)
