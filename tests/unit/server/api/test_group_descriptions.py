"""DescribeGroups, and the Describe APIs of consumer, share and streams groups."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.server.api import (
    consumer_group_describe,
    describe_groups,
    share_group_describe,
    streams_group_describe,
)
from doorkeeper.server.resources.cluster import Group, GroupMember
from doorkeeper_broker.consumer_protocol import (
    assignment_bytes,
    subscription_bytes,
)
from doorkeeper_wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    TopicPartitions,
)
from doorkeeper_wire.messages.describe_groups import DescribeGroupsRequest
from testkit.acl import DESCRIBE, READ, allow, group, topic
from testkit.nodes import a_group, a_topic, answer, node_of

UNASKED = -(2**31)


def asking(*groups: str, masks: bool = False) -> DescribeGroupsRequest:
    """Return a request for groups."""
    return DescribeGroupsRequest(groups=groups, include_authorized_operations=masks)


@pytest.mark.parametrize(
    ("version", "code", "text", "mask"),
    [(0, 0, None, UNASKED), (5, 0, None, 3400), (6, 69, "Group g not found.", UNASKED)],
)
async def test_unknown_groups(version: int, code: int, text: str | None, mask: int) -> None:
    """Dead without an error before v6, with a mask if asked for; then 69 without a mask."""
    node = await node_of()

    (row,) = answer(describe_groups.API, asking("g", masks=version >= 3), node, version).groups

    assert (row.error_code, row.error_message, row.group_state) == (code, text, "Dead")
    assert row.authorized_operations == mask


async def test_denied_groups_come_first() -> None:
    """30 and nothing else, also for groups that do not exist; the rest in the request's order."""
    node = await node_of(
        allow("alice", DESCRIBE, group("b")),
        allow("alice", READ, group("d")),
        groups=[a_group("b"), a_group("a")],
    )

    answered = answer(
        describe_groups.API, asking("d", "a", "b", "c", masks=True), node, 5, user="alice"
    )

    rows = [(row.group_id, row.error_code, row.group_state) for row in answered.groups]
    assert rows == [("a", 30, ""), ("c", 30, ""), ("d", 0, "Dead"), ("b", 0, "Stable")]
    masks = [row.authorized_operations for row in answered.groups]
    assert masks == [UNASKED, UNASKED, 1 << READ | 1 << DESCRIBE, 1 << DESCRIBE]
    assert node.lines()[:4] == [
        "DEBUG Allowed DESCRIBE Group:LITERAL:d 1",
        "INFO Denied DESCRIBE Group:LITERAL:a 1",
        "DEBUG Allowed DESCRIBE Group:LITERAL:b 1",
        "INFO Denied DESCRIBE Group:LITERAL:c 1",
    ]


async def test_members_of_a_group_are_sent_once() -> None:
    """A request could name one group a hundred thousand times; groups without members repeat."""
    node = await node_of(groups=[a_group("g"), a_group("a", members=())])

    rows = answer(describe_groups.API, asking("g", "a", "g", "a", "x", "x"), node, 6).groups
    assert [row.group_id for row in rows] == ["g", "a", "a", "x", "x"]

    node = await node_of(groups=[new_group()], topics=[a_topic("t", 2)])
    request = ConsumerGroupDescribeRequest(group_ids=("g", "x", "g", "x"))
    rows = answer(consumer_group_describe.API, request, node, 1).groups
    assert [row.group_id for row in rows] == ["g", "x", "x"]


async def test_other_nodes_are_not_the_coordinator() -> None:
    """A node that does not, says 16 of each that the caller may describe, found or not."""
    node = await node_of(allow("alice", DESCRIBE, group("g")), allow("alice", DESCRIBE, group("h")))
    node.coordinator_id = 0

    rows = answer(
        describe_groups.API, asking("g", "secret", "h", masks=True), node, 6, user="alice"
    ).groups

    assert [(row.group_id, row.error_code) for row in rows] == [
        ("secret", 30),
        ("g", 16),
        ("h", 16),
    ]
    assert {row.group_state for row in rows} == {""}


