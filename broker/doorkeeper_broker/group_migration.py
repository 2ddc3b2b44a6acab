"""Groups that change between the classic and the newer protocol while they have members (KIP-848).

    upgrade     the first member of the newer protocol joins a classic group
    downgrade   the last member of the newer protocol has gone: the others rebalance by themselves

``group.consumer.migration.policy`` allows both, one of them, or neither.

Source: ``ConsumerGroup.fromClassicGroup``, ``ClassicGroup.fromConsumerGroup`` and
``ConsumerGroupMigrationPolicy`` of Kafka 4.3.1.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.server.resources.topics.table import Topics
from doorkeeper_broker.classic_group import ClassicGroup, MemberState
from doorkeeper_broker.classic_members import CONSUMER, common_protocols, partitions_of
from doorkeeper_broker.consumer_group import ConsumerGroup
from doorkeeper_broker.consumer_member import Consumer
from doorkeeper_wire.consumer_protocol import decode_assignment, decode_subscription
from doorkeeper_wire.errors import Malformed

UPGRADES: Final = ("bidirectional", "upgrade")
DOWNGRADES: Final = ("bidirectional", "downgrade")
"""The policies that allow each change."""


def upgraded(
    group: ClassicGroup, topics: Topics, size_max: int, now_ms: int
) -> ConsumerGroup | None:
    """Return a classic group as one of the newer protocol; None if it cannot be one.

    Its members keep their partitions and are asked to join again by their next heartbeats.
    """
    if group.protocol_type != CONSUMER or len(group.members) > size_max:
        return None
    found = ConsumerGroup(group.group_id)
    found.epoch = found.assignment_epoch = group.generation
    try:
        for state in group.members:
            found.add(_member(state, group.generation, topics, now_ms))
    except Malformed:
        return None
    group.dissolve()
    return found


def _member(state: MemberState, epoch: int, topics: Topics, now_ms: int) -> Consumer:
    join = state.join
    subscription = decode_subscription(state.metadata)
    rows = decode_assignment(state.assignment).assigned_partitions if state.assignment else ()
    member = Consumer(state.member_id, join.instance_id)
    member.epoch = member.previous_epoch = epoch
    member.rack_id = subscription.rack_id
    member.rebalance_timeout_ms = join.rebalance_timeout_ms
    member.client_id, member.client_host = join.client_id, join.client_host
    member.topics = frozenset(subscription.topics)
    member.assigned = partitions_of({row.topic: row.partitions for row in rows}, topics)
    member.target = member.assigned
    member.classic = join
    member.session_ends_ms = now_ms + join.session_timeout_ms
    return member


def downgraded(group: ConsumerGroup, size_max: int, now_ms: int) -> ClassicGroup | None:
    """Return a group whose members are all of the classic protocol as such; None for others."""
    joins = [(member, member.classic) for member in group.members]
    names = {name for _, join in joins if join is not None for name, _ in join.protocols}
    if not 0 < len(joins) <= size_max or not common_protocols(group, names):
        return None
    states = [
        MemberState(member.member_id, join, b"", group.assignment_bytes(member.target))
        for member, join in joins
        if join is not None
    ]
    if len(states) < len(joins):
        return None
    found = ClassicGroup(group.group_id)
    found.take(group.epoch, states, now_ms)
    return found
