"""Groups that change between the protocols while they have members (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import consumer_group_describe
from doorkeeper.server.resources.groups import Committer, check_committer
from doorkeeper_broker.classic_apis import ClassicApis
from doorkeeper_broker.consumer_apis import ConsumerApis
from doorkeeper_broker.consumer_protocol import assignment_bytes, subscription_bytes
from doorkeeper_broker.coordinator import Coordinator
from doorkeeper_wire.consumer_protocol import decode_assignment
from doorkeeper_wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from doorkeeper_wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from doorkeeper_wire.messages.heartbeat import HeartbeatRequest
from doorkeeper_wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from doorkeeper_wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from doorkeeper_wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from testkit.nodes import a_topic, answer, node_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.server.resources.cluster import Group
    from testkit.nodes import ANode

OK, REBALANCE, UNKNOWN, GENERATION = (
    each.value
    for each in (
        ErrorCode.NONE,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
    )
)
TOPIC = a_topic("t", 4)
RANGE = JoinGroupRequestProtocol(name="range", metadata=subscription_bytes(["t"]))


class World:
    """A node with live groups; also the log that they are published in."""

    def __init__(self, node: ANode) -> None:
        self.node = node
        self.coordinator = Coordinator(self, node.now_ms, lambda: node.settings)  # type: ignore[arg-type]
        (self.newer,) = ConsumerApis(self.coordinator).apis()
        self.classic = {each.key: each for each in ClassicApis(self.coordinator).apis()}

    @property
    def state(self) -> Any:
        return self.node.state

    @property
    def group(self) -> Group:
        return self.node.groups["g"]

    def amend(self, live_groups: dict[str, Group]) -> None:
        self.node.state = replace(self.node.state, live_groups=live_groups)
        self.node.groups = live_groups

    def join(self, member_id: str = "", protocol_type: str = "consumer") -> JoinGroupResponse:
        """Join by the classic protocol, with a version whose members get their ids at once."""
        request = JoinGroupRequest(
            group_id="g",
            member_id=member_id,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            protocol_type=protocol_type,
            protocols=(RANGE,),
        )
        found: JoinGroupResponse = answer(self.classic[11], request, self.node, 3)
        return found

    def sync(
        self, member_id: str, generation: int, assigned: bytes | None = None
    ) -> SyncGroupResponse:
        rows: tuple[SyncGroupRequestAssignment, ...] = ()
        if assigned is not None:
            rows = (SyncGroupRequestAssignment(member_id=member_id, assignment=assigned),)
        request = SyncGroupRequest(
            group_id="g", member_id=member_id, generation_id=generation, assignments=rows
        )
        found: SyncGroupResponse = answer(self.classic[14], request, self.node, 3)
        return found

    def partitions(self, member_id: str, generation: int) -> list[int]:
        """Return the partitions that a member of the classic protocol is told."""
        told = self.sync(member_id, generation)
        assert (told.error_code, told.protocol_name) == (OK, None)
        rows = decode_assignment(told.assignment).assigned_partitions
        return [number for row in rows for number in row.partitions]

    def heartbeat(self, member_id: str, generation: int) -> int:
        request = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
        code: int = answer(self.classic[12], request, self.node, 3).error_code
        return code

    def leave(self, member_id: str) -> int:
        request = LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id=member_id),))
        code: int = answer(self.classic[13], request, self.node, 5).members[0].error_code
        return code

    def beat(
        self, member_id: str, epoch: int = 0, owned: tuple[int, ...] | None = ()
    ) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat of the newer protocol."""
        rows = None
        if owned is not None:
            rows = (TopicPartitions(topic_id=TOPIC.topic_id, partitions=owned),) if owned else ()
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=20_000,
            subscribed_topic_names=("t",),
            topic_partitions=rows,
        )
        found: ConsumerGroupHeartbeatResponse = answer(self.newer, request, self.node, 1)
        return found

    def described_types(self) -> dict[str, int]:
        """Return the types of members, as ConsumerGroupDescribe shows them."""
        request = ConsumerGroupDescribeRequest(group_ids=("g",))
        (row,) = answer(consumer_group_describe.API, request, self.node, 1).groups
        return {each.member_id: each.member_type for each in row.members}


@pytest.fixture
async def worlds() -> AsyncIterator[Any]:
    """Make worlds, whose timers are stopped at the end."""
    made: list[World] = []

    async def make(properties: str = "") -> World:
        made.append(World(await node_of(properties=properties, topics=[TOPIC])))
        return made[-1]

    yield make
    for each in made:
        each.coordinator.close()


