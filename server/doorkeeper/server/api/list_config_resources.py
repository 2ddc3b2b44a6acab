"""ListConfigResources (74), versions 0-1: the resources that have a configuration.

Needs DESCRIBE_CONFIGS on the cluster (31), and nothing for each resource.

    v0  subscriptions to client metrics
    v1  the types wanted; none stands for all: groups and client metrics with a configuration of
        their own, nodes as loggers, nodes, topics. An unknown type is 35

Source: ``KafkaApis.handleListConfigResources`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.settings.operations import STORED_TYPES
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

(_DESCRIBE_CONFIGS,) = needs(ListConfigResourcesRequest.API_KEY)

_TYPES: Final = tuple(reversed(ConfigResourceType))
"""The types in the order in which a broker lists them."""


def handle(
    request: ListConfigResourcesRequest, context: RequestContext, node: Node
) -> ListConfigResourcesResponse:
    """Return the resources of the types that are wanted."""
    if not is_allowed(node, context, _DESCRIBE_CONFIGS):
        return ListConfigResourcesResponse(error_code=_DESCRIBE_CONFIGS.refusal.value)
    # Version 0 was ListClientMetricsResources.
    known = (
        (ConfigResourceType.CLIENT_METRICS,)
        if context.authorizable.request_version == 0
        else _TYPES
    )
    types = set(request.resource_types or known)
    if not types <= set(known):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION.value)
    resources = tuple(
        ConfigResource(resource_name=name, resource_type=kind)
        for kind in known
        if kind in types
        for name in _names(kind, context, node)
    )
    return ListConfigResourcesResponse(config_resources=resources)


def _names(kind: int, context: RequestContext, node: Node) -> Iterator[str]:
    if kind in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        brokers = node.brokers(context.authorizable.listener_name)
        yield from (str(broker.node_id) for broker in brokers)
    elif kind == ConfigResourceType.TOPIC:
        yield from node.topics.names()
    else:
        yield from node.state.resource_configs.names(STORED_TYPES[kind])


API = declare(ListConfigResourcesRequest, handle, refuse_as(ListConfigResourcesResponse))
