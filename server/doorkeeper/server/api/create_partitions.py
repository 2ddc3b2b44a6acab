"""CreatePartitions (37), versions 0-3: adds partitions to topics; each is answered alone.

Needs ALTER on each topic (29, without a text). Names that occur twice are refused (42). A topic
gets more partitions, never fewer (37); where the caller chooses their brokers, it names so many of
them for each as the topic has replicas (39). A time-out of 0 or less is 7 in every row, and
nothing is changed, unless no row is left to be tried.

    v2  flexible     v3  errors of a quota, which a broker may have

More than 10,000 partitions in one request refuse the topic that exceeds them, with 44.

Rows come in this order: doubled names; those not allowed; those that could be tried.

Source: ``ControllerApis.createPartitions`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, ErrorCode, row_of
from doorkeeper.base.slices import counts
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import allowed_names, needs
from doorkeeper.server.resources.topics.partitions import plan_partitions
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

(_ALTER,) = needs(CreatePartitionsRequest.API_KEY)


def handle(request: CreatePartitionsRequest, context: RequestContext, node: Node) -> Outcome:
    named = counts(topic.name for topic in request.topics)
    names = [name for name, count in named.items() if count == 1]
    allowed = allowed_names(node, context, _ALTER, names)
    rows = [
        _row(name, ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        for name, count in named.items()
        if count > 1
    ]
    rows += [_row(name, ApiError(_ALTER.refusal)) for name in names if name not in allowed]
    asked = [topic for topic in request.topics if topic.name in allowed]
    if not asked:
        return CreatePartitionsResponse(results=tuple(rows))
    if request.timeout_ms <= 0:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)
    brokers = node.registered_brokers(context.authorizable.listener_name)
    respond = partial(_respond, rows, asked)
    # Planned on the visible state; nothing is submitted.
    if request.validate_only:
        return respond(plan_partitions(node.topics, asked, brokers)[1])
    return Update.of_plan(
        UpdateOperation.TOPICS,
        lambda state: plan_partitions(state.topics, asked, brokers),
        context,
        respond,
    )


def _respond(
    rows: Sequence[CreatePartitionsTopicResult],
    asked: Sequence[CreatePartitionsTopic],
    errors: Sequence[ApiError | None],
) -> CreatePartitionsResponse:
    tried = (_row(topic.name, error) for topic, error in zip(asked, errors, strict=True))
    return CreatePartitionsResponse(results=(*rows, *tried))


def _row(name: str, error: BaseException | None) -> CreatePartitionsTopicResult:
    return row_of(CreatePartitionsTopicResult, error, name=name)


API = declare(
    CreatePartitionsRequest, handle, refuse_rows(CreatePartitionsResponse), on_controller=True
)
