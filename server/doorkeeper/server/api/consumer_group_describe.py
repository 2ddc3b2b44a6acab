"""ConsumerGroupDescribe (69), versions 0-1: the consumer groups of the newer protocol (KIP-848).

Needs DESCRIBE on each group (30), and on each topic that its members have or shall have: one that
is refused refuses the group with 29. The groups without it come first; then those with an empty id,
which are 24. A group that does not exist, or is of another type, is 69 with a text: clients then
ask DescribeGroups. One node of a cluster shows groups; the others answer 16 for each.

Without the test broker there are no groups of type ``consumer``. An assignment names only topics
that exist.

    v1  the protocol of each member: the newer one, or the classic one while a group changes

Source: ``KafkaApis.handleConsumerGroupDescribe`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.server.api.node import Node
from doorkeeper.server.api.typed_groups import assignment_of, declare_groups, subscription_of
from doorkeeper.server.resources.cluster import GroupMember
from doorkeeper_wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_CLASSIC_PROTOCOL: Final = 0
_NEWER_PROTOCOL: Final = 1


def _member(member: GroupMember, node: Node) -> Member:
    assignment = assignment_of(member.assignment, node, Assignment, TopicPartitions)
    target = member.newer.target
    return Member(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        rack_id=member.newer.rack_id,
        member_epoch=member.newer.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=subscription_of(member.metadata),
        subscribed_topic_regex=member.newer.pattern,
        assignment=assignment,
        target_assignment=assignment
        if target is None
        else assignment_of(target, node, Assignment, TopicPartitions),
        member_type=_CLASSIC_PROTOCOL if member.newer.is_classic else _NEWER_PROTOCOL,
    )


API = declare_groups(
    "consumer",
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    _member,
)
