"""AlterConfigs (33), versions 0-2: replaces all keys of a resource.

The predecessor of IncrementalAlterConfigs, which is preferred: here every key that the request
does not name is reset. kafka-configs.sh up to 3.9 uses it for brokers. v2 is flexible.

Source: ``ConfigAdminManager.preprocess``, ``ControllerApis`` (4.3.1).
"""

from __future__ import annotations

from functools import partial

from doorkeeper.server.api.config_alteration import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    STORED_TYPES,
    TOPIC,
    RequestedResource,
    alter,
    needs_by_type,
    respond,
)
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Outcome
from doorkeeper.server.resources.settings.operations import (
    Alteration,
    AlteredResource,
    ConfigOperation,
)
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

# Loggers are unknown here: only IncrementalAlterConfigs alters them (KIP-412).
_NEEDS = needs_by_type(33, TOPIC, BROKER, CLIENT_METRICS, GROUP)

_respond = partial(respond, AlterConfigsResponse, AlterConfigsResourceResponse)


def handle(request: AlterConfigsRequest, context: RequestContext, node: Node) -> Outcome:
    resources: list[tuple[RequestedResource, AlteredResource]] = [
        (resource, _alteration(resource)) for resource in request.resources
    ]
    only = request.validate_only
    return alter(resources, _NEEDS, context, node, _respond, validate_only=only)


def _alteration(resource: AlterConfigsResource) -> AlteredResource:
    return AlteredResource(
        resource.resource_type == TOPIC,
        resource.resource_name,
        tuple(
            Alteration(config.name, ConfigOperation.SET, config.value)
            for config in resource.configs
        ),
        replaces=True,
        stored_type=STORED_TYPES.get(resource.resource_type, ""),
    )


def refuse(
    request: AlterConfigsRequest, version: int, error: BaseException
) -> AlterConfigsResponse:
    return _respond((resource, error) for resource in request.resources)


API = declare(AlterConfigsRequest, handle, refuse, on_controller=True)
