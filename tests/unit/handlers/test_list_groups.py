"""ListGroups: filters, and who sees what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.handlers.list_groups import API
from doorkeeper_wire.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from testkit.acl import DESCRIBE, allow, group
from testkit.nodes import CLUSTER, ANode, a_group, answer, node_of

if TYPE_CHECKING:
    from doorkeeper.acl.model import AclBinding


async def world(*bindings: AclBinding) -> ANode:
    """Return a node with three groups."""
    return await node_of(
        *bindings,
        groups=[
            a_group("c", "Reconciling", group_type="consumer"),
            a_group("a"),
            a_group("b", "Empty", members=(), protocol_type=""),
        ],
    )


def names(response: ListGroupsResponse) -> list[str]:
    """Return the ids that are listed."""
    return [row.group_id for row in response.groups]


@pytest.mark.parametrize("version", [0, 4, 5])
async def test_groups_are_sorted_and_versions_tell_more(version: int) -> None:
    """States from v4, types from v5."""
    node = await world()

    listed = answer(API, ListGroupsRequest(), node, version)

    assert listed.error_code == 0
    assert names(listed) == ["a", "b", "c"]
    assert listed.groups[2] == ListedGroup(
        group_id="c",
        protocol_type="consumer",
        group_state="Reconciling" if version >= 4 else "",
        group_type="consumer" if version >= 5 else "",
    )


@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [
        (("Empty", "RECONCILING"), (), ["b", "c"]),
        ((), ("Classic",), ["a", "b"]),
        (("Stable",), ("consumer",), []),
        ((), ("nonsense",), []),
    ],
)
async def test_filters_ignore_case(
    states: tuple[str, ...], types: tuple[str, ...], listed: list[str]
) -> None:
    """What does not exist matches nothing, and is no error."""
    node = await world()
    request = ListGroupsRequest(states_filter=states, types_filter=types)

    answered = answer(API, request, node, 5)

    assert (answered.error_code, names(answered)) == (0, listed)


async def test_describe_on_the_cluster_or_on_the_group() -> None:
    """The cluster shows all, else each group is asked about; denials stay at TRACE."""
    node = await world(allow("bob", DESCRIBE, CLUSTER), allow("alice", DESCRIBE, group("b")))

    assert names(answer(API, ListGroupsRequest(), node, 5, user="bob")) == ["a", "b", "c"]
    assert node.lines() == ["DEBUG Allowed DESCRIBE Cluster:LITERAL:kafka-cluster 1"]
    assert names(answer(API, ListGroupsRequest(), node, 5, user="alice")) == ["b"]
    assert node.lines() == [
        "TRACE Denied DESCRIBE Cluster:LITERAL:kafka-cluster 1",
        "TRACE Denied DESCRIBE Group:LITERAL:a 1",
        "DEBUG Allowed DESCRIBE Group:LITERAL:b 1",
        "TRACE Denied DESCRIBE Group:LITERAL:c 1",
    ]
