"""The parts that AlterConfigs and IncrementalAlterConfigs share.

The checks of a resource, in order: duplicate resources, duplicate keys, nulls, the resource type,
whether the keys may be altered and their new values; the caller's permission comes last.

Source: ``ConfigAdminManager.preprocess`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

# Java's Integer.parseInt: an optional sign, then digits; Python's int() accepts more forms.
_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


class Verbatim(ApiError):
    """A refusal whose text is sent even if it is the stock text of its code."""


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
        asked = list(map(self._altered, request.resources))
        # All resources are judged before any is altered: the changes are one transaction.
        judged = list(self._judge(asked, context, node))

        def respond(errors: Sequence[ApiError | None]) -> Response:
            left = iter(errors)
            rows = []
            for resource, refusal in zip(asked, judged, strict=True):
                code, text = code_and_text(next(left) if refusal is None else refusal)
                row = self.row(
                    error_code=code,
                    error_message=text,
                    resource_type=resource.kind,
                    resource_name=resource.name,
                )
                rows.append(row)
            return self.response(responses=tuple(rows))

        pairs = zip(asked, judged, strict=True)
        changed = tuple(resource for resource, refusal in pairs if refusal is None)
        if not changed:
            response = respond(())
            free(judged)
            free(asked)
            return response
        only = request.validate_only
        return Update(
            UpdateOperation.CONFIGS,
            lambda services: services.alter_configs(changed, context, validate_only=only),
            respond,
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

    def _judge(
        self, asked: Sequence[AlteredResource], context: RequestContext, node: Node
    ) -> Iterator[ApiError | None]:
        """Yield the refusal of each resource, or None."""
        named = counts((resource.kind, resource.name) for resource in asked)
        for resource in asked:
            try:
                if named[resource.kind, resource.name] > 1:
                    # Both occurrences get the error, as from a broker: neither is the first.
                    text = "Each resource must appear at most once."
                    raise ApiError(ErrorCode.INVALID_REQUEST, text)
                _check_alterations(resource)
                if resource.kind not in self.needed:
                    text = f"Unknown resource type {resource.kind}"
                    raise ApiError(ErrorCode.INVALID_REQUEST, text)
                need = self.needed[resource.kind]
                _check_broker(resource, need, context, node)
                # Last, because a broker reports faults of the request to callers without
                # permission too.
                _check_allowed(resource, need, context, node)
            except ApiError as error:
                yield error
            else:
                yield None


def needs_by_type(api_key: int) -> dict[int, Need]:
    """Return the permission that an API needs for each resource type."""
    on_cluster, on_topic, on_group = needs(api_key)
    others: Mapping[int, Need] = {TOPIC: on_topic, GROUP: on_group}
    return {kind: others.get(kind, on_cluster) for kind in ConfigResourceType}


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
    resource: AlteredResource, need: Need, context: RequestContext, node: Node
) -> None:
    """Check that a broker's keys are dynamic, and their new values."""
    name = resource.name
    if resource.kind != BROKER:
        return
    if name:
        check_node_id(name, node, "Unexpected broker id, expected {}, but received {}")
    values = resource.current_values(node.settings.dynamic)
    try:
        alter_values(values, resource.alterations, of_cluster=not name)
    except OurRefusal:
        # A broker judges keys before it asks who may; where it has no fault to find, it asks.
        _check_allowed(resource, need, context, node)
        raise


def check_node_id(name: str, node: Node, unexpected: str, noun: str = "Node") -> None:
    """Refuse what is not the id of the node, with the texts of a broker."""
    if _WHOLE.fullmatch(name) is None:
        text = f"{noun} id must be an integer, but it is: {name}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    if int(name) != node.node_id:
        raise ApiError(ErrorCode.INVALID_REQUEST, unexpected.format(node.node_id, name))


def _check_allowed(
    resource: AlteredResource, need: Need, context: RequestContext, node: Node
) -> None:
    kind = resource.kind
    # Brokers, their loggers and client metrics are guarded by the cluster resource.
    name = resource.name if kind in (TOPIC, GROUP) else CLUSTER_NAME
    if not is_allowed(node, context, need, name):
        # For loggers a broker sends no text.
        text = None if kind == BROKER_LOGGER else DEFAULT_MESSAGES[need.refusal]
        raise Verbatim(need.refusal, text)
    # After the permission, which a broker checks for loggers too.
    if kind == BROKER_LOGGER:
        check_node_id(resource.name, node, "Unexpected node id. Expected {}, but received {}")
        text = "levels of loggers are changed by doorkeeper.log.levels of the broker"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)


def code_and_text(error: BaseException | None) -> tuple[int, str | None]:
    """Return the code and the text of a row."""
    if error is None:
        return ErrorCode.NONE.value, None
    code, text = answer_of(error)
    return code.value, error.message if isinstance(error, Verbatim) else text
