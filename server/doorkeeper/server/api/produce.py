"""Produce (0), versions 0-13: authorizes a producer, and refuses its records.

The test broker passes a function that appends them instead; see ``Append``.

The API is listed because clients take its absence for a broken server: every call of a Java client
2.1 to 2.7 fails then, and franz-go derives a server's release from its highest version.

Transactional records need a transactional id, and WRITE on it: 53 in every partition without. Each
topic needs WRITE: 29 without. Other partitions get 3 if the topic has no such partition, 100 if the
id is unknown (version 13 names topics by id), else 44 POLICY_VIOLATION: no client retries after it
or refreshes its metadata, and its text is true of a server whose policy is to store no records.
Texts are sent from version 8 on.

With acks 0 there is no answer: an error closes the connection, as on a broker. Kafka 4.0 removed
versions 0 to 2, still lists them (KAFKA-18659) and closes the connection; here they are answered
like the others.

Source: ``handleProduceRequest``, ``ProduceRequest.getErrorResponse`` and
``RequestUtils.hasTransactionalRecords`` of the broker 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import allowed_names, is_allowed, named_topics, needs
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

_TRANSACTION, _WRITE = needs(ProduceRequest.API_KEY)

NO_RECORDS = (
    "Doorkeeper manages access control and stores no records: produce to a Kafka broker. In tests"
    " doorkeeper.test.broker=true, which records=True of a DoorkeeperServer sets, stores them."
)

ID_VERSION_MIN = 13
"""The first version that names topics by id."""

BATCH_LENGTH = slice(8, 12)
BATCH_MAGIC = 16
BATCH_ATTRIBUTES = slice(21, 23)
"""Offsets of fields in a batch of records."""

BATCH_PREFIX_BYTES = 12
"""The base offset and the length, which does not count them."""

BATCH_LENGTH_MIN = 14
"""The length of the shortest batch of any magic; Kafka calls a shorter one corrupt."""

TRANSACTIONAL = 0x10
"""The bit of the attributes that makes a batch part of a transaction."""


Append = Callable[[StoredTopic, PartitionProduceData], PartitionProduceResponse]
"""Appends the records of a partition that exists and that the caller may write to."""


def _refuse_records(
    topic: StoredTopic,
    data: PartitionProduceData,
) -> PartitionProduceResponse:
    return refusal(data.index, ErrorCode.POLICY_VIOLATION, NO_RECORDS)


def handle(
    request: ProduceRequest, context: RequestContext, node: Node, append: Append = _refuse_records
) -> ProduceResponse | None:
    """Append the records of each partition; return None, no answer, for acks 0 without an error.

    Raises:
        ApiError: the error of the whole request, or the first one of a partition with acks 0.
    """
    transactional_id = request.transactional_id
    if _is_transactional(request) and (
        transactional_id is None or not is_allowed(node, context, _TRANSACTION, transactional_id)
    ):
        raise ApiError(_TRANSACTION.refusal)
    by_id = context.authorizable.request_version >= ID_VERSION_MIN
    asked = named_topics(node, request.topic_data, by_id=by_id)
    allowed = allowed_names(
        node,
        context,
        _WRITE,
        # Once for each partition, as a broker asks: the audit log counts them.
        (name for data, name, _ in asked if name is not None for _ in data.partition_data),
    )

    def row(number: int, data: PartitionProduceData) -> PartitionProduceResponse:
        _, name, topic = asked[number]
        error = _error(name, topic, data.index, allowed)
        if error is not ErrorCode.NONE or topic is None:
            return refusal(data.index, error)
        return append(topic, data)

    response = _response(request, row)
    if request.acks != 0:
        return response
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                raise ApiError(ErrorCode(partition.error_code), partition.error_message)
    return None


def _error(
    name: str | None, topic: StoredTopic | None, index: int, allowed: frozenset[str]
) -> ErrorCode:
    """Return the error of a partition; NONE where the caller may write to it."""
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if name not in allowed:
        return _WRITE.refusal
    if topic is None or not 0 <= index < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _is_transactional(request: ProduceRequest) -> bool:
    """Return whether any batch of the request is part of a transaction."""
    return any(
        _has_transactional_batch(partition.records or b"")
        for data in request.topic_data
        for partition in data.partition_data
    )


def _has_transactional_batch(records: bytes) -> bool:
    """Check the batches up to one that is incomplete or corrupt."""
    at = 0
    while len(batch := records[at : at + BATCH_ATTRIBUTES.stop]) == BATCH_ATTRIBUTES.stop:
        if batch[BATCH_MAGIC] >= 2 and batch[BATCH_ATTRIBUTES][1] & TRANSACTIONAL:
            return True
        length = int.from_bytes(batch[BATCH_LENGTH], signed=True)
        if length < BATCH_LENGTH_MIN:
            break
        at += BATCH_PREFIX_BYTES + length
    return False


def refuse(request: ProduceRequest, version: int, error: BaseException) -> ProduceResponse | None:
    """Answer the same error for each partition; None closes the connection for acks 0."""
    if request.acks == 0:
        return None
    code, text = answer_of(error)
    return _response(request, lambda _place, data: refusal(data.index, code, text))


def _response(
    request: ProduceRequest,
    row: Callable[[int, PartitionProduceData], PartitionProduceResponse],
) -> ProduceResponse:
    """Return a response with a row for each partition, by the topic's place in the request.

    Of a partition that occurs twice the last row counts, as in a broker's map.
    """
    topics: dict[tuple[str, bytes], dict[int, tuple[int, PartitionProduceData]]] = {}
    for number, topic in enumerate(request.topic_data):
        rows = topics.setdefault((topic.name, topic.topic_id), {})
        rows.update((data.index, (number, data)) for data in topic.partition_data)
    return ProduceResponse(
        responses=tuple(
            TopicProduceResponse(
                name=name,
                topic_id=topic_id,
                partition_responses=tuple(row(*partition) for partition in rows.values()),
            )
            for (name, topic_id), rows in topics.items()
        )
    )


def refusal(index: int, code: ErrorCode, text: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index, error_code=code.value, base_offset=-1, error_message=text
    )


API = declare(ProduceRequest, handle, refuse)
