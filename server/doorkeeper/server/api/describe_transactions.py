"""DescribeTransactions (65), version 0: describes transactions by id, of which there are none.

Needs DESCRIBE on each transactional id (53). No id is found (105); the empty one is 42. The node
that FindCoordinator names answers; the others answer 16 for each.

Source: ``handleDescribeTransactionsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.base.errors import ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper_wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from doorkeeper.server.api.node import Node
    from doorkeeper.server.runtime.request_context import RequestContext

_DESCRIBE, _DESCRIBE_TOPIC = needs(DescribeTransactionsRequest.API_KEY)


def handle(
    request: DescribeTransactionsRequest, context: RequestContext, node: Node
) -> DescribeTransactionsResponse:
    """Answer each id with the reason why it is not described."""

    def error_of(transactional_id: str) -> ErrorCode:
        if not is_allowed(node, context, _DESCRIBE, transactional_id):
            return _DESCRIBE.refusal
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if node.coordinator_id != node.node_id:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    return DescribeTransactionsResponse(
        transaction_states=tuple(_row(each, error_of(each)) for each in request.transactional_ids)
    )


def _row(transactional_id: str, code: ErrorCode) -> TransactionState:
    return TransactionState(transactional_id=transactional_id, error_code=code.value)


def refuse(
    request: DescribeTransactionsRequest, version: int, error: BaseException
) -> DescribeTransactionsResponse:
    """Answer the same error for every id."""
    code, _ = answer_of(error)
    return DescribeTransactionsResponse(
        transaction_states=tuple(_row(each, code) for each in request.transactional_ids)
    )


API = declare(DescribeTransactionsRequest, handle, refuse)
