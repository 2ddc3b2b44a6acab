"""LeaveGroup: rights, members that are not there, and declared ones, which stay."""

from __future__ import annotations

import pytest

from doorkeeper.cluster.model import Group, GroupMember
from doorkeeper.handlers.leave_group import API
from doorkeeper_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from testkit.nodes import ANode, answer, node_of, on_the_wire

MEMBERS = (
    GroupMember("reader-1", "instance-1", "c", "/127.0.0.1", b"", b""),
    GroupMember("reader-2", None, "c", "/127.0.0.1", b"", b""),
)


async def world() -> ANode:
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
async def test_declared_members_stay(member_id: str, instance: str | None, code: int) -> None:
    """A member is found by its id, or by its name and then its id."""
    member = MemberIdentity(member_id=member_id, group_instance_id=instance)
    request = LeaveGroupRequest(group_id="declared", members=(member,))

    found = on_the_wire(answer(API, request, await world(), 5), 5)

    assert found.error_code == 0
    assert [
        (each.member_id, each.group_instance_id, each.error_code) for each in found.members
    ] == [(member_id, instance, code)]


@pytest.mark.parametrize(
    ("user", "group_id", "coordinator", "code"),
    [("alice", "declared", 1, 30), ("admin", "", 2, 24), ("admin", "declared", 2, 16)],
)
async def test_errors_of_the_whole_request(
    user: str, group_id: str, coordinator: int, code: int
) -> None:
    """They have no members."""
    node = await world()
    node.coordinator_id = coordinator
    request = LeaveGroupRequest(group_id=group_id, members=(MemberIdentity(member_id="m"),))

    found = answer(API, request, node, 4, user=user)

    assert (found.error_code, found.members) == (code, ())
