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

import re
from collections import Counter
from typing import TYPE_CHECKING

from doorkeeper.acl.model import CLUSTER_NAME
from doorkeeper.api import Api
from doorkeeper.broker_configs import altered
from doorkeeper.config_operations import ConfigOperation
from doorkeeper.errors import STOCK_TEXTS, ApiError, ErrorCode, answer_of
from doorkeeper.node import Alteration, AlterConfigs, AlteredResource
from doorkeeper.permissions import Need, is_allowed, needs
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from doorkeeper.node import Node, Outcome, RequestContext

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

_ON_CLUSTER, _ON_TOPIC, _ON_GROUP = needs(44)

_NEEDS: Mapping[int, Need] = {
    TOPIC: _ON_TOPIC,
    BROKER: _ON_CLUSTER,
    BROKER_LOGGER: _ON_CLUSTER,
    CLIENT_METRICS: _ON_CLUSTER,
    GROUP: _ON_GROUP,
}

_NOT_HERE = {
    BROKER_LOGGER: "levels of loggers are changed by doorkeeper.log.levels of the broker",
    CLIENT_METRICS: "this server takes no client metrics",
    GROUP: "groups come from the catalog, and their settings are the defaults",
}

_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")

Judged = AlteredResource | ApiError


def handle(request: IncrementalAlterConfigsRequest, context: RequestContext, node: Node) -> Outcome:
    """Judge each resource; hand those that may be changed to the shell."""
    counts = Counter((each.resource_type, each.resource_name) for each in request.resources)
    judged = [_judged(each, counts, context, node) for each in request.resources]
    resources = tuple(each for each in judged if isinstance(each, AlteredResource))
    finish = _finishing(request.resources, judged)
    if not resources:
        return finish(())
    return AlterConfigs(resources=resources, validate_only=request.validate_only, finish=finish)


def _judged(
    resource: AlterConfigsResource,
    counts: Counter[tuple[int, str]],
    context: RequestContext,
    node: Node,
) -> Judged:
    try:
        _check_once(resource, counts)
        wanted = _wanted(resource)
        _check_broker(wanted, resource, node)
        _check_allowed(resource, context, node)
    except ApiError as error:
        return error
    return wanted


def _check_once(resource: AlterConfigsResource, counts: Counter[tuple[int, str]]) -> None:
    if counts[resource.resource_type, resource.resource_name] > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def _wanted(resource: AlterConfigsResource) -> AlteredResource:
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        config.name
        for config in resource.configs
        if config.value is None and config.config_operation != ConfigOperation.DELETE
    ]
    if nulls:
        text = f"Null value not supported for : {', '.join(nulls)}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if resource.resource_type not in _NEEDS:
        text = f"Unknown resource type {resource.resource_type}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    return AlteredResource(
        resource.resource_type == TOPIC,
        resource.resource_name,
        tuple(
            Alteration(each.name, each.config_operation, each.value) for each in resource.configs
        ),
    )


def _check_broker(wanted: AlteredResource, resource: AlterConfigsResource, node: Node) -> None:
    """Check whose keys they are, and what they would become."""
    name, kind = resource.resource_name, resource.resource_type
    if kind == BROKER_LOGGER or (kind == BROKER and name):
        if _WHOLE.fullmatch(name) is None:
            text = f"Node id must be an integer, but it is: {name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)
        if int(name) != node.node_id:
            found = (
                f"Unexpected broker id, expected {node.node_id}, but received {name}"
                if kind == BROKER
                else f"Unexpected node id. Expected {node.node_id}, but received {name}"
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, found)
    if kind == BROKER:
        dynamic = node.settings.dynamic
        given = dynamic.broker if name else dynamic.cluster
        altered(given, wanted.alterations, of_cluster=not name)


def _check_allowed(resource: AlterConfigsResource, context: RequestContext, node: Node) -> None:
    kind = resource.resource_type
    need = _NEEDS[kind]
    name = CLUSTER_NAME if need is _ON_CLUSTER else resource.resource_name
    if not is_allowed(node, context, need, name):
        text = None if kind == BROKER_LOGGER else STOCK_TEXTS[need.refusal]
        raise _Verbatim(need.refusal, text)
    if kind in _NOT_HERE:
        raise ApiError(ErrorCode.INVALID_REQUEST, _NOT_HERE[kind])


class _Verbatim(ApiError):
    """A refusal whose text is told although it is the code's stock text."""


def _finishing(
    resources: Sequence[AlterConfigsResource], judged: Sequence[Judged]
) -> Callable[[Sequence[ApiError | None]], IncrementalAlterConfigsResponse]:
    def finish(results: Sequence[ApiError | None]) -> IncrementalAlterConfigsResponse:
        answers = iter(results)
        errors = [each if isinstance(each, ApiError) else next(answers) for each in judged]
        rows = (_row(resource, error) for resource, error in zip(resources, errors, strict=True))
        return IncrementalAlterConfigsResponse(responses=tuple(rows))

    return finish


def _row(
    resource: AlterConfigsResource, error: BaseException | None
) -> AlterConfigsResourceResponse:
    code, text = (ErrorCode.NONE, None) if error is None else answer_of(error)
    if isinstance(error, _Verbatim):
        text = error.message
    return AlterConfigsResourceResponse(
        error_code=code.value,
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
    rows: Iterable[AlterConfigsResourceResponse] = (
        _row(resource, error) for resource in request.resources
    )
    return IncrementalAlterConfigsResponse(responses=tuple(rows))


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
