"""DescribeTransactions (65), version 0: describes transactions by id.

Needs DESCRIBE on each transactional id (53), and on each topic, without which it is left out. An
id that no producer has is 105, as is every one without the test broker; the empty one is 42. The
node that FindCoordinator names answers; the others answer 16 for each.

Source: ``handleDescribeTransactionsRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, no_text, refusal_of, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.api.records import DescribedTransaction, Transactions
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

_DESCRIBE, _DESCRIBE_TOPIC = needs(DescribeTransactionsRequest.API_KEY)


def handle(
    request: DescribeTransactionsRequest,
    context: RequestContext,
    node: Node,
    transactions: Transactions = dict,
) -> DescribeTransactionsResponse:
    known = transactions()

    def error_of(transactional_id: str) -> ErrorCode:
        if not is_allowed(node, context, _DESCRIBE, transactional_id):
            return _DESCRIBE.refusal
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if node.coordinator_id != node.node_id:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.NONE if transactional_id in known else ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    def row(transactional_id: str) -> TransactionState:
        code = error_of(transactional_id)
        if code is not ErrorCode.NONE:
            return refusal_of(TransactionState, transactional_id, code)
        return _described(transactional_id, known[transactional_id], context, node)

    return DescribeTransactionsResponse(
        transaction_states=tuple(
            row(transactional_id) for transactional_id in request.transactional_ids
        )
    )


def _described(
    transactional_id: str,
    transaction: DescribedTransaction,
    context: RequestContext,
    node: Node,
) -> TransactionState:
    topics: dict[str, list[int]] = {}
    for name, index in sorted(transaction.partitions):
        topics.setdefault(name, []).append(index)
    allowed = allowed_names(node, context, _DESCRIBE_TOPIC, topics)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=tuple(
            TopicData(topic=name, partitions=tuple(indexes))
            for name, indexes in topics.items()
            if name in allowed
        ),
    )


API = declare(
    DescribeTransactionsRequest, handle, refuse_rows(DescribeTransactionsResponse, no_text)
)
