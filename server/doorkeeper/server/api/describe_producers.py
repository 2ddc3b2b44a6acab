"""DescribeProducers (61), version 0: describes the producers of partitions: none has written.

Needs READ on each topic (29). Names that no topic may have are 17, absent topics 3; all with their
texts. An absent partition is 3, and one that this node does not hold 6, without a text.

Source: ``handleDescribeProducersRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from doorkeeper.base.errors import DEFAULT_MESSAGES, ErrorCode
from doorkeeper.server.api.declaration import declare, no_text, refusal_of, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.resources.topics.names import reason_invalid
from doorkeeper.server.resources.topics.placement import Places, error_of_replica
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
    TopicResponse,
)

(_READ,) = needs(DescribeProducersRequest.API_KEY)


def handle(
    request: DescribeProducersRequest, context: RequestContext, node: Node
) -> DescribeProducersResponse:
    """Answer for each partition of the topics that the caller may read."""
    places = Places(node.registered_brokers(context.authorizable.listener_name))

    def describe(topic: TopicRequest) -> TopicResponse:
        known = node.topics.get(topic.name)
        reason = reason_invalid(topic.name)
        if reason is not None:
            return refusal_of(TopicResponse, topic, ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known is None else ErrorCode.NONE
        if not is_allowed(node, context, _READ, topic.name):
            error = _READ.refusal
        if error is not ErrorCode.NONE:
            return refusal_of(TopicResponse, topic, error, DEFAULT_MESSAGES[error])
        return TopicResponse(
            name=topic.name,
            partitions=tuple(
                PartitionResponse(
                    partition_index=index,
                    error_code=error_of_replica(known, index, places, node.node_id).value,
                    error_message=None,
                )
                for index in topic.partition_indexes
            ),
        )

    return DescribeProducersResponse(topics=tuple(map(describe, request.topics)))


API = declare(DescribeProducersRequest, handle, refuse_rows(DescribeProducersResponse, no_text))
