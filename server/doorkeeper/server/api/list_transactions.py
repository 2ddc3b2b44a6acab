"""ListTransactions (66), versions 0-2: lists the transactions of this node: none.

States that the filter names and that do not exist are told. Needs nothing: DESCRIBE would be asked
on the id of each transaction.

    v1  a filter by duration     v2  a filter by an expression: 128 where it is none

Source: ``TransactionCoordinator.handleListTransactions`` (4.3.1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper_wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

if TYPE_CHECKING:
    from doorkeeper.server.api.node import Node
    from doorkeeper.server.runtime.request_context import RequestContext

_STATES: Final = frozenset(
    {
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    }
)


def handle(
    request: ListTransactionsRequest, context: RequestContext, node: Node
) -> ListTransactionsResponse:
    """Return an empty list, and the states that do not exist."""
    if request.transactional_id_pattern and not _is_expression(request.transactional_id_pattern):
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION.value)
    unknown = (state for state in request.state_filters if state not in _STATES)
    return ListTransactionsResponse(unknown_state_filters=tuple(dict.fromkeys(unknown)))


def _is_expression(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


API = declare(ListTransactionsRequest, handle, refuse_as(ListTransactionsResponse))
