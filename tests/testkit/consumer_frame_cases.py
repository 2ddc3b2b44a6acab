"""Heartbeats of consumers of the newer protocol (KIP-848) at random, under random ACLs.

From version 1 on members choose their own ids, so that whole lives of members can be compared:
they join, heartbeat with a right or a wrong epoch, change what they subscribe to, and leave.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from doorkeeper_wire.messages import (
    consumer_group_describe,
    consumer_group_heartbeat,
    heartbeat,
    offset_commit,
)
from testkit.data_frame_cases import NAMES, READ, TOPICS, USERS
from testkit.frame_steps import (
    ALL,
    ALLOW,
    DENY,
    DESCRIBE,
    GROUP,
    TOPIC,
    Scenario,
    Step,
    creation,
    step,
)
from testkit.frame_steps import create as create_acls
from testkit.side_by_side import id_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from doorkeeper_wire.messages.create_acls import AclCreation

STEPS = 40
"""The requests of a scenario."""

MEMBERS = ("m-one", "m-two", "m-three")
_JOIN, _LEAVE, _LEAVE_FOR_A_TIME = 0, -1, -2


class _Group:
    """The ids of the groups of one scenario: a group outlives the scenario that made it."""

    def __init__(self, number: int, chance: Random) -> None:
        self.ids = (f"c-{number}-one", f"c-{number}-two")
        self.chance = chance

    def grant(self) -> AclCreation:
        kind = self.chance.choice((TOPIC, GROUP))
        operation = self.chance.choice((ALL, READ, READ, DESCRIBE))
        return creation(
            resource_type=kind,
            resource_name=self.chance.choice(("*", *(NAMES if kind == TOPIC else self.ids))),
            principal=self.chance.choice(("User:alice", "User:alice", "User:bob", "User:*")),
            operation=operation,
            permission_type=DENY if self.chance.random() < 0.15 else ALLOW,
        )

    def step(self) -> Step:
        make: Callable[[], Step] = self.chance.choices(
            (self._heartbeat, self._describe, self._commit, self._classic), (10, 4, 2, 1)
        )[0]
        return make()._replace(user=self.chance.choice(USERS))

    def _heartbeat(self) -> Step:
        chance = self.chance
        epoch = chance.choice((_JOIN, _JOIN, 1, 2, 3, 9, _LEAVE, _LEAVE_FOR_A_TIME, -3))
        joins = epoch == _JOIN and chance.random() < 0.9
        names = tuple(chance.sample(NAMES, chance.randint(1, 2)))
        request = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id=chance.choice((*self.ids, *self.ids, "")),
            member_id=chance.choice((*MEMBERS, *MEMBERS, "")),
            member_epoch=epoch,
            instance_id=chance.choice((None, None, None, "i-one", "")),
            rack_id=chance.choice((None, None, None, "")),
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=names if joins or chance.random() < 0.2 else None,
            server_assignor=chance.choice((None, None, None, "range", "uniform", "other")),
            topic_partitions=() if joins else chance.choice((None, None, self._owned())),
        )
        kind = consumer_group_heartbeat.ConsumerGroupHeartbeatResponse
        return Step(None, request, kind, 1)

    def _owned(self) -> tuple[consumer_group_heartbeat.TopicPartitions, ...]:
        name = self.chance.choice(TOPICS)
        kind = consumer_group_heartbeat.TopicPartitions
        return (kind(topic_id=id_of(name), partitions=(0,)),)

    def _describe(self) -> Step:
        request = consumer_group_describe.ConsumerGroupDescribeRequest(
            group_ids=tuple(self.chance.sample((*self.ids, "absent"), self.chance.randint(1, 3))),
            include_authorized_operations=self.chance.random() < 0.5,
        )
        kind = consumer_group_describe.ConsumerGroupDescribeResponse
        return Step(None, request, kind, self.chance.randint(0, 1))

    def _commit(self) -> Step:
        kind = offset_commit
        name = self.chance.choice(NAMES)
        partition = kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        topic = kind.OffsetCommitRequestTopic(
            name=name, topic_id=id_of(name), partitions=(partition,)
        )
        return step(
            kind,
            self.chance.randint(6, 9),
            group_id=self.chance.choice(self.ids),
            member_id=self.chance.choice((*MEMBERS, "")),
            generation_id_or_member_epoch=self.chance.choice((-1, 1, 2, 9)),
            topics=(topic,),
        )

    def _classic(self) -> Step:
        return step(
            heartbeat,
            4,
            group_id=self.chance.choice(self.ids),
            generation_id=1,
            member_id=self.chance.choice(MEMBERS),
        )


def consumer_scenarios(count: int, seed: int = 848) -> Iterator[Scenario]:
    """Yield scenarios of random ACLs and requests."""
    for number in range(count):
        chance = Random(f"{seed}/{number}")
        group = _Group(number, chance)
        grants = create_acls(*(group.grant() for _ in range(chance.randint(2, 9))))
        steps = tuple(group.step() for _ in range(STEPS))
        yield Scenario(f"consumer groups {number}", (grants, *steps), TOPICS, groups=True)