def stable(world: World) -> tuple[str, int]:
    """Let a member of the classic protocol have all partitions; return its id and generation."""
    joined = world.join()
    world.sync(joined.member_id, joined.generation_id, assignment_bytes({"t": (0, 1, 2, 3)}))
    assert (world.group.state, world.group.group_type) == ("Stable", "classic")
    return joined.member_id, joined.generation_id


async def test_consumer_protocol_member_upgrades_the_group(worlds: Any) -> None:
    world = await worlds()
    old, generation = stable(world)

    first = world.beat("new")

    assert (first.error_code, world.group.group_type) == (OK, "consumer")
    assert world.described_types() == {old: 0, "new": 1}
    assert first.assignment.topic_partitions == ()
    assert world.heartbeat(old, generation) == REBALANCE

    joined = world.join(old)
    assert (joined.error_code, joined.leader, joined.members) == (OK, "", ())
    assert world.partitions(old, joined.generation_id) == [0, 1]
    assert world.heartbeat(old, joined.generation_id) == OK
    second = world.beat("new", first.member_epoch)
    (row,) = second.assignment.topic_partitions
    assert (row.topic_id, row.partitions) == (TOPIC.topic_id, (2, 3))
    assert world.group.state == "Stable"


async def test_group_downgrades_when_last_consumer_member_leaves(worlds: Any) -> None:
    world = await worlds()
    old, _ = stable(world)
    first = world.beat("new")
    generation = world.join(old).generation_id
    world.partitions(old, generation)

    left = world.beat("new", -1)

    assert (left.error_code, left.member_epoch) == (OK, -1)
    assert (world.group.group_type, world.group.state) == ("classic", "PreparingRebalance")
    assert world.heartbeat(old, generation) in (REBALANCE, GENERATION)
    again = world.join(old)
    assert (again.error_code, again.leader) == (OK, old)
    assert again.generation_id > first.member_epoch


async def test_classic_member_joins_a_consumer_group(worlds: Any) -> None:
    world = await worlds("group.consumer.migration.policy=disabled")
    epoch = world.beat("new").member_epoch

    joined = world.join()

    assert (joined.error_code, joined.protocol_name) == (OK, "range")
    assert world.partitions(joined.member_id, joined.generation_id) == []
    assert world.beat("new", epoch, owned=(0, 1, 2, 3)).error_code == OK
    assert world.beat("new", epoch, owned=(0, 1)).error_code == OK
    assert world.heartbeat(joined.member_id, joined.generation_id) == REBALANCE
    joined = world.join(joined.member_id)
    assert world.partitions(joined.member_id, joined.generation_id) == [2, 3]
    assert world.heartbeat("new", epoch) == UNKNOWN
    assert world.leave("new") == UNKNOWN
    assert world.leave(joined.member_id) == OK
    assert world.described_types() == {"new": 1}


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
async def test_migration_policy_forbids_upgrade(worlds: Any, policy: str) -> None:
    """The newer member is refused with 69, and nothing has changed for the others."""
    world = await worlds(f"group.consumer.migration.policy={policy}")
    old, generation = stable(world)

    refused = world.beat("new")

    assert (refused.error_code, refused.error_message) == (69, "Group g is not a consumer group.")
    assert world.heartbeat(old, generation) == OK
    assert world.group.group_type == "classic"


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
async def test_migration_policy_forbids_downgrade(worlds: Any, policy: str) -> None:
    world = await worlds(f"group.consumer.migration.policy={policy}")
    world.beat("new")
    old = world.join().member_id

    world.beat("new", -1)

    assert world.group.group_type == "consumer"
    assert world.described_types() == {old: 0}


async def test_other_protocol_types_are_not_migrated(worlds: Any) -> None:
    world = await worlds()
    world.join(protocol_type="connect")

    assert world.beat("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND.value


async def test_member_that_does_not_rejoin_is_removed(worlds: Any) -> None:
    world = await worlds()
    old, generation = stable(world)
    world.beat("new")
    assert world.heartbeat(old, generation) == REBALANCE
    group = world.coordinator._groups["g"]

    group.advance(world.node.now_ms() + 20_001)

    assert world.heartbeat(old, generation) == UNKNOWN


async def test_member_epoch_is_checked_on_commit(worlds: Any) -> None:
    """Another one is 22, as for any member of the classic protocol, in older versions too."""
    world = await worlds()
    world.beat("new")
    joined = world.join()

    def commit(generation: int) -> None:
        check_committer(world.group, Committer(joined.member_id, None, generation, 8))

    commit(joined.generation_id)
    with pytest.raises(ApiError) as refused:
        commit(joined.generation_id + 1)

    assert refused.value.code is ErrorCode.ILLEGAL_GENERATION
