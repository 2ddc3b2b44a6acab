"""DescribeCluster (60), versions 0-2: the cluster's id, controller and nodes (KIP-700).

A listener for brokers needs no permission; one for controllers needs ALTER on the cluster.

    v0  the brokers
    v1  the endpoint type (KIP-919): 1 for brokers, 2 for controllers. A listener answers its own
        kind only: another kind is 114, an unknown type 115 (both 42 in version 0)
    v2  fenced brokers are listed too if the client asks: nodes of the cluster that do not live

The mask of the cluster is 0 for a caller that requests it without DESCRIBE on the cluster. The
controller is -1 where it is none of the nodes listed.

Source: the broker's ``AuthHelper.computeDescribeClusterResponse`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import (
    OPERATIONS_NOT_COMPUTED,
    cluster_operations,
    needs,
    require_on_cluster,
)
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_ALTER, _DESCRIBE = needs(DescribeClusterRequest.API_KEY)

_ENDPOINT_TYPES = {1: "BROKER", 2: "CONTROLLER"}


def handle(
    request: DescribeClusterRequest, context: RequestContext, node: Node
) -> DescribeClusterResponse:
    # On a broker any client may ask; a controller requires ALTER (ControllerApis).
    if context.controller_listener:
        require_on_cluster(node, context, _ALTER)
    own_type = 2 if context.controller_listener else 1
    _check_endpoint_type(request, context.authorizable.request_version, own_type)
    mask = OPERATIONS_NOT_COMPUTED
    if request.include_cluster_authorized_operations:
        mask = cluster_operations(node, context, _DESCRIBE)
    registered = node.registered_brokers(context.authorizable.listener_name)
    brokers = [
        broker for broker in registered if request.include_fenced_brokers or not broker.is_fenced
    ]
    is_listed = any(broker.node_id == node.controller_id for broker in brokers)
    return DescribeClusterResponse(
        endpoint_type=own_type,
        cluster_id=node.cluster_id,
        # A client looks the controller up among the brokers of this response.
        controller_id=node.controller_id if is_listed else -1,
        brokers=tuple(
            DescribeClusterBroker(
                broker_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                is_fenced=broker.is_fenced,
            )
            for broker in brokers
        ),
        cluster_authorized_operations=mask,
    )


def _check_endpoint_type(request: DescribeClusterRequest, version: int, own_type: int) -> None:
    endpoint_type = request.endpoint_type
    if endpoint_type == own_type:
        return
    # The texts are a broker's, "we wanted" included.
    if endpoint_type not in _ENDPOINT_TYPES:
        code, text = (
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"Unsupported endpoint type {endpoint_type}",
        )
    else:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        text = (
            f"The request was sent to an endpoint of type {_ENDPOINT_TYPES[own_type]}, but we"
            f" wanted an endpoint of type {_ENDPOINT_TYPES[endpoint_type]}"
        )
    raise ApiError(ErrorCode.INVALID_REQUEST if version == 0 else code, text)


API = declare(
    DescribeClusterRequest, handle, refuse_as(DescribeClusterResponse), on_controller=True
)
