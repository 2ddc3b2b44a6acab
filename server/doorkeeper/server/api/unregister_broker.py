"""UnregisterBroker (64), version 0: removes a node from the cluster (KIP-500).

Needs ALTER on the cluster (31). An id that is not registered is 102. A stopped node is no longer
listed, not even as fenced. A running node registers again with its next heartbeat; a Kafka broker
does so only after a restart.

Source: ``ClusterControlManager.unregisterBroker`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node, Update, UpdateOperation
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

(_ALTER,) = needs(UnregisterBrokerRequest.API_KEY)


def handle(request: UnregisterBrokerRequest, context: RequestContext, node: Node) -> Update:
    require_on_cluster(node, context, _ALTER)
    return Update(
        UpdateOperation.NODES,
        lambda services: services.unregister_broker(request.broker_id),
        lambda _: UnregisterBrokerResponse(error_message=None),
    )


API = declare(
    UnregisterBrokerRequest, handle, refuse_as(UnregisterBrokerResponse), on_controller=True
)
