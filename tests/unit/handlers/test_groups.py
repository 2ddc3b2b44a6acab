"""ListGroups, DeleteGroups, LeaveGroup and JoinGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.cluster.model import Group, GroupMember
from doorkeeper.errors import ErrorCode
from doorkeeper.handlers import delete_groups, join_group, leave_group, list_groups
from doorkeeper_wire.messages.delete_groups import DeleteGroupsRequest
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from doorkeeper_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from doorkeeper_wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from testkit.acl import DESCRIBE, READ, allow, group
from testkit.nodes import CLUSTER, ANode, a_group, answer, arguments, node_of, on_the_wire, outcome

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

    answered = answer(list_groups.API, request, node, 5)

    assert (answered.error_code, names(answered)) == (0, listed)


async def test_describe_on_the_cluster_or_on_the_group() -> None:
    """The cluster shows all, else each group is asked about; denials stay at TRACE."""
    node = await world(allow("bob", DESCRIBE, CLUSTER), allow("alice", DESCRIBE, group("b")))

    assert names(answer(list_groups.API, ListGroupsRequest(), node, 5, user="bob")) == [
        "a",
        "b",
        "c",
    ]
    assert node.lines() == ["DEBUG Allowed DESCRIBE Cluster:LITERAL:kafka-cluster 1"]
    assert names(answer(list_groups.API, ListGroupsRequest(), node, 5, user="alice")) == ["b"]
    assert node.lines() == [
        "TRACE Denied DESCRIBE Cluster:LITERAL:kafka-cluster 1",
        "TRACE Denied DESCRIBE Group:LITERAL:a 1",
        "DEBUG Allowed DESCRIBE Group:LITERAL:b 1",
        "TRACE Denied DESCRIBE Group:LITERAL:c 1",
    ]


DELETE = AclOperation.DELETE


def rows_of(response: Any, version: int = 2) -> list[tuple[str, int]]:
    return [(row.group_id, row.error_code) for row in on_the_wire(response, version).results]


@pytest.mark.parametrize("version", [0, 2])
async def test_groups_are_deleted(version: int) -> None:
    """A name that occurs twice has one row, and is asked about once."""
    node = await node_of(allow("alice", DELETE, group("g")))
    request = DeleteGroupsRequest(groups_names=("other", "g", "g", ""))

    made = outcome(delete_groups.API, request, node, version, user="alice")

    assert isinstance(made, Update)
    assert arguments(made)[1] == ["g"]
    found = made.respond([ErrorCode.NONE])
    assert rows_of(found, version) == [("g", 0), ("other", 30), ("", 30)]
    assert node.lines() == [
        "INFO Denied DELETE Group:LITERAL:other 1",
        "DEBUG Allowed DELETE Group:LITERAL:g 1",
        "INFO Denied DELETE Group:LITERAL: 1",
    ]


async def test_deleting_nothing_submits_nothing() -> None:
    """Nor on a node that is not the coordinator, which answers 16 behind the rights."""
    node = await node_of(allow("alice", DELETE, group("g")))
    other = DeleteGroupsRequest(groups_names=("other",))
    both = DeleteGroupsRequest(groups_names=("other", "g"))

    assert rows_of(answer(delete_groups.API, DeleteGroupsRequest(), node, 2)) == []
    assert rows_of(answer(delete_groups.API, other, node, 2, user="alice")) == [("other", 30)]
    node.coordinator_id = 2
    assert rows_of(answer(delete_groups.API, both, node, 2, user="alice")) == [
        ("g", 16),
        ("other", 30),
    ]


MEMBERS = (
    GroupMember("reader-1", "instance-1", "c", "/127.0.0.1", b"", b""),
    GroupMember("reader-2", None, "c", "/127.0.0.1", b"", b""),
)


async def node_with_members() -> ANode:
    declared = Group("declared", "Stable", "classic", "consumer", "range", MEMBERS)
    return await node_of(groups=[declared])


@pytest.mark.parametrize(
    ("member_id", "instance", "code"),
    [
        ("reader-2", None, 44),
        ("reader-1", "instance-1", 44),
        ("", "instance-1", 44),
        ("reader-2", "instance-1", 82),
        ("reader-1", "other", 25),
        ("", None, 25),
        ("other", None, 25),
    ],
)
async def test_declared_members_cannot_leave(
    member_id: str, instance: str | None, code: int
) -> None:
    """A member is found by its id, or by its name and then its id."""
    member = MemberIdentity(member_id=member_id, group_instance_id=instance)
    request = LeaveGroupRequest(group_id="declared", members=(member,))

    found = on_the_wire(answer(leave_group.API, request, await node_with_members(), 5), 5)

    assert found.error_code == 0
    assert [
        (each.member_id, each.group_instance_id, each.error_code) for each in found.members
    ] == [(member_id, instance, code)]


@pytest.mark.parametrize(
    ("user", "group_id", "coordinator", "code"),
    [("alice", "declared", 1, 30), ("admin", "", 2, 24), ("admin", "declared", 2, 16)],
)
async def test_leaving_is_refused_as_a_whole(
    user: str, group_id: str, coordinator: int, code: int
) -> None:
    """They have no members."""
    node = await node_with_members()
    node.coordinator_id = coordinator
    request = LeaveGroupRequest(group_id=group_id, members=(MemberIdentity(member_id="m"),))

    found = answer(leave_group.API, request, node, 4, user=user)

    assert (found.error_code, found.members) == (code, ())


REQUEST = JoinGroupRequest(group_id="payments", member_id="m-1", protocol_type="consumer")


def joined(node: ANode, version: int) -> JoinGroupResponse:
    response = answer(join_group.API, REQUEST, node, version, "alice")
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
