"""ACLs in the requests and answers of a client."""

from __future__ import annotations

import pytest

from doorkeeper.acls.model import (
    ANY_BINDING,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
    exactly,
)
from doorkeeper.client.bindings import (
    bindings_of,
    check_filter,
    creation_request,
    deletion_request,
    description_request,
)
from doorkeeper.server.api.codes import filter_of
from doorkeeper.server.api.codes import resource_rows as rows_of
from doorkeeper.server.api.create_acls import binding_of
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic, wanted

BINDINGS = [
    allow("alice", READ, topic("t")),
    deny("eve", WRITE, group("g"), "10.0.0.1"),
    allow("eve", READ, topic("t", PREFIXED)),
]


def test_server_decodes_client_requests() -> None:
    filters = [ANY_BINDING, *map(exactly, BINDINGS)]

    assert [binding_of(row) for row in creation_request(BINDINGS).creations] == BINDINGS
    assert [filter_of(row) for row in deletion_request(filters).filters] == filters
    assert [filter_of(description_request(each)) for each in filters] == filters


def test_client_decodes_server_responses() -> None:
    answer = DescribeAclsResponse(resources=rows_of(BINDINGS))

    assert bindings_of(answer) == sorted(BINDINGS)


@pytest.mark.parametrize(
    "unknown",
    [
        wanted(ResourceType.UNKNOWN),
        wanted(pattern_type=PatternType.UNKNOWN),
        wanted(operation=AclOperation.UNKNOWN),
        wanted(permission_type=AclPermissionType.UNKNOWN),
    ],
)
def test_filters_with_unknown_elements_are_rejected(unknown: AclBindingFilter) -> None:
    check_filter(ANY_BINDING)

    with pytest.raises(ValueError, match="must not contain UNKNOWN elements"):
        check_filter(unknown)
