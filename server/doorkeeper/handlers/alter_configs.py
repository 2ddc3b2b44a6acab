"""AlterConfigs (33), versions 0-2: gives brokers and topics new keys, and takes the others away.

As IncrementalAlterConfigs, which came after it and is to be preferred, but every key that is not
named goes back to what it was without a value. kafka-configs.sh up to 3.9 asks it for brokers.
v2 is flexible.

Source: ``ConfigAdminManager.preprocess``, ``ControllerApis`` (4.3.1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.api import Api
from doorkeeper.config_alteration import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    in_order,
    judge,
    told,
)
from doorkeeper.config_operations import ConfigOperation
from doorkeeper.node import Alteration, AlteredResource, Update
from doorkeeper.permissions import Need, needs
from doorkeeper_wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorkeeper.config_alteration import Judged
    from doorkeeper.errors import ApiError
    from doorkeeper.node import Node, Outcome, Services
    from doorkeeper.request_context import RequestContext
    from doorkeeper.results import Results

_ON_CLUSTER, _ON_TOPIC, _ON_GROUP = needs(33)

_NEEDS: Mapping[int, Need] = {
    TOPIC: _ON_TOPIC,
    BROKER: _ON_CLUSTER,
    CLIENT_METRICS: _ON_CLUSTER,
    GROUP: _ON_GROUP,
}


def handle(request: AlterConfigsRequest, context: RequestContext, node: Node) -> Outcome:
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
) -> AlterConfigsResponse:
    rows = zip(resources, in_order(judged, errors), strict=True)
    return AlterConfigsResponse(responses=tuple(_row(resource, error) for resource, error in rows))


def _wanted(resource: AlterConfigsResource) -> AlteredResource:
    return AlteredResource(
        resource.resource_type == TOPIC,
        resource.resource_name,
        tuple(Alteration(each.name, ConfigOperation.SET, each.value) for each in resource.configs),
        replaces=True,
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
    request: AlterConfigsRequest,
    version: int,  # noqa: ARG001  the form of Api.refuse
    error: BaseException,
) -> AlterConfigsResponse:
    """Answer the same error for every resource."""
    return AlterConfigsResponse(
        responses=tuple(_row(resource, error) for resource in request.resources)
    )


API = Api(
    key=33,
    name="AlterConfigs",
    min_version=0,
    max_version=2,
    request=AlterConfigsRequest,
    handle=handle,
    refuse=refuse,
    on_controller=True,
)
