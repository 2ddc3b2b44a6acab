"""DescribeAcls, CreateAcls and DeleteAcls: order of checks, filters, rows."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import create_acls, delete_acls, describe_acls
from doorkeeper.server.api.acl_rows import AclRows
from doorkeeper.server.api.codes import UnknownElements
from doorkeeper.server.api.node import Update
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
)
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.state.outcome import Results
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic, wanted
from testkit.nodes import CLUSTER, answer, arguments, context_of, node_of, on_the_wire, outcome

EVERYTHING = DescribeAclsRequest(
    resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1,
    resource_name_filter=None, principal_filter=None, host_filter=None,
)  # fmt: skip


def but(**fields: object) -> DescribeAclsRequest:
    """Return the request for everything, with some fields set."""
    values = {name: getattr(EVERYTHING, name) for name in DescribeAclsRequest.__struct_fields__}
    del values["unknown_tags"]
    return DescribeAclsRequest(**{**values, **fields})


async def test_acls_are_grouped_by_pattern_and_sorted() -> None:
    node = await node_of(
        allow("bob", WRITE, topic("b")),
        deny("alice", READ, topic("a", PREFIXED)),
        allow("bob", READ, topic("a")),
        allow("alice", READ, topic("a"), "10.0.0.1"),
        allow("alice", READ, topic("a")),
        allow("alice", DESCRIBE, CLUSTER),
    )

    answered = answer(describe_acls.API, EVERYTHING, node, 3)

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


async def test_version_0_sees_only_literal_patterns() -> None:
    node = await node_of(allow("bob", READ, topic("b")), allow("bob", READ, topic("c", PREFIXED)))

    answered = answer(describe_acls.API, but(pattern_type_filter=3), node, 0)

    assert [row.resource_name for row in answered.resources] == ["b"]


@pytest.mark.parametrize("version", [1, 3])
async def test_cached_rows_equal_new_rows(version: int) -> None:
    node = await node_of(allow("bob", READ, topic("b")), allow("bob", READ, topic("c", PREFIXED)))
    authorizer = node.authorizer
    assert isinstance(authorizer, StandardAuthorizer)
    anew = outcome(describe_acls.API, EVERYTHING, node, version)

    node.acl_rows = AclRows(lambda: authorizer.snapshot)
    kept = outcome(describe_acls.API, EVERYTHING, node, version)

    assert not isinstance(kept, DescribeAclsResponse)
    assert kept.encode(version) == anew.encode(version)


GOOD: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "orders",
    "resource_pattern_type": 3,
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


def asking(*rows: dict[str, Any]) -> CreateAclsRequest:
    """Return a request whose rows differ from a good one in these fields."""
    return CreateAclsRequest(creations=tuple(AclCreation(**{**GOOD, **row}) for row in rows))


def rows_of(response: Any, version: int = 3) -> list[tuple[int, str | None]]:
    """Return code and text of each row, as they arrive."""
    rows = on_the_wire(response, version).results
    return [(row.error_code, row.error_message) for row in rows]


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("resource_type", 1),
        ("resource_pattern_type", 1),
        ("resource_pattern_type", 2),
        ("operation", 1),
        ("permission_type", 1),
    ],
)
async def test_create_acls_with_any_or_match(field: str, code: int) -> None:
    """-1 without text everywhere, and nothing is created."""
    node = await node_of()

    assert rows_of(outcome(create_acls.API, asking({}, {field: code}), node, 3)) == [
        (-1, None),
        (-1, None),
    ]


async def test_create_acls_with_bad_names() -> None:
    """The cluster has one name, others have one at least; good rows go on to the authorizer."""
    node = await node_of()
    request = asking(
        {},
        {"resource_type": 4, "resource_name": "*"},
        {"resource_type": 4, "resource_name": ""},
        {"resource_name": ""},
        {"resource_type": 4, "resource_name": "kafka-cluster"},
    )

    made = outcome(create_acls.API, request, node, 3)

    assert isinstance(made, Update)
    assert [binding.pattern.resource_type for binding in arguments(made)[2]] == [
        ResourceType.TOPIC,
        ResourceType.CLUSTER,
    ]
    only_name = (42, "The only valid name for the CLUSTER resource is kafka-cluster")
    assert rows_of(made.respond(Results([AclCreateResult(), AclCreateResult()]))) == [
        (0, ""),
        only_name,
        only_name,
        (42, "Invalid empty resource name"),
        (0, ""),
    ]


async def test_unencodable_names_are_rejected() -> None:
    """Bytes that are no UTF-8 become characters of three bytes each."""
    node = await node_of()
    request = asking({"resource_name": "\ufffd" * 20_000}, {})

    made = create_acls.API.handle(request, context_of(create_acls.API, 3), node)

    assert isinstance(made, Update)
    assert len(arguments(made)[2]) == 1
    assert rows_of(made.respond(Results([AclCreateResult()]))) == [
        (42, "Resource name takes 60000 bytes; at most 32767"),
        (0, ""),
    ]


@pytest.mark.parametrize("version", [0, 3])
async def test_create_acls_in_every_version(version: int) -> None:
    """Version 0 has no pattern type and means LITERAL; operation 15 passes in all."""
    node = await node_of()

    made = outcome(create_acls.API, asking({}, {"operation": 15}), node, version)

    assert tuple(arguments(made)[2]) == (
        allow("alice", READ, topic("orders")),
        allow("alice", AclOperation.TWO_PHASE_COMMIT, topic("orders")),
    )
    results = Results([AclCreateResult(), AclCreateResult()])
    assert rows_of(made.respond(results), version) == [(0, ""), (0, "")]


ANYTHING: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def filters_request(*rows: dict[str, Any]) -> DeleteAclsRequest:
    """Return a request whose filters differ from the open one in these fields."""
    return DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**{**ANYTHING, **r}) for r in rows))


async def test_delete_acls_filters_reach_the_authorizer() -> None:
    """Unknown codes become UNKNOWN, which the authorizer refuses."""
    node = await node_of()
    request = filters_request({}, {"resource_type_filter": 99, "resource_name_filter": "a"})

    made = outcome(delete_acls.API, request, node, 3)

    assert isinstance(made, Update)
    assert arguments(made)[2] == [wanted(), wanted(ResourceType.UNKNOWN, "a")]


async def test_delete_acls_answers_each_filter() -> None:
    """Matches under each filter, null texts on success; an error of a filter has no matches."""
    node = await node_of()
    made = outcome(delete_acls.API, filters_request({}, {}, {}), node, 3)
    binding = allow("alice", READ, topic("orders"))
    failed = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "disk full")

    results = [
        AclDeleteResult(bindings=(AclBindingDeleteResult(binding),)),
        AclDeleteResult(ApiError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")),
        AclDeleteResult(bindings=(AclBindingDeleteResult(binding, failed),)),
    ]
    response = made.respond(Results(results))

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


FILTER_FIELDS = ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
CREATION_FIELDS = ("resource_type", "resource_pattern_type", "operation", "permission_type")
WITH_CODE_0: list[tuple[Any, Any, str]] = [
    *(
        (describe_acls.API, but(**{field: 0}), "DescribeAclsRequest contains UNKNOWN")
        for field in FILTER_FIELDS
    ),
    *(
        (create_acls.API, asking({}, {field: 0}), "CreatableAcls contain unknown elements")
        for field in CREATION_FIELDS
    ),
    *(
        (delete_acls.API, filters_request({}, {field: 0}), "Filters contain UNKNOWN elements")
        for field in FILTER_FIELDS
    ),
]


@pytest.mark.parametrize(("api", "request_", "text"), WITH_CODE_0)
async def test_code_0_closes_the_connection(api: Any, request_: Any, text: str) -> None:
    """The code of UNKNOWN in any row is malformed, before any permission is checked."""
    node = await node_of()

    with pytest.raises(UnknownElements, match=text):
        outcome(api, request_, node, 3, user="nobody")
    assert node.lines() == []


async def test_without_an_authorizer_security_is_disabled() -> None:
    """54 with the broker's texts, one of which has no full stop."""
    node = await node_of(secured=False)
    text = "No Authorizer is configured"

    described = answer(describe_acls.API, EVERYTHING, node, 3)
    (deleted,) = answer(delete_acls.API, filters_request({}), node, 3).filter_results

    assert (described.error_code, described.error_message) == (54, f"{text} on the broker")
    assert rows_of(answer(create_acls.API, asking({}), node, 3)) == [(54, f"{text}.")]
    assert (deleted.error_code, deleted.error_message) == (54, f"{text}.")
