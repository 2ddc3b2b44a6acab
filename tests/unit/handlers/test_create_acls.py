"""CreateAcls: order of checks, rows, what reaches the authorizer."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation, ResourceType
from doorkeeper.api.codes import UnknownElements
from doorkeeper.api.node import Update
from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.handlers.create_acls import API
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from testkit.acl import READ, allow, topic
from testkit.nodes import answer, arguments, node_of, on_the_wire, outcome

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
    "field", ["resource_type", "resource_pattern_type", "operation", "permission_type"]
)
async def test_code_0_in_any_row_closes_the_connection(field: str) -> None:
    """The code of UNKNOWN itself counts as malformed, before anybody is asked for permission."""
    node = await node_of()

    with pytest.raises(UnknownElements, match="CreatableAcls contain unknown elements"):
        outcome(API, asking({}, {field: 0}), node, 3, user="nobody")
    assert node.lines() == []


async def test_without_an_authorizer_security_is_disabled() -> None:
    """54 in every row; the text has a full stop here."""
    node = await node_of(secured=False)

    assert rows_of(answer(API, asking({}), node, 3)) == [(54, "No Authorizer is configured.")]


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
async def test_any_or_match_fails_every_row(field: str, code: int) -> None:
    """-1 without text everywhere, and nothing is created."""
    node = await node_of()

    assert rows_of(outcome(API, asking({}, {field: code}), node, 3)) == [(-1, None), (-1, None)]


async def test_bad_names_refuse_their_own_row() -> None:
    """The cluster has one name, others have one at least; good rows go on to the authorizer."""
    node = await node_of()
    request = asking(
        {},
        {"resource_type": 4, "resource_name": "*"},
        {"resource_type": 4, "resource_name": ""},
        {"resource_name": ""},
        {"resource_type": 4, "resource_name": "kafka-cluster"},
    )

    made = outcome(API, request, node, 3)

    assert isinstance(made, Update)
    assert [binding.pattern.resource_type for binding in arguments(made)[1]] == [
        ResourceType.TOPIC,
        ResourceType.CLUSTER,
    ]
    only_name = (42, "The only valid name for the CLUSTER resource is kafka-cluster")
    assert rows_of(made.respond([AclCreateResult(), AclCreateResult()])) == [
        (0, ""),
        only_name,
        only_name,
        (42, "Invalid empty resource name"),
        (0, ""),
    ]


@pytest.mark.parametrize("version", [0, 3])
async def test_every_version_makes_the_same_binding(version: int) -> None:
    """Version 0 has no pattern type and means LITERAL; operation 15 passes in all."""
    node = await node_of()

    made = outcome(API, asking({}, {"operation": 15}), node, version)

    assert tuple(arguments(made)[1]) == (
        allow("alice", READ, topic("orders")),
        allow("alice", AclOperation.TWO_PHASE_COMMIT, topic("orders")),
    )
    results = [AclCreateResult(), AclCreateResult()]
    assert rows_of(made.respond(results), version) == [(0, ""), (0, "")]
