"""ListPartitionReassignments (46), version 0: lists the reassignments in progress: none.

Needs DESCRIBE on the cluster (31). A reassignment moves no records here, so that it has ended when
it is answered.

Source: ``ControllerApis.handleListPartitionReassignments`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.base.errors import answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

(_DESCRIBE,) = needs(ListPartitionReassignmentsRequest.API_KEY)


def handle(
    request: ListPartitionReassignmentsRequest, context: RequestContext, node: Node
) -> ListPartitionReassignmentsResponse:
    """Return an empty list to a caller that may describe the cluster."""
    require_on_cluster(node, context, _DESCRIBE)
    return ListPartitionReassignmentsResponse(error_message=None)


def refuse(
    request: ListPartitionReassignmentsRequest, version: int, error: BaseException
) -> ListPartitionReassignmentsResponse:
    """Answer an error for the whole request, with the partitions that it names."""
    code, text = answer_of(error)
    return ListPartitionReassignmentsResponse(
        error_code=code.value,
        error_message=text,
        topics=tuple(
            OngoingTopicReassignment(
                name=topic.name,
                partitions=tuple(
                    OngoingPartitionReassignment(partition_index=index)
                    for index in topic.partition_indexes
                ),
            )
            for topic in request.topics or ()
        ),
    )


API = declare(ListPartitionReassignmentsRequest, handle, refuse, on_controller=True)
