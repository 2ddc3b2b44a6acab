"""The parts that AlterConfigs and IncrementalAlterConfigs share.

The checks of a resource, in order: duplicate resources, duplicate keys, nulls, the resource type,
whether the keys may be altered and their new values; the caller's permission comes last.

Source: ``ConfigAdminManager.preprocess`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from doorkeeper.acls.model import CLUSTER_NAME
from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode, answer_of
from doorkeeper.base.slices import counts, free
from doorkeeper.server.api.node import Node, Outcome, Response, Update, UpdateOperation
from doorkeeper.server.api.permissions import Need, is_allowed, needs
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.settings.broker import OurRefusal, alter_values
from doorkeeper.server.resources.settings.operations import (
    Alteration,
    AlteredResource,
    ConfigOperation,
)
from doorkeeper.server.runtime.request_context import RequestContext

if TYPE_CHECKING:
    from doorkeeper_wire.messages import alter_configs, incremental_alter_configs

    RequestedResource = (
        alter_configs.AlterConfigsResource | incremental_alter_configs.AlterConfigsResource
    )
    AlterationRequest = (
        alter_configs.AlterConfigsRequest | incremental_alter_configs.IncrementalAlterConfigsRequest
    )

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = ConfigResourceType

_NOT_HERE: Mapping[int, str] = {
    BROKER_LOGGER: "levels of loggers are changed by doorkeeper.log.levels of the broker",
}

# Java's Integer.parseInt: an optional sign, then digits; Python's int() accepts more forms.
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


class Verbatim(ApiError):
    """A refusal whose text is sent even if it is the stock text of its code."""


Judged = AlteredResource | ApiError
"""A valid alteration, or its refusal."""


class ConfigAlterations(Struct, frozen=True):
    """What differs between both APIs.

    ``needed`` is the permission for each resource type, ``response`` and ``row`` are the classes of
    the API; ``operation_of`` returns the operation on a key of a request. ``replaces`` resets the
    keys that are not in it.
    """

    needed: Mapping[int, Need]
    response: Callable[..., Response]
    row: Callable[..., object]
    operation_of: Callable[[Any], int]
    replaces: bool = False

    def alter(self, request: AlterationRequest, context: RequestContext, node: Node) -> Outcome:
        """Check each resource; alter the valid ones."""
        resources = [(resource, self._altered(resource)) for resource in request.resources]
        # All resources are judged before any is altered: the changes are one transaction.
        judged = list(_judge(resources, self.needed, context, node))

        def respond_in_order(errors: Sequence[ApiError | None]) -> Response:
            asked = (resource for resource, _ in resources)
            return self._respond(zip(asked, in_order(judged, errors), strict=True))

        changed = tuple(judgment for judgment in judged if isinstance(judgment, AlteredResource))
        if not changed:
            response = respond_in_order(())
            free(judged)
            free(resources)
            return response
        only = request.validate_only
        return Update(
            UpdateOperation.CONFIGS,
            1,
            lambda services: services.alter_configs(changed, context, validate_only=only),
            respond_in_order,
        )

    def _altered(self, resource: RequestedResource) -> AlteredResource:
        return AlteredResource(
            resource.resource_type,
            resource.resource_name,
            tuple(
                Alteration(config.name, self.operation_of(config), config.value)
                for config in resource.configs
            ),
            replaces=self.replaces,
        )

    def _respond(
        self, answers: Iterable[tuple[RequestedResource, BaseException | None]]
    ) -> Response:
        rows = []
        for resource, error in answers:
            code, text = code_and_text(error)
            rows.append(
                self.row(
                    error_code=code,
                    error_message=text,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
            )
        return self.response(responses=tuple(rows))


def needs_by_type(api_key: int, *types: int) -> dict[int, Need]:
    """Return the permission that an API needs for each resource type."""
    on_cluster, on_topic, on_group = needs(api_key)
    others: Mapping[int, Need] = {TOPIC: on_topic, GROUP: on_group}
    return {kind: others.get(kind, on_cluster) for kind in types}


def _judge(
    resources: Sequence[tuple[RequestedResource, AlteredResource]],
    needed: Mapping[int, Need],
    context: RequestContext,
    node: Node,
) -> Iterator[Judged]:
    """Yield the alteration or the refusal of each resource."""
    named = counts((resource.resource_type, resource.resource_name) for resource, _ in resources)
    for resource, altered in resources:
        try:
            if named[resource.resource_type, resource.resource_name] > 1:
                # Both occurrences get the error, as from a broker: neither is the first.
                text = "Each resource must appear at most once."
                raise ApiError(ErrorCode.INVALID_REQUEST, text)
            _check_alterations(altered)
            _check_broker(altered, resource, needed, context, node)
            # Last, because a broker reports faults of the request to callers without permission
            # too.
            _check_allowed(resource, needed, context, node)
        except ApiError as error:
            yield error
        else:
            yield altered


def _check_alterations(altered: AlteredResource) -> None:
    # Duplicates before nulls: the order of the broker's checks decides which text is sent.
    names = [alteration.name for alteration in altered.alterations]
    if len(counts(names)) < len(names):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [
        alteration.name
        for alteration in altered.alterations
        if alteration.value is None and alteration.operation != ConfigOperation.DELETE
    ]
    if nulls:
        text = f"Null value not supported for : {', '.join(nulls)}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)


def _check_broker(
    altered: AlteredResource,
    resource: RequestedResource,
    needed: Mapping[int, Need],
    context: RequestContext,
    node: Node,
) -> None:
    """Check that the broker's keys are dynamic, and their new values."""
    name, kind = resource.resource_name, resource.resource_type
    if kind not in needed:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    if kind == BROKER:
        if name:
            check_node_id(name, node, "Unexpected broker id, expected {}, but received {}")
        values = altered.current_values(node.settings.dynamic)
        try:
            alter_values(values, altered.alterations, of_cluster=not name)
        except OurRefusal:
            # A broker judges keys before it asks who may; where it has no fault to find, it asks.
            _check_allowed(resource, needed, context, node)
            raise


