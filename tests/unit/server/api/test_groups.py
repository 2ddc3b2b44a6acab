"""ListGroups, DeleteGroups, LeaveGroup, JoinGroup and FindCoordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api import (
    delete_groups,
    find_coordinator,
    join_group,
    leave_group,
    list_groups,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.resources.groups import Offsets
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET, StoredOffset
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.delete_groups import DeleteGroupsRequest
from doorkeeper_wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from doorkeeper_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from doorkeeper_wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from testkit.acl import DESCRIBE, READ, allow, group
from testkit.nodes import CLUSTER, ANode, a_group, answer, node_of, on_the_wire, outcome
from testkit.plans import planned

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding


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
async def test_list_groups_filters_ignore_case(
    states: tuple[str, ...], types: tuple[str, ...], listed: list[str]
) -> None:
    """What does not exist matches nothing, and is no error."""
    node = await world()
    request = ListGroupsRequest(states_filter=states, types_filter=types)

    answered = answer(list_groups.API, request, node, 5)

    assert (answered.error_code, names(answered)) == (0, listed)


async def test_list_groups_requires_describe() -> None:
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
    row = StoredOffset("g", "a-0", bytes(16), 5, -1, "")
    change, errors = await planned(made, replace(EMPTY, offsets=Offsets().with_changes([row], ())))
    assert change == edit(OFFSET, deleted=[row])
    found = made.respond(errors)
    assert rows_of(found, version) == [("g", 0), ("other", 30), ("", 30)]
    assert node.lines() == [
        "INFO Denied DELETE Group:LITERAL:other 1",
        "DEBUG Allowed DELETE Group:LITERAL:g 1",
        "INFO Denied DELETE Group:LITERAL: 1",
    ]


async def test_empty_deletion_submits_nothing() -> None:
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


@pytest.mark.parametrize("version", [0, 5])
async def test_leaving_members_are_unknown(version: int) -> None:
    member = MemberIdentity(member_id="m", group_instance_id=None)
    named: Any = {"members": (member,)} if version >= 3 else {"member_id": "m"}
    request = LeaveGroupRequest(group_id="g", **named)

    found = answer(leave_group.API, request, await node_of(), version)

    codes = [row.error_code for row in found.members] if version else [found.error_code]
    assert codes == [25]


@pytest.mark.parametrize(
    ("user", "group_id", "coordinator", "code"),
    [("alice", "g", 1, 30), ("admin", "", 2, 24), ("admin", "g", 2, 16)],
)
async def test_leave_group_rejections(
    user: str, group_id: str, coordinator: int, code: int
) -> None:
    node = await node_of()
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
async def test_join_group_has_no_coordinator(version: int) -> None:
    """With READ on the group the answer is 15, which clients try again."""
    node = await node_of(allow("alice", READ, group("payments")))

    response = joined(node, version)

    assert response == JoinGroupResponse(error_code=15, generation_id=-1, member_id="m-1")
    assert node.lines() == ["DEBUG Allowed READ Group:LITERAL:payments 1"]


async def test_join_group_requires_read() -> None:
    """Without READ on the group the answer is 30, without the member's id."""
    node = await node_of()

    assert joined(node, 1) == JoinGroupResponse(error_code=30)


LONG_TEXT = (
    "This most likely occurs because of a request being malformed by the client library or the"
    " message was sent to an incompatible broker. See the broker logs for more details."
)
SHARE_KEY = "share:Sme7FWb4QrOTXBzRGIxEOw:0"


@pytest.mark.parametrize(("version", "text"), [(0, ""), (1, "NONE")])
async def test_find_coordinator_for_one_key(version: int, text: str) -> None:
    node = await node_of()

    found = answer(find_coordinator.API, FindCoordinatorRequest(key="g"), node, version)

    assert (found.error_code, found.error_message) == (0, text)
    assert (found.node_id, found.host, found.port) == (1, "broker.example", 9092)


@pytest.mark.parametrize("version", [4, 6])
async def test_find_coordinator_for_several_keys(version: int) -> None:
    node = await node_of(allow("alice", DESCRIBE, group("g")))
    request = FindCoordinatorRequest(coordinator_keys=("h", "g"))

    found = answer(find_coordinator.API, request, node, version, user="alice")

    assert found.coordinators == (
        Coordinator(key="h", node_id=-1, host="", port=-1, error_code=30, error_message=""),
        Coordinator(
            key="g", node_id=1, host="broker.example", port=9092, error_code=0, error_message=""
        ),
    )
    assert node.lines() == [
        "INFO Denied DESCRIBE Group:LITERAL:h 1",
        "DEBUG Allowed DESCRIBE Group:LITERAL:g 1",
    ]


@pytest.mark.parametrize(
    ("key_type", "code", "text"),
    [
        (0, 30, "Group authorization failed."),
        (1, 53, "Transactional Id authorization failed."),
        (2, 42, LONG_TEXT),
        (7, 42, LONG_TEXT),
    ],
)
async def test_find_coordinator_rejections(key_type: int, code: int, text: str) -> None:
    node = await node_of()
    request = FindCoordinatorRequest(key="x", key_type=key_type)

    refused = answer(find_coordinator.API, request, node, 3, user="nobody")

    assert (refused.error_code, refused.error_message) == (code, text)
    assert (refused.node_id, refused.host, refused.port) == (-1, "", -1)


@pytest.mark.parametrize(
    ("version", "user", "key", "code", "text"),
    [
        (5, "admin", SHARE_KEY, 42, ""),
        (5, "nobody", SHARE_KEY, 42, ""),
        (6, "admin", SHARE_KEY, 0, ""),
        (6, "alice", SHARE_KEY, 0, ""),
        (6, "admin", "share", 42, ""),
        (6, "nobody", SHARE_KEY, 31, "Cluster authorization failed."),
    ],
)
async def test_find_coordinator_for_share_groups(
    version: int, user: str, key: str, code: int, text: str
) -> None:
    """From v6, with CLUSTER_ACTION on the cluster, and keys of three parts."""
    node = await node_of(allow("alice", AclOperation.CLUSTER_ACTION, CLUSTER))
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=(key,))

    (row,) = answer(find_coordinator.API, request, node, version, user=user).coordinators

    assert (row.error_code, row.error_message) == (code, text)


async def test_one_of_several_nodes_is_the_coordinator() -> None:
    """Whoever is asked names the same node; 15 where it has not the listener of the client."""
    node = await node_of()
    node.coordinator_id = 0
    node.listed = (Broker(0, "other.example", 9094), *node.listed)

    old = answer(find_coordinator.API, FindCoordinatorRequest(key="g"), node, 3)
    new = answer(find_coordinator.API, FindCoordinatorRequest(coordinator_keys=("g",)), node, 6)
    node.listed = node.listed[1:]
    old_away = answer(find_coordinator.API, FindCoordinatorRequest(key="g"), node, 3)
    new_away = answer(
        find_coordinator.API, FindCoordinatorRequest(coordinator_keys=("g",)), node, 6
    )

    assert (old.node_id, old.host, old.port) == (0, "other.example", 9094)
    assert (new.coordinators[0].node_id, new.coordinators[0].error_code) == (0, 0)
    assert (old_away.error_code, old_away.node_id) == (15, -1)
    assert (new_away.coordinators[0].error_code, new_away.coordinators[0].node_id) == (15, -1)
