"""DeleteAcls: order of checks, rows, what reaches the authorizer."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import ResourceType
from doorkeeper.api.codes import UnknownElements
from doorkeeper.api.node import Update
from doorkeeper.authorizer.contract import AclBindingDeleteResult, AclDeleteResult
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.delete_acls import API
from doorkeeper_wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
)
from testkit.acl import READ, allow, topic, wanted
from testkit.nodes import answer, arguments, node_of, on_the_wire, outcome

ANYTHING: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def asking(*rows: dict[str, Any]) -> DeleteAclsRequest:
    """Return a request whose filters differ from the open one in these fields."""
    return DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**{**ANYTHING, **r}) for r in rows))


@pytest.mark.parametrize(
    "field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"]
)
async def test_code_0_in_any_filter_closes_the_connection(field: str) -> None:
    """The code of UNKNOWN itself counts as malformed, before anybody is asked for permission."""
    node = await node_of()

    with pytest.raises(UnknownElements, match="Filters contain UNKNOWN elements, filters: "):
        outcome(API, asking({}, {field: 0}), node, 3, user="nobody")
    assert node.lines() == []


async def test_without_an_authorizer_security_is_disabled() -> None:
    """54 for every filter."""
    node = await node_of(secured=False)

    (row,) = answer(API, asking({}), node, 3).filter_results

    assert (row.error_code, row.error_message) == (54, "No Authorizer is configured.")


async def test_filters_reach_the_authorizer_in_order() -> None:
    """Unknown codes become UNKNOWN; refusing them is the authorizer's affair."""
    node = await node_of()

    made = outcome(API, asking({}, {"resource_type_filter": 99, "resource_name_filter": "a"}),
                   node, 3)  # fmt: skip

    assert isinstance(made, Update)
    assert arguments(made)[1] == [wanted(), wanted(ResourceType.UNKNOWN, "a")]


async def test_each_filter_is_answered_alone() -> None:
    """Matches under each filter, null texts on success; an error of a filter has no matches."""
    node = await node_of()
    made = outcome(API, asking({}, {}, {}), node, 3)
    binding = allow("alice", READ, topic("orders"))
    failed = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")

    response = made.respond(
        [
            AclDeleteResult(bindings=(AclBindingDeleteResult(binding),)),
            AclDeleteResult(ApiError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")),
            AclDeleteResult(bindings=(AclBindingDeleteResult(binding, failed),)),
        ]
    )

    first, second, third = on_the_wire(response, 3).filter_results
    assert (first.error_code, first.error_message) == (0, None)
    (deleted,) = first.matching_acls
    assert (deleted.resource_type, deleted.resource_name, deleted.pattern_type) == (2, "orders", 3)
    assert (deleted.principal, deleted.host, deleted.operation) == ("User:alice", "*", 3)
    assert (deleted.error_code, deleted.error_message, deleted.permission_type) == (0, None, 3)
    assert (second.error_code, second.error_message) == (42, "Unknown patternFilter.")
    assert second.matching_acls == ()
    (undeleted,) = third.matching_acls
    assert (third.error_code, undeleted.error_code) == (0, 56)
    assert undeleted.error_message == "disk full"
