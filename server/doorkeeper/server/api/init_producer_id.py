"""InitProducerId (22), versions 0-5: gives a producer an id.

With a transactional id it needs WRITE on that id (53); without one, IDEMPOTENT_WRITE on the cluster
or, from 2.8 on, WRITE on any topic (31). An id without an epoch, or an epoch without an id, is 42.

A producer that is only idempotent gets a random id of 63 bits and epoch 0, also where it has
one: ids differ between nodes and starts without being stored. An empty transactional id is 42, and
a time-out below 1 ms or above ``transaction.max.timeout.ms`` 50. Without the test broker there is
no coordinator of transactions, and everything else is 35, which producers do not send again.

    v2  flexible     v3  the id and the epoch that the producer has     v4-5  further error codes

Source: ``handleInitProducerIdRequest`` of the broker 4.3.1, ``TransactionCoordinator``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, is_allowed_on_any, needs
from doorkeeper.server.config.test_broker_keys import TRANSACTION_MAX_TIMEOUT_MS
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

_WRITE_ID, _, _IDEMPOTENT_WRITE, _WRITE_ANY_TOPIC = needs(InitProducerIdRequest.API_KEY)

_NONE: Final = -1


def _refuse_transactions(_request: InitProducerIdRequest, _version: int) -> InitProducerIdResponse:
    # A code that says "try again", such as NOT_COORDINATOR, would keep producers trying for ever.
    raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def handle(
    request: InitProducerIdRequest,
    context: RequestContext,
    node: Node,
    begin: Callable[[InitProducerIdRequest, int], InitProducerIdResponse] = _refuse_transactions,
) -> InitProducerIdResponse:
    """Return a new id to a producer without transactions; ``begin`` answers the others.

    Raises:
        ApiError: a permission is missing, or the request has another fault.
    """
    transactional_id = request.transactional_id
    _check_allowed(transactional_id, context, node)
    # A broker looks at both before it hands the request to its coordinator.
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if transactional_id is None:
        return InitProducerIdResponse(producer_id=node.new_producer_id())
    if not transactional_id:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if not 0 < request.transaction_timeout_ms <= node.settings[TRANSACTION_MAX_TIMEOUT_MS]:
        raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    return begin(request, context.authorizable.request_version)


def _check_allowed(transactional_id: str | None, context: RequestContext, node: Node) -> None:
    if transactional_id is not None:
        if not is_allowed(node, context, _WRITE_ID, transactional_id):
            raise ApiError(_WRITE_ID.refusal)
    elif not is_allowed(node, context, _IDEMPOTENT_WRITE) and not is_allowed_on_any(
        node, context, _WRITE_ANY_TOPIC
    ):
        raise ApiError(_WRITE_ANY_TOPIC.refusal)


API = declare(
    InitProducerIdRequest,
    handle,
    refuse_as(InitProducerIdResponse, producer_epoch=_NONE),
    max_version=5,
)
