"""DeleteGroups: rights, rows, and nodes that are not the coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.errors import ErrorCode
from doorkeeper.handlers.delete_groups import API
from doorkeeper_wire.messages.delete_groups import DeleteGroupsRequest
from testkit.acl import allow, group
from testkit.nodes import answer, arguments, node_of, on_the_wire, outcome

DELETE = AclOperation.DELETE


def rows_of(response: Any, version: int = 2) -> list[tuple[str, int]]:
    return [(row.group_id, row.error_code) for row in on_the_wire(response, version).results]


@pytest.mark.parametrize("version", [0, 2])
async def test_refused_groups_come_last(version: int) -> None:
    """A name that occurs twice has one row, and is asked about once."""
    node = await node_of(allow("alice", DELETE, group("g")))
    request = DeleteGroupsRequest(groups_names=("other", "g", "g", ""))

    made = outcome(API, request, node, version, user="alice")

    assert isinstance(made, Update)
    assert arguments(made)[1] == ["g"]
    found = made.respond([ErrorCode.NONE])
    assert rows_of(found, version) == [("g", 0), ("other", 30), ("", 30)]
    assert node.lines() == [
        "INFO Denied DELETE Group:LITERAL:other 1",
        "DEBUG Allowed DELETE Group:LITERAL:g 1",
        "INFO Denied DELETE Group:LITERAL: 1",
    ]


async def test_without_a_group_to_delete_nothing_is_submitted() -> None:
    """Nor on a node that is not the coordinator, which answers 16 behind the rights."""
    node = await node_of(allow("alice", DELETE, group("g")))
    other = DeleteGroupsRequest(groups_names=("other",))
    both = DeleteGroupsRequest(groups_names=("other", "g"))

    assert rows_of(answer(API, DeleteGroupsRequest(), node, 2)) == []
    assert rows_of(answer(API, other, node, 2, user="alice")) == [("other", 30)]
    node.coordinator_id = 2
    assert rows_of(answer(API, both, node, 2, user="alice")) == [("g", 16), ("other", 30)]
