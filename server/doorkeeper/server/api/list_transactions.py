"""ListTransactions (66), versions 0-2: lists the transactions of this node.

Needs DESCRIBE on the id of each transaction, without which it is left out. Without the test broker
there are none. States that the filter names and that do not exist are returned.

    v1  a filter by duration     v2  a filter by an expression: 128 where it is none, or too large

Source: ``TransactionCoordinator.handleListTransactions`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.api.records import DescribedTransaction, Transactions
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.security.java_regex_parsing import PatternError, translate
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
    transactions: Transactions = dict,
) -> ListTransactionsResponse:
    """Return the transactions that the filters select, and the states that do not exist."""
    selected = {
        name: transaction
        for name, transaction in sorted(transactions().items())
        if _is_selected(transaction, request, node.now_ms())
        and is_allowed(node, context, _DESCRIBE, name)
    }
    pattern = request.transactional_id_pattern
    matched = _matched(pattern, selected) if pattern else selected
    if matched is None:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION.value)
    unknown = (state for state in request.state_filters if state not in _STATES)
    return ListTransactionsResponse(
        unknown_state_filters=tuple(dict.fromkeys(unknown)),
        transaction_states=tuple(
            TransactionState(
                transactional_id=name,
                producer_id=selected[name].producer_id,
                transaction_state=selected[name].state,
            )
            for name in matched
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


def _matched(pattern: str, names: Collection[str]) -> Collection[str] | None:
    """Return the names that a pattern matches as a whole.

    None where it is no pattern, or takes too long. Without a name it is read, but not compiled.
    """
    try:
        if not names:
            translate(pattern)
            return names
        # Not imported at the start: only the test broker has transactions.
        from doorkeeper.server.security.java_regex import JavaPattern  # noqa: PLC0415

        return JavaPattern(pattern).select(names)
    except (PatternError, TimeoutError):
        return None


API = declare(ListTransactionsRequest, handle, refuse_as(ListTransactionsResponse))
