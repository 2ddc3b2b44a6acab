"""ConsumerGroupHeartbeat: permissions, errors, and what other APIs show of its groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api import consumer_group_describe
from doorkeeper_broker import coordinator
from doorkeeper_broker.classic_apis import ClassicApis
from doorkeeper_broker.consumer_apis import ConsumerApis
from doorkeeper_broker.coordinator import Coordinator
from doorkeeper_wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from doorkeeper_wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from doorkeeper_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from testkit.acl import DESCRIBE, READ, allow, group, topic
from testkit.nodes import ADMIN, a_topic, answer, node_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.resources.cluster import Group
    from testkit.nodes import ANode

JOINING: dict[str, Any] = {
    "group_id": "g",
    "member_id": "a",
    "rebalance_timeout_ms": 10_000,
    "subscribed_topic_names": ("t",),
    "topic_partitions": (),
}


class World:
    """A node with live groups; also the log that they are published in."""

    def __init__(self, node: ANode) -> None:
        self.node = node
        self.coordinator = Coordinator(self, node.now_ms, lambda: node.settings)  # type: ignore[arg-type]
        (self.api,) = ConsumerApis(self.coordinator).apis()
        self.classic = {each.key: each for each in ClassicApis(self.coordinator).apis()}

    @property
    def state(self) -> Any:
        return self.node.state

    def amend(self, live_groups: dict[str, Group]) -> None:
        self.node.state = replace(self.node.state, live_groups=live_groups)
        self.node.groups = live_groups

    def beat(
        self, user: str = ADMIN, version: int = 1, **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(**{**JOINING, **fields})
        found: ConsumerGroupHeartbeatResponse = answer(
            self.api, request, self.node, version, user=user
        )
        return found

    def join_classic(self, member_id: str = "", metadata: bytes = b"") -> int:
        request = JoinGroupRequest(
            group_id="g",
            member_id=member_id,
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range", metadata=metadata),),
        )
        code: int = answer(self.classic[11], request, self.node, 3).error_code
        return code

    def described(self, user: str = ADMIN) -> Any:
        request = ConsumerGroupDescribeRequest(group_ids=("g",), include_authorized_operations=True)
        (row,) = answer(consumer_group_describe.API, request, self.node, 1, user=user).groups
        return row


@pytest.fixture
def worlds() -> Iterator[Any]:
    """Make worlds, whose timers are stopped at the end."""
    made: list[World] = []

    async def make(*bindings: AclBinding) -> World:
        made.append(World(await node_of(*bindings, topics=[a_topic("t", 2), a_topic("u")])))
        return made[-1]

    yield make
    for each in made:
        each.coordinator.close()


async def test_consumer_group_heartbeat_permissions(worlds: Any) -> None:
    world = await worlds(
        allow("alice", READ, group("g")),
        allow("alice", DESCRIBE, topic("t")),
        allow("bob", DESCRIBE, topic("t")),
    )

    assert world.beat("bob", group_id="g", member_id="").error_code == 30
    both = world.beat("alice", subscribed_topic_names=("t", "u", "t"), member_id="")
    assert (both.error_code, both.member_id) == (29, None)
    assert world.beat("alice", subscribed_topic_names=("t", "t")).error_code == 0


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        ({"group_id": ""}, 42, "GroupId can't be empty."),
        ({"instance_id": ""}, 42, "InstanceId can't be empty."),
        ({"rack_id": ""}, 42, "RackId can't be empty."),
        ({"group_id": " "}, 42, "GroupId can't be empty."),
        ({"instance_id": " \t"}, 42, "InstanceId can't be empty."),
        ({"rack_id": " "}, 42, "RackId can't be empty."),
        ({"member_id": "\0"}, 42, "MemberId can't be empty."),
        ({"member_id": ""}, 42, "MemberId can't be empty."),
        ({"rebalance_timeout_ms": -1}, 42, "RebalanceTimeoutMs must be provided in first request."),
        ({"topic_partitions": None}, 42, "TopicPartitions must be empty when (re-)joining."),
        (
            {"subscribed_topic_names": None},
            42,
            (
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
                " (re-)joining."
            ),
        ),
        ({"member_epoch": -2}, 42, "InstanceId can't be null."),
        ({"member_epoch": -3}, 42, "MemberEpoch is invalid."),
        (
            {"server_assignor": "sticky"},
            112,
            "ServerAssignor sticky is not supported. Supported assignors: uniform, range.",
        ),
        ({"member_epoch": 1}, 69, "Consumer group g not found."),
        ({"member_epoch": -1}, 69, "Group g not found."),
    ],
)
async def test_invalid_heartbeat_is_rejected(
    worlds: Any, fields: dict[str, Any], code: int, text: str
) -> None:
    world = await worlds()

    refused = world.beat(**fields)

    assert (refused.error_code, refused.error_message) == (code, text)
    assert world.node.groups == {}


async def test_groups_that_all_members_left_make_room(
    worlds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test server lives long, and each test draws an id for its group."""
    monkeypatch.setattr(coordinator, "GROUPS_MAX", 2)
    world = await worlds()
    for name in ("g", "h"):
        assert world.beat(group_id=name).error_code == 0
    assert world.beat(group_id="i").error_code == 81

    assert world.beat(group_id="g", member_epoch=-1).error_code == 0

    assert world.beat(group_id="i").error_code == 0
    assert world.node.groups.keys() == {"h", "i"}


async def test_members_data_is_bounded(worlds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """JoinGroup takes any metadata, which stayed for half an hour; the largest group goes."""
    monkeypatch.setattr(coordinator, "GROUPS_BYTES_MAX", 20_000)
    world = await worlds()
    world.beat(group_id="small")
    for number in range(3):
        assert world.beat(group_id="names", member_id=f"{number}").error_code == 0
    assert world.node.groups.keys() == {"small", "names"}

    names = tuple(f"t-{number}" for number in range(100))
    assert world.beat(group_id="names", subscribed_topic_names=names).error_code == 0
    assert world.node.groups.keys() == {"small"}
    assert world.beat(group_id="names", member_id="0", member_epoch=4).error_code == 69

    # A member that waits for the end of a rebalance is asked to join again.
    assert world.join_classic(metadata=b"m" * 10_000) == 0
    again = world.join_classic(metadata=b"n" * 10_000)
    assert again == ErrorCode.REBALANCE_IN_PROGRESS.value
    assert world.node.groups.keys() == {"small"}


async def test_member_becomes_static(worlds: Any) -> None:
    world = await worlds()
    world.beat()

    again = world.beat(instance_id="i")

    assert (again.error_code, again.member_epoch) == (0, 2)
    assert world.described().members[0].instance_id == "i"
    assert world.beat(member_epoch=-2, instance_id="i").error_code == 0


async def test_invalid_pattern_is_rejected(worlds: Any) -> None:
    world = await worlds()

    assert world.beat(subscribed_topic_regex="(").error_code == 128
    assert world.node.groups == {}
    assert world.join_classic() == 0


async def test_members_with_unreadable_metadata_are_rejected(worlds: Any) -> None:
    world = await worlds()
    world.beat()

    assert world.join_classic() == ErrorCode.UNKNOWN_SERVER_ERROR.value
    leaving = LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id="a"),))
    left = answer(world.classic[13], leaving, world.node, 5)
    assert left.members[0].error_code == 25

    world.beat(member_epoch=-1)
    assert world.join_classic() == 0
    assert world.node.groups["g"].group_type == "classic"

    refused = world.beat()
    assert (refused.error_code, refused.error_message) == (69, "Group g is not a consumer group.")
