"""ListPartitionReassignments (46), version 0: lists the reassignments in progress: none.

Needs DESCRIBE on the cluster (31). A reassignment moves no records here, so that it has ended when
it is answered.

Source: ``ControllerApis.handleListPartitionReassignments`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

(_DESCRIBE,) = needs(ListPartitionReassignmentsRequest.API_KEY)


def handle(
    request: ListPartitionReassignmentsRequest, context: RequestContext, node: Node
) -> ListPartitionReassignmentsResponse:
    """Return an empty list to a caller that may describe the cluster."""
    require_on_cluster(node, context, _DESCRIBE)
    return ListPartitionReassignmentsResponse(error_message=None)


API = declare(
    ListPartitionReassignmentsRequest,
    handle,
    refuse_rows(ListPartitionReassignmentsResponse),
    on_controller=True,
)
