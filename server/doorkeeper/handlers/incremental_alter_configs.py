"""IncrementalAlterConfigs (44), versions 0-1: changes single keys of brokers and topics.

Needs ALTER_CONFIGS: on the cluster for a broker, its loggers and client metrics (31); on the topic
(29); on the group (30). Every resource is answered alone, in the order of the request, and changed
as a whole or not at all. v1 is flexible.

    broker     this node's id, or no name for the cluster as a whole: keys that count without a
               restart (see ``broker_configs``). What is wrong with them is told before who may ask.
    topic      the settings of a topic that was made over the wire
    broker logger, client metrics, group   refused with 42

A resource that occurs twice, a key that occurs twice, a null to set: 42. An unknown type is 42 for
its resource. ``validate_only`` judges and changes nothing.

Source: ``ConfigAdminManager.preprocess``, ``ControllerApis`` (4.3.1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.api import Api
from doorkeeper.config_alteration import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    in_order,
    judge,
    told,
)
from doorkeeper.node import Alteration, AlteredResource, Update
from doorkeeper.permissions import Need, needs
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.config_alteration import Judged
    from doorkeeper.errors import ApiError
    from doorkeeper.node import Node, Outcome, Services
    from doorkeeper.request_context import RequestContext
    from doorkeeper.results import Results

_ON_CLUSTER, _ON_TOPIC, _ON_GROUP = needs(44)

_NEEDS: Mapping[int, Need] = {
    TOPIC: _ON_TOPIC,
    BROKER: _ON_CLUSTER,
    BROKER_LOGGER: _ON_CLUSTER,
    CLIENT_METRICS: _ON_CLUSTER,
    GROUP: _ON_GROUP,
}


def handle(request: IncrementalAlterConfigsRequest, context: RequestContext, node: Node) -> Outcome:
    """Check each resource; alter those that pass."""
    resources = request.resources
    judged = list(judge([(each, _wanted(each)) for each in resources], _NEEDS, context, node))

    respond = partial(_respond, resources, judged)
    changed = tuple(each for each in judged if isinstance(each, AlteredResource))
    if not changed:
        return respond(())
    apply = partial(_alter, context, changed, request.validate_only)
    return Update("configs", 1, apply, respond)


async def _alter(
    context: RequestContext,
    resources: Sequence[AlteredResource],
    validate_only: bool,  # noqa: FBT001 - an argument of a partial
    services: Services,
) -> Results:
    return await services.alter_configs(resources, context, validate_only=validate_only)


def _respond(
    resources: Sequence[AlterConfigsResource],
    judged: Sequence[Judged],
    errors: Sequence[ApiError | None],
) -> IncrementalAlterConfigsResponse:
    rows = zip(resources, in_order(judged, errors), strict=True)
    return IncrementalAlterConfigsResponse(
        responses=tuple(_row(resource, error) for resource, error in rows)
    )


def _wanted(resource: AlterConfigsResource) -> AlteredResource:
    return AlteredResource(
        resource.resource_type == TOPIC,
        resource.resource_name,
        tuple(
            Alteration(each.name, each.config_operation, each.value) for each in resource.configs
        ),
    )


def _row(
    resource: AlterConfigsResource, error: BaseException | None
) -> AlterConfigsResourceResponse:
    code, text = told(error)
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=text,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def refuse(
    request: IncrementalAlterConfigsRequest,
    version: int,  # noqa: ARG001  the form of Api.refuse
    error: BaseException,
) -> IncrementalAlterConfigsResponse:
    """Answer the same error for every resource."""
    return IncrementalAlterConfigsResponse(
        responses=tuple(_row(resource, error) for resource in request.resources)
    )


API = Api(
    key=44,
    name="IncrementalAlterConfigs",
    min_version=0,
    max_version=1,
    request=IncrementalAlterConfigsRequest,
    handle=handle,
    refuse=refuse,
    on_controller=True,
)
