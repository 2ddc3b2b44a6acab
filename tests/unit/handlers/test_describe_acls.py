"""DescribeAcls: order of checks, filters, grouping."""

from __future__ import annotations

import pytest

from doorkeeper.api.codes import UnknownElements
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.descriptions.rows import AclRows
from doorkeeper.handlers.describe_acls import API
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
from testkit.nodes import CLUSTER, answer, node_of, outcome

EVERYTHING = DescribeAclsRequest(
    resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1,
    resource_name_filter=None, principal_filter=None, host_filter=None,
)  # fmt: skip


def but(**fields: object) -> DescribeAclsRequest:
    """Return the request for everything, with some fields set."""
    values = {name: getattr(EVERYTHING, name) for name in DescribeAclsRequest.FIELDS}
    del values["unknown_tags"]
    return DescribeAclsRequest(**{**values, **fields})


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
async def test_code_0_closes_the_connection(field: str) -> None:
    """The code of UNKNOWN itself counts as malformed, before anybody is asked for permission."""
    node = await node_of()

    with pytest.raises(UnknownElements, match="DescribeAclsRequest contains UNKNOWN elements"):
        answer(API, but(**{field: 0}), node, 3, user="nobody")
    assert node.lines() == []


async def test_without_an_authorizer_security_is_disabled() -> None:
    """54 with the broker's text, which has no full stop."""
    node = await node_of(secured=False)

    refused = answer(API, EVERYTHING, node, 3)

    assert (refused.error_code, refused.error_message) == (
        54,
        "No Authorizer is configured on the broker",
    )


async def test_each_pattern_stands_once_and_everything_is_sorted() -> None:
    """One row for a pattern; rows by type, name, pattern type; entries by principal, then host."""
    node = await node_of(
        allow("bob", WRITE, topic("b")),
        deny("alice", READ, topic("a", PREFIXED)),
        allow("bob", READ, topic("a")),
        allow("alice", READ, topic("a"), "10.0.0.1"),
        allow("alice", READ, topic("a")),
        allow("alice", DESCRIBE, CLUSTER),
    )

    answered = answer(API, EVERYTHING, node, 3)

    assert answered.error_code == 0
    assert answered.error_message == ""
    assert [(r.resource_type, r.resource_name, r.pattern_type) for r in answered.resources] == [
        (2, "a", 3),
        (2, "a", 4),
        (2, "b", 3),
        (4, "kafka-cluster", 3),
    ]
    assert [(acl.principal, acl.host) for acl in answered.resources[0].acls] == [
        ("User:alice", "*"),
        ("User:alice", "10.0.0.1"),
        ("User:bob", "*"),
    ]
    assert answered.resources[1] == DescribeAclsResource(
        resource_type=2,
        resource_name="a",
        pattern_type=4,
        acls=(AclDescription(principal="User:alice", host="*", operation=3, permission_type=2),),
    )


async def test_version_0_sees_literal_patterns_only() -> None:
    """Without a pattern type the filter is LITERAL."""
    node = await node_of(allow("bob", READ, topic("b")), allow("bob", READ, topic("c", PREFIXED)))

    answered = answer(API, but(pattern_type_filter=3), node, 0)

    assert [row.resource_name for row in answered.resources] == ["b"]


@pytest.mark.parametrize("version", [1, 3])
async def test_rows_that_are_kept_are_the_same(version: int) -> None:
    """Encoded, since that is how they are kept."""
    node = await node_of(allow("bob", READ, topic("b")), allow("bob", READ, topic("c", PREFIXED)))
    authorizer = node.authorizer
    assert isinstance(authorizer, StandardAuthorizer)
    anew = outcome(API, EVERYTHING, node, version)

    node.acl_rows = AclRows(lambda: authorizer.snapshot)
    kept = outcome(API, EVERYTHING, node, version)

    assert not isinstance(kept, DescribeAclsResponse)
    assert kept.encode(version) == anew.encode(version)


@pytest.mark.parametrize(
    "properties", ["doorkeeper.clients.withhold=x=7/3", "doorkeeper.clients.answer.max.bytes=x=9"]
)
async def test_what_is_withheld_is_made_row_by_row(properties: str) -> None:
    """Kept rows are for everybody."""
    node = await node_of(allow("bob", READ, topic("b")), properties=properties)
    authorizer = node.authorizer
    assert isinstance(authorizer, StandardAuthorizer)
    node.acl_rows = AclRows(lambda: authorizer.snapshot)

    assert isinstance(outcome(API, EVERYTHING, node, 3), DescribeAclsResponse)
