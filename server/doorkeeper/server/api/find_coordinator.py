"""FindCoordinator (10), versions 0-6: the coordinator of a group or a transactional id.

Needs DESCRIBE on the group (30), DESCRIBE on the transactional id (53), or, for a share group,
CLUSTER_ACTION on the cluster (31 for the whole request).

    v0  one group        v1  the type of the key; texts: the stock text of every code, NONE included
    v3  flexible         v4  several keys; texts are empty
    v6  share groups (type 2; before, 42): keys of the form group:topicId:partition

Every key has the same coordinator, which must be one of Metadata's brokers. It is known at once; a
broker answers 15 until it has created its internal topics. So do we where the coordinator does not
have the listener that the client uses. An unknown type of key is 42 for all.

Source: ``handleFindCoordinatorRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

import re
from typing import Any, Final

from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs, require_on_cluster
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP, TRANSACTION, SHARE = 0, 1, 2
_DESCRIBE_GROUP, _DESCRIBE_TRANSACTION, _CLUSTER_ACTION = needs(FindCoordinatorRequest.API_KEY)
_NEEDS = {GROUP: _DESCRIBE_GROUP, TRANSACTION: _DESCRIBE_TRANSACTION}

_NOWHERE: Final[dict[str, Any]] = {"node_id": -1, "port": -1}
_SHARE_KEY = re.compile(r"[^:]+:[A-Za-z0-9_-]{22}:[0-9]+")


def handle(
    request: FindCoordinatorRequest, context: RequestContext, node: Node
) -> FindCoordinatorResponse:
    coordinator = _coordinator(context, node)
    key_type = request.key_type
    # Version 4 has an array of keys and an error for each; before, the response has the only one.
    if context.authorizable.request_version >= 4:
        return FindCoordinatorResponse(
            coordinators=tuple(
                _row(key, _error_of(key_type, key, context, node), coordinator)
                for key in request.coordinator_keys
            )
        )
    row = _row(request.key, _error_of(key_type, request.key, context, node), coordinator)
    if row.error_code:
        raise ApiError(ErrorCode(row.error_code))
    # A broker sends the stock text for success too.
    text = DEFAULT_MESSAGES[ErrorCode.NONE]
    return FindCoordinatorResponse(
        error_message=text, node_id=row.node_id, host=row.host, port=row.port
    )


def _coordinator(context: RequestContext, node: Node) -> Broker | None:
    brokers = node.brokers(context.authorizable.listener_name)
    return next((broker for broker in brokers if broker.node_id == node.coordinator_id), None)


def _error_of(key_type: int, key: str, context: RequestContext, node: Node) -> ErrorCode:
    """Return the error of a key; None where it has a coordinator.

    Raises:
        ApiError: an error of the whole request.
    """
    need = _NEEDS.get(key_type)
    if need is not None:
        return ErrorCode.NONE if is_allowed(node, context, need, key) else need.refusal
    # An unknown type is an error of the whole request.
    if key_type != SHARE:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    # Before the permission, as on a broker.
    if context.authorizable.request_version < 6:
        return ErrorCode.INVALID_REQUEST
    require_on_cluster(node, context, _CLUSTER_ACTION)
    is_share_key = _SHARE_KEY.fullmatch(key) is not None
    return ErrorCode.NONE if is_share_key else ErrorCode.INVALID_REQUEST


def _row(key: str, code: ErrorCode, coordinator: Broker | None) -> Coordinator:
    # The coordinator has no such listener: the client retries, as while a broker starts.
    if code is ErrorCode.NONE and coordinator is None:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if coordinator is None or code is not ErrorCode.NONE:
        return Coordinator(key=key, error_code=code.value, error_message="", **_NOWHERE)
    return Coordinator(
        key=key,
        node_id=coordinator.node_id,
        host=coordinator.host,
        port=coordinator.port,
        error_message="",
    )


def refuse(
    request: FindCoordinatorRequest, version: int, error: BaseException
) -> FindCoordinatorResponse:
    """Answer an error for all keys, with the stock text of its code."""
    code, _ = answer_of(error)
    text = DEFAULT_MESSAGES.get(code)
    if version < 4:
        return FindCoordinatorResponse(error_code=code.value, error_message=text, **_NOWHERE)
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(key=key, error_code=code.value, error_message=text, **_NOWHERE)
            for key in request.coordinator_keys
        )
    )


API = declare(FindCoordinatorRequest, handle, refuse)
