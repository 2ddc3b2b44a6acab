"""DescribeQuorum (55), versions 0-2: the log of metadata, with its leader, voters and observers.

Needs DESCRIBE on the cluster (31). The one log is ``__cluster_metadata``, partition 0: another
topic or partition, or more than one, is 3 for each.

The log of a cluster is its store, so that offsets are revisions of the state, beginning with that
of an empty one, 0: the end of the log is the next revision, never 0, as on a broker. The controller
leads and is the only voter; the other live nodes observe, with an offset of -1 where this node
does not know theirs. There are no elections: the epoch is 1.

    v1  when a replica last fetched: now for the leader, -1 for others
    v2  texts of errors; ids of folders (none); the voters' listeners for controllers

Source: ``KafkaRaftClient.handleDescribeQuorumRequest`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, only_stock_text, refusal_of, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    PartitionData,
    ReplicaState,
    TopicData,
)
from doorkeeper_wire.messages.describe_quorum import Node as Voter

(_DESCRIBE,) = needs(DescribeQuorumRequest.API_KEY)

_TOPIC: Final = "__cluster_metadata"

_EPOCH: Final = 1
"""The epoch of a quorum after its first election; there are no others here."""


def handle(
    request: DescribeQuorumRequest, context: RequestContext, node: Node
) -> DescribeQuorumResponse:
    """Return the log, or an error for each partition that is not its own."""
    if not is_allowed(node, context, _DESCRIBE):
        raise ApiError(_DESCRIBE.refusal)
    asked = [
        (topic.topic_name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    # Two topics, one of them without partitions, are two topics.
    if len(request.topics) != 1 or asked != [(_TOPIC, 0)]:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        unknown = (
            refusal_of(TopicData, row, code, DEFAULT_MESSAGES[code]) for row in request.topics
        )
        return DescribeQuorumResponse(topics=tuple(unknown))
    topic = TopicData(topic_name=_TOPIC, partitions=(_describe(node),))
    if context.authorizable.request_version < 2:
        return DescribeQuorumResponse(topics=(topic,))
    return DescribeQuorumResponse(topics=(topic,), nodes=(_voter(node),))


def _describe(node: Node) -> PartitionData:
    end, now_ms = node.state.revision + 1, node.now_ms()
    leader = ReplicaState(
        replica_id=node.controller_id,
        log_end_offset=end,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    live = {member.node_id for member in node.state.members if not member.is_fenced} | {
        node.node_id
    }
    observers = tuple(
        ReplicaState(replica_id=node_id, log_end_offset=end if node_id == node.node_id else -1)
        for node_id in sorted(live - {node.controller_id})
    )
    return PartitionData(
        leader_id=node.controller_id,
        leader_epoch=_EPOCH,
        high_watermark=end,
        current_voters=(leader,),
        observers=observers,
    )


def _voter(node: Node) -> Voter:
    """Return the controller with the listeners that it has for controllers."""
    listeners = tuple(
        Listener(name=name, host=broker.host, port=broker.port)
        for name in sorted(node.settings.controller_listener_names)
        for broker in node.brokers(name)
        if broker.node_id == node.controller_id
    )
    return Voter(node_id=node.controller_id, listeners=listeners)


API = declare(
    DescribeQuorumRequest,
    handle,
    refuse_as(DescribeQuorumResponse, only_stock_text),
    on_controller=True,
)
