"""Share groups over the wire: members, records, offsets, and who may what."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.server.api import list_groups, share_group_describe
from doorkeeper.server.api.node import DelayedResponse
from doorkeeper_broker import coordinator as coordinators
from doorkeeper_broker.classic_apis import ClassicApis
from doorkeeper_broker.coordinator import Coordinator
from doorkeeper_broker.records import Records
from doorkeeper_broker.share_apis import ShareApis
from doorkeeper_broker.share_fetch import ShareRecords
from doorkeeper_broker.share_group import ShareGroup
from doorkeeper_broker.share_offsets import ShareOffsets
from doorkeeper_wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from doorkeeper_wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from doorkeeper_wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from doorkeeper_wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from doorkeeper_wire.messages.list_groups import ListGroupsRequest
from doorkeeper_wire.messages.share_acknowledge import AcknowledgementBatch as AcknowledgedBatch
from doorkeeper_wire.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from doorkeeper_wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from doorkeeper_wire.messages.share_group_describe import ShareGroupDescribeRequest
from doorkeeper_wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from testkit.acl import DESCRIBE, READ, allow, group, topic
from testkit.batches import batch
from testkit.load import scaled
from testkit.nodes import ADMIN, a_topic, answer, node_of, outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acls.model import AclBinding
    from testkit.nodes import ANode

DELETE = AclOperation.DELETE
ACCEPT, RELEASE = 1, 2


class World:
    """A node with records and live groups; also the log that the groups are published in."""

    def __init__(self, node: ANode) -> None:
        self.node = node
        self.records = Records(1_000_000)
        self.coordinator = Coordinator(self, node.now_ms, lambda: node.settings)  # type: ignore[arg-type]
        offsets = ShareOffsets(self.coordinator, self.records, node)
        self.share_records = ShareRecords(self.coordinator, self.records, offsets, node)
        parts = (
            ShareApis(self.coordinator),
            self.share_records,
            offsets,
            ClassicApis(self.coordinator),
        )
        self.apis = {api.key: api for part in parts for api in part.apis()}

    @property
    def state(self) -> Any:
        return self.node.state

    def amend(self, live_groups: Any) -> None:
        self.node.state = replace(self.node.state, live_groups=live_groups)
        self.node.groups = live_groups

    def ask(self, request: Any, version: int, user: str = ADMIN) -> Any:
        return answer(self.apis[request.API_KEY], request, self.node, version, user=user)

    def beat(self, member: str = "a", epoch: int = 0, user: str = ADMIN, **fields: Any) -> Any:
        names = ("t",) if epoch == 0 else None
        values = {"group_id": "g", "subscribed_topic_names": names, **fields}
        request = ShareGroupHeartbeatRequest(member_id=member, member_epoch=epoch, **values)
        return self.ask(request, 1, user)

    def produce(self, *values: bytes, name: str = "t") -> None:
        found = self.node.topics.get(name)
        assert found is not None
        self.records.log_of(found, 0).append(batch(*values))

    def fetch_request(
        self, epoch: int, member: str = "a", acknowledged: tuple[Any, ...] = (), **fields: Any
    ) -> ShareFetchRequest:
        asked = FetchPartition(partition_index=0, acknowledgement_batches=acknowledged)
        found = self.node.topics.get("t")
        assert found is not None
        values: dict[str, Any] = {"group_id": "g", "max_records": 500, "batch_size": 500, **fields}
        return ShareFetchRequest(
            member_id=member,
            share_session_epoch=epoch,
            topics=(FetchTopic(topic_id=found.topic_id, partitions=(asked,)),),
            **values,
        )

    def fetch(self, epoch: int, user: str = ADMIN, version: int = 2, **fields: Any) -> Any:
        return self.ask(self.fetch_request(epoch, **fields), version, user)

    def acknowledge(self, epoch: int, *parts: tuple[int, int, int], user: str = ADMIN) -> Any:
        found = self.node.topics.get("t")
        assert found is not None
        batches = tuple(
            AcknowledgedBatch(first_offset=first, last_offset=last, acknowledge_types=(kind,))
            for first, last, kind in parts
        )
        asked = AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        request = ShareAcknowledgeRequest(
            group_id="g",
            member_id="a",
            share_session_epoch=epoch,
            topics=(AcknowledgeTopic(topic_id=found.topic_id, partitions=(asked,)),),
        )
        return self.ask(request, 2, user)

    def described(self, *names: str, user: str = ADMIN) -> list[tuple[str, int, int, int]]:
        """Return topic, offset, lag and error of each partition 0 of the group."""
        topics = tuple(
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=(0,))
            for name in names
        )
        asked = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=topics or None)
        (row,) = self.ask(DescribeShareGroupOffsetsRequest(groups=(asked,)), 1, user).groups
        if row.error_code:
            return [("", -1, -1, row.error_code)]
        return [
            (each.topic_name, part.start_offset, part.lag, part.error_code)
            for each in row.topics
            for part in each.partitions
            if part.partition_index == 0
        ]

    def alter(self, offset: int, name: str = "t", user: str = ADMIN) -> Any:
        partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
        asked = AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=(partition,))
        return self.ask(AlterShareGroupOffsetsRequest(group_id="g", topics=(asked,)), 0, user)

    def delete(self, *names: str, user: str = ADMIN) -> Any:
        asked = tuple(DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names)
        return self.ask(DeleteShareGroupOffsetsRequest(group_id="g", topics=asked), 0, user)


@pytest.fixture
def worlds() -> Iterator[Any]:
    """Make worlds, whose timers are stopped at the end."""
    made: list[World] = []

    async def make(*bindings: AclBinding, properties: str = "") -> World:
        topics = [a_topic("t", 2), a_topic("u")]
        made.append(World(await node_of(*bindings, topics=topics, properties=properties)))
        return made[-1]

    yield make
    for each in made:
        each.coordinator.close()


def rows(response: Any) -> list[tuple[int, int, list[tuple[int, int, int]]]]:
    """Return errors and acquired records of each partition."""
    assert isinstance(response, ShareFetchResponse)
    assert response.error_code == 0
    return [
        (
            row.error_code,
            row.acknowledge_error_code,
            [
                (each.first_offset, each.last_offset, each.delivery_count)
                for each in row.acquired_records
            ],
        )
        for found in response.responses
        for row in found.partitions
    ]


async def test_member_receives_and_acknowledges_records(worlds: Any) -> None:
    world = await worlds()
    world.produce(b"before")
    assert world.beat().assignment.topic_partitions[0].partitions == (0, 1)
    assert rows(world.fetch(0)) == []
    world.produce(b"1", b"2")

    assert rows(world.fetch(1)) == [(0, 0, [(1, 2, 1)])]
    assert (
        world.acknowledge(2, (1, 1, ACCEPT), (2, 2, RELEASE)).responses[0].partitions[0].error_code
        == 0
    )
    world.beat("b")
    assert rows(world.fetch(0, member="b")) == [(0, 0, [(2, 2, 2)])]
    done = AcknowledgementBatch(first_offset=2, last_offset=2, acknowledge_types=(ACCEPT,))
    assert rows(world.fetch(1, member="b", acknowledged=(done,))) == [(0, 0, [])]
    late = done.replace(first_offset=3, last_offset=3)
    assert rows(world.fetch(2, member="b", acknowledged=(late,)))[0][1] == 121
    assert world.described("t") == [("t", 3, 0, 0)]


async def test_share_fetch_waits_for_appends_and_releases(worlds: Any) -> None:
    world = await worlds()
    world.beat()
    world.beat("b")
    world.fetch(0)
    world.fetch(0, member="b")

    request = world.fetch_request(1, member="b", max_wait_ms=60_000)
    waits = outcome(world.apis[78], request, world.node, 2, user=ADMIN)
    assert isinstance(waits, DelayedResponse)
    task = asyncio.ensure_future(waits.response)
    await asyncio.sleep(0)
    world.produce(b"1")
    assert rows(await asyncio.wait_for(task, scaled(10))) == [(0, 0, [(0, 0, 1)])]

    request = world.fetch_request(1, max_wait_ms=60_000)
    waits = outcome(world.apis[78], request, world.node, 2, user=ADMIN)
    assert isinstance(waits, DelayedResponse)
    task = asyncio.ensure_future(waits.response)
    await asyncio.sleep(0)
    world.beat("b", -1)
    assert rows(await asyncio.wait_for(task, scaled(10))) == [(0, 0, [(0, 0, 2)])]


async def test_share_sessions(worlds: Any) -> None:
    """122 without one, 123 out of turn; the last request releases what the member has."""
    world = await worlds(properties="group.share.max.share.sessions=1")
    world.beat()
    assert world.fetch(1).error_code == 122
    world.fetch(0)
    assert world.fetch(2).error_code == 123
    assert world.acknowledge(0).error_code == 123
    world.produce(b"1")
    assert rows(world.fetch(1)) == [(0, 0, [(0, 0, 1)])]

    limited = outcome(world.apis[78], world.fetch_request(0, member="b"), world.node, 2, user=ADMIN)
    assert isinstance(limited, DelayedResponse)
    with pytest.raises(Exception, match="SHARE_SESSION_LIMIT_REACHED"):
        await limited.response
    assert rows(world.fetch(-1)) == []
    assert rows(world.fetch(0, member="b")) == [(0, 0, [(0, 0, 2)])]


async def test_session_ends_with_its_connection(worlds: Any) -> None:
    world = await worlds()
    world.beat("a")
    world.beat("b")
    world.fetch(0)
    world.produce(b"one")
    assert rows(world.fetch(1)) == [(0, 0, [(0, 0, 1)])]

    world.share_records.disconnected(7)
    assert world.fetch(2).error_code == 0
    world.share_records.disconnected(0)

    assert world.fetch(3).error_code == 122
    assert rows(world.fetch(0, member="b")) == [(0, 0, [(0, 0, 2)])]


async def test_share_fetch_permissions(worlds: Any) -> None:
    world = await worlds(
        allow("alice", READ, group("g")),
        allow("alice", DESCRIBE, topic("t")),
        allow("carol", READ, group("g")),
        allow("carol", READ, topic("t")),
    )
    assert world.beat(user="bob").error_code == 30
    assert world.beat(user="alice", subscribed_topic_names=("t", "u")).error_code == 29
    assert world.beat(user="alice").error_code == 0
    assert world.fetch(0, user="bob").error_code == 30
    assert world.acknowledge(1, user="bob").error_code == 30
    assert rows(world.fetch(0, user="alice")) == [(29, 0, [])]
    assert (
        world.acknowledge(1, (0, 0, ACCEPT), user="alice").responses[0].partitions[0].error_code
        == 29
    )
    assert rows(world.fetch(0, user="carol")) == []
    assert world.fetch(0, user="bob", member="x" * 37).error_code == 30
    assert world.fetch(0, member="x" * 37).error_code == 42
    blank = world.beat(" ")
    assert (blank.error_code, blank.error_message) == (42, "MemberId can't be empty.")


async def test_share_offset_permissions(worlds: Any) -> None:
    world = await worlds(
        allow("alice", DESCRIBE, group("g")),
        allow("alice", DESCRIBE, topic("t")),
        allow("carol", READ, group("g")),
        allow("carol", READ, topic("t")),
        allow("dave", DELETE, group("g")),
        allow("dave", READ, topic("t")),
    )
    world.produce(b"1", b"2", b"3")
    assert world.alter(1, user="alice").error_code == 30
    assert world.alter(1, user="carol").responses[0].partitions[0].error_code == 0
    assert world.alter(1, "u", user="carol").responses[0].partitions[0].error_code == 29
    assert world.alter(1, "absent").responses[0].partitions[0].error_code == 3

    assert world.described("t", "u", user="alice") == [("t", 1, 2, 0), ("u", -1, -1, 29)]
    assert world.described(user="alice") == [("t", 1, 2, 0)]
    assert world.described("t", user="bob") == [("", -1, -1, 30)]

    world.beat()
    assert rows(world.fetch(0)) == [(0, 0, [(1, 2, 1)])]
    assert world.alter(0).error_code == 68
    assert world.delete("t").error_code == 68
    world.beat("a", -1)
    assert world.delete("t", user="carol").error_code == 30
    found = [row.error_code for row in world.delete("t", "u", user="dave").responses]
    assert found == [29, 0]
    assert world.described() == []
    assert world.delete("t").responses[0].error_code == 3


async def test_lag_is_a_number_of_the_protocol(worlds: Any) -> None:
    """A description that cannot be encoded would hide the group from then on."""
    world = await worlds()
    world.produce(b"one")

    world.alter(-(2**63))

    assert world.described("t") == [("t", -(2**63), 2**63 - 1, 0)]


async def test_share_groups_are_listed_and_described(worlds: Any) -> None:
    world = await worlds(allow("alice", DESCRIBE, group("g")), allow("alice", READ, topic("u")))
    world.beat()

    def described(user: str = ADMIN) -> Any:
        request = ShareGroupDescribeRequest(group_ids=("g",), include_authorized_operations=True)
        (row,) = answer(share_group_describe.API, request, world.node, 1, user=user).groups
        return row

    (listed,) = answer(
        list_groups.API, ListGroupsRequest(types_filter=("Share",)), world.node, 5
    ).groups
    assert (listed.group_type, listed.group_state, listed.protocol_type) == (
        "share",
        "Stable",
        "share",
    )
    row = described()
    assert (row.group_state, row.assignor_name, row.members[0].subscribed_topic_names) == (
        "Stable",
        "simple",
        ("t",),
    )
    assert row.members[0].assignment.topic_partitions[0].partitions == (0, 1)
    assert described("alice").error_code == 29
    world.beat("a", -1)
    assert described("alice").group_state == "Empty"


async def test_share_group_type_is_permanent(worlds: Any) -> None:
    world = await worlds()

    def join(group_id: str) -> int:
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
        )
        code: int = answer(world.apis[11], request, world.node, 4).error_code
        return code

    world.beat()
    world.beat("a", -1)
    assert join("g") == 23
    assert world.beat("a", 5).error_code == 25
    assert join("c") == 79
    world.amend({**world.node.groups, "c": world.node.groups["g"]})
    assert world.beat(group_id="c").error_code == 69


async def test_inactive_members_are_removed(worlds: Any) -> None:
    world = await worlds(properties="group.share.session.timeout.ms=1000")
    world.beat()
    world.fetch(0)
    world.produce(b"1")
    world.fetch(1)
    world.beat("b")
    world.node.time_ms += 1_000
    group_ = world.coordinator.find("g", ShareGroup)
    group_.advance(world.node.time_ms)

    assert not group_.has_members
    assert rows(world.fetch(0, member="b")) == [(0, 0, [(0, 0, 2)])]


async def test_share_groups_are_limited(worlds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world = await worlds(properties="group.share.max.size=1")
    monkeypatch.setattr(coordinators, "GROUPS_MAX", 1)

    assert world.beat().error_code == 0
    assert world.beat("b").error_code == 81
    assert world.beat(group_id="other").error_code == 81