def check_node_id(name: str, node: Node, unexpected: str, noun: str = "Node") -> None:
    """Refuse what is not the id of the node, with the texts of a broker."""
    if _WHOLE.fullmatch(name) is None:
        text = f"{noun} id must be an integer, but it is: {name}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if int(name) != node.node_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, unexpected.format(node.node_id, name))


def _check_allowed(
    resource: RequestedResource, needed: Mapping[int, Need], context: RequestContext, node: Node
) -> None:
    kind = resource.resource_type
    need = needed[kind]
    # Brokers, their loggers and client metrics are guarded by the cluster resource.
    name = resource.resource_name if kind in (TOPIC, GROUP) else CLUSTER_NAME
    if not is_allowed(node, context, need, name):
        # For loggers a broker sends no text.
        text = None if kind == BROKER_LOGGER else DEFAULT_MESSAGES[need.refusal]
        raise Verbatim(need.refusal, text)
    if kind == BROKER_LOGGER:
        check_node_id(
            resource.resource_name, node, "Unexpected node id. Expected {}, but received {}"
        )
    # After the permission, which a broker checks for these types too.
    if kind in _NOT_HERE:
        raise ApiError(ErrorCode.INVALID_REQUEST, _NOT_HERE[kind])


def code_and_text(error: BaseException | None) -> tuple[int, str | None]:
    """Return the code and the text of a row."""
    if error is None:
        return ErrorCode.NONE.value, None
    code, text = answer_of(error)
    return code.value, error.message if isinstance(error, Verbatim) else text


def in_order(judged: Sequence[Judged], results: Sequence[ApiError | None]) -> list[ApiError | None]:
    """Return the error of each resource, from its refusal or from the alteration's results."""
    answers = iter(results)
    return [judgment if isinstance(judgment, ApiError) else next(answers) for judgment in judged]
