"""ListTransactions (66), versions 0-2: lists the transactions of this node.

Needs DESCRIBE on the id of each transaction, without which it is left out. Without the test broker
there are none. States that the filter names and that do not exist are returned.

    v1  a filter by duration     v2  a filter by an expression: 128 where it is none

Source: ``TransactionCoordinator.handleListTransactions`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.api.records import DescribedTransaction, Transactions, no_transactions
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

(_DESCRIBE,) = needs(ListTransactionsRequest.API_KEY)

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
    request: ListTransactionsRequest,
    context: RequestContext,
    node: Node,
    transactions: Transactions = no_transactions,
) -> ListTransactionsResponse:
    """Return the transactions that the filters select, and the states that do not exist."""
    pattern = request.transactional_id_pattern
    selected = {
        name: transaction
        for name, transaction in transactions().items()
        if _is_selected(transaction, request, node.now_ms())
    }
    if pattern and not _is_expression(pattern):
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION.value)
    if pattern and selected:
        matched = _matched(pattern, selected)
        if matched is None:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION.value)
        selected = {name: selected[name] for name in matched}
    unknown = (state for state in request.state_filters if state not in _STATES)
    return ListTransactionsResponse(
        unknown_state_filters=tuple(dict.fromkeys(unknown)),
        transaction_states=tuple(
            TransactionState(
                transactional_id=name,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state,
            )
            for name, transaction in sorted(selected.items())
            if is_allowed(node, context, _DESCRIBE, name)
        ),
    )


def _is_selected(
    transaction: DescribedTransaction, request: ListTransactionsRequest, now_ms: int
) -> bool:
    duration_ms = request.duration_filter
    return (
        (not request.producer_id_filters or transaction.producer_id in request.producer_id_filters)
        and (not request.state_filters or transaction.state in request.state_filters)
        and (duration_ms < 0 or now_ms - transaction.start_ms > duration_ms)
    )


def _is_expression(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _matched(pattern: str, names: Iterable[str]) -> list[str] | None:
    """Return the names that a pattern matches as a whole; None where that takes too long."""
    # Not imported at the start: only the test broker has transactions.
    from doorkeeper.server.security.java_regex import JavaPattern, PatternError  # noqa: PLC0415

    try:
        expression = JavaPattern(pattern)
        return [name for name in names if expression.matches(name)]
    except (PatternError, TimeoutError):
        return None


API = declare(ListTransactionsRequest, handle, refuse_as(ListTransactionsResponse))
