"""ShareGroupDescribe (77), version 1: describes share groups (KIP-932).

Needs DESCRIBE on each group (30), and on each topic that its members have: one that is refused
refuses the group with 29. The groups without it come first; then those with an empty id, which are
24. A group that does not exist, or is of another type, is 69 with a text. One node of a cluster
shows groups; the others answer 16 for each. Without the test broker there are no share groups.

Source: ``KafkaApis.handleShareGroupDescribe`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.server.api.node import Node
from doorkeeper.server.api.typed_groups import assignment_of, declare_groups, subscription_of
from doorkeeper.server.resources.cluster import GroupMember
from doorkeeper_wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)


def _member(member: GroupMember, node: Node) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.newer.rack_id,
        member_epoch=member.newer.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=subscription_of(member.metadata),
        assignment=assignment_of(member.assignment, node, Assignment, TopicPartitions),
    )


API = declare_groups(
    "share", ShareGroupDescribeRequest, ShareGroupDescribeResponse, DescribedGroup, _member
)