APIS = [
    (consumer_group_describe.API, "consumer", 1),
    (share_group_describe.API, "share", 1),
    (streams_group_describe.API, "streams", 0),
]

EVERY_API = pytest.mark.parametrize(
    ("api", "name", "version"), APIS, ids=[name for _, name, _ in APIS]
)


def new_group(**fields: Any) -> Group:
    """Return a consumer group with one member that reads two partitions of t, and one of absent."""
    member = GroupMember(
        "m-1",
        "i-1",
        "client-1",
        "/10.0.0.7",
        subscription_bytes(["t", "absent", "t"]),
        assignment_bytes({"t": [0, 2], "absent": [0]}),
    )
    return a_group("g", group_type="consumer", members=(member,), **fields)


@EVERY_API
async def test_other_group_types_are_not_found(api: Any, name: str, version: int) -> None:
    node = await node_of(
        *(allow("alice", DESCRIBE, group(each)) for each in ("classic", "absent")),
        allow("alice", DESCRIBE, group("*")),
        groups=[a_group("classic")],
    )
    restricted = await node_of(allow("alice", DESCRIBE, group("absent")))
    request = api.request(group_ids=("classic", "absent", ""), include_authorized_operations=True)

    rows = answer(api, request, node, version, user="alice").groups
    refused = answer(api, request, restricted, version, user="alice").groups

    assert [(row.group_id, row.error_code, row.error_message) for row in rows] == [
        ("", 24, None),
        ("classic", 69, f"Group classic is not a {name} group."),
        ("absent", 69, "Group absent not found."),
    ]
    assert {row.authorized_operations for row in rows} == {UNASKED}
    assert [(row.group_id, row.error_code, row.error_message) for row in refused] == [
        ("classic", 30, None),
        ("", 30, None),
        ("absent", 69, "Group absent not found."),
    ]


@EVERY_API
async def test_only_the_coordinator_describes_groups(api: Any, name: str, version: int) -> None:
    """The others answer 16, but 30 where the caller may not describe the group."""
    node = await node_of(allow("alice", DESCRIBE, group(name)))
    node.coordinator_id = 2

    rows = answer(api, api.request(group_ids=(name, "other")), node, version, user="alice").groups

    assert [(row.group_id, row.error_code) for row in rows] == [("other", 30), (name, 16)]


async def test_consumer_group_is_described() -> None:
    node = await node_of(
        allow("alice", DESCRIBE, group("g")),
        allow("alice", DESCRIBE, topic("t")),
        groups=[new_group()],
        topics=[a_topic("t", 3)],
    )
    request = ConsumerGroupDescribeRequest(group_ids=("g",), include_authorized_operations=True)

    (row,) = answer(consumer_group_describe.API, request, node, 1, user="alice").groups

    assert (row.error_code, row.group_state, row.assignor_name) == (0, "Stable", "range")
    assert row.authorized_operations == 1 << DESCRIBE
    (member,) = row.members
    assert (member.member_id, member.instance_id, member.member_type) == ("m-1", "i-1", 1)
    assert (member.client_id, member.client_host) == ("client-1", "/10.0.0.7")
    assert member.subscribed_topic_names == ("absent", "t")
    expected = TopicPartitions(topic_id=a_topic("t").topic_id, topic_name="t", partitions=(0, 2))
    assert member.assignment.topic_partitions == (expected,)
    assert member.target_assignment == member.assignment


async def test_denied_topic_hides_its_group() -> None:
    """With 29 and a text; the other groups are shown."""
    node = await node_of(
        allow("alice", DESCRIBE, group("*")),
        groups=[new_group(), replace(new_group(), group_id="empty", members=())],
        topics=[a_topic("t", 3)],
    )
    request = ConsumerGroupDescribeRequest(group_ids=("g", "empty"))

    rows = answer(consumer_group_describe.API, request, node, 0, user="alice").groups

    assert [(row.error_code, row.group_state, row.members) for row in rows] == [
        (29, "", ()),
        (0, "Stable", ()),
    ]
    assert rows[0].error_message == (
        "The group has described topic(s) that the client is not authorized to describe."
    )
