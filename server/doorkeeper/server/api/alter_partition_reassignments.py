"""AlterPartitionReassignments (45), versions 0-1: moves partitions to other brokers.

Needs ALTER on the cluster (31). Partitions hold no records, so that they have moved when the
answer leaves, and no reassignment is left to be cancelled (85). Each partition is answered alone:
3 where it is not there, 39 for brokers that cannot hold it. A time-out of 0 or less is 7 for the
whole request.

    v1  whether the number of replicas may change: 38 where it does and may not

Source: ``ReplicationControlManager.alterPartitionReassignments`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, ErrorCode, row_of
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.resources.topics.partitions import plan_reassignments
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

(_ALTER,) = needs(AlterPartitionReassignmentsRequest.API_KEY)


def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext, node: Node
) -> Outcome:
    """Move each partition that the request names."""
    require_on_cluster(node, context, _ALTER)
    if not request.topics:
        return AlterPartitionReassignmentsResponse()
    if request.timeout_ms <= 0:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)
    respond = partial(_respond, request)
    brokers = node.registered_brokers(context.authorizable.listener_name)
    return Update.of_plan(
        UpdateOperation.TOPICS,
        lambda state: plan_reassignments(
            state.topics,
            request.topics,
            brokers,
            may_resize=request.allow_replication_factor_change,
        ),
        context,
        respond,
    )


def _respond(
    request: AlterPartitionReassignmentsRequest, errors: Sequence[ApiError | None]
) -> AlterPartitionReassignmentsResponse:
    left = iter(errors)
    return AlterPartitionReassignmentsResponse(
        error_message=None,
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=tuple(
            ReassignableTopicResponse(
                name=topic.name,
                partitions=tuple(
                    row_of(
                        ReassignablePartitionResponse,
                        next(left),
                        partition_index=partition.partition_index,
                    )
                    for partition in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )


API = declare(
    AlterPartitionReassignmentsRequest,
    handle,
    refuse_rows(AlterPartitionReassignmentsResponse),
    on_controller=True,
)
