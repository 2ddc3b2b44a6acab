"""Fetch (1), versions 4-18: reads records, and waits for them.

A consumer needs READ on each topic (29). A replica needs CLUSTER_ACTION on the cluster, without
which all rows are 29, and with which they are 6: no other broker has replicas. A partition that
does not exist is 3, or 100 for an unknown id. An offset before the first or beyond the end is 1.
The rows of refused partitions come last.

    v5  the first offset    v7  sessions    v9  leader epochs (74, 75)    v12 flexible
    v13 ids instead of names

The answer waits until there are ``min_bytes`` of records, for at most ``max_wait_ms``; not where a
partition has an error. Batches are sent whole, and the first one even if it is too large. There
are no fetch sessions, as on a broker without room for them: the id is 0, and one that a client has
is 70.

Source: ``handleFetchRequest``, ``ReplicaManager.fetchMessages`` of the broker 4.3.1.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import DelayedResponse
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.test_broker_keys import FETCH_MAX_BYTES
from doorkeeper.server.resources.topics.placement import Places, error_of_leader
from doorkeeper_broker.waits import wait_until
from doorkeeper_wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Outcome
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_broker.log import PartitionLog
    from doorkeeper_broker.records import Records

_CLUSTER_ACTION, _READ = needs(FetchRequest.API_KEY)

_IDS_FROM: Final = 13
_READ_COMMITTED: Final = 1
_REFUSALS: Final = (
    _READ.refusal,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
"""The errors of partitions whose logs are not looked at."""

_FULL: Final = (-1, 0)
"""The epochs of requests that name all their partitions."""


class _Read(NamedTuple):
    """A partition to read."""

    topic: FetchTopic
    asked: FetchPartition
    log: PartitionLog


class _Row(NamedTuple):
    """A row of the response, before rows are grouped by topic."""

    topic: FetchTopic
    data: PartitionData


def api(records: Records) -> Api:
    """Return the API over the logs of a server."""
    return declare(FetchRequest, partial(handle, records), refuse)


def handle(records: Records, request: FetchRequest, context: RequestContext, node: Node) -> Outcome:
    """Read each partition, now or when there are enough records."""
    if request.session_id and request.session_epoch not in _FULL:
        raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    reads, refused = _resolve(records, request, context, node)
    fetch = _Fetch(request, reads, refused, node.settings[FETCH_MAX_BYTES])
    if not reads or request.max_wait_ms <= 0 or fetch.is_ready:
        return fetch.response()
    return DelayedResponse(fetch.wait())


def _resolve(
    records: Records, request: FetchRequest, context: RequestContext, node: Node
) -> tuple[list[_Read], list[_Row]]:
    """Return the partitions to read, and the rows of the others."""
    by_id = context.authorizable.request_version >= _IDS_FROM
    # Of a partition that occurs twice the last row counts, as in a broker's map.
    asked_once = {
        (topic.topic, topic.topic_id, each.partition): (topic, each)
        for topic in request.topics
        for each in topic.partitions
    }
    rows = [
        (each, asked, node.topics.by_id(each.topic_id) if by_id else node.topics.get(each.topic))
        for each, asked in asked_once.values()
    ]
    # -1 for a consumer, in the field of each version.
    replica_id = max(request.replica_id, request.replica_state.replica_id)
    if replica_id >= 0 and not is_allowed(node, context, _CLUSTER_ACTION):
        return [], [_Row(each, _refusal(asked.partition, _READ.refusal)) for each, asked, _ in rows]
    # Once for each partition, as a broker asks: the audit log counts them.
    named = [
        each.topic if topic is None else topic.name for each, _, topic in rows if topic or not by_id
    ]
    allowed = frozenset(named) if replica_id >= 0 else allowed_names(node, context, _READ, named)
    places = Places(node.registered_brokers(context.authorizable.listener_name))
    reads: list[_Read] = []
    refused: list[_Row] = []
    for each, asked, topic in rows:
        if by_id and topic is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID
        elif (each.topic if topic is None else topic.name) not in allowed:
            error = _READ.refusal
        else:
            epoch = asked.current_leader_epoch
            error = error_of_leader(topic, asked.partition, places, node.node_id, epoch)
        if error is ErrorCode.NONE and replica_id >= 0:
            # No other broker has a replica of it.
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error is ErrorCode.NONE and topic is not None:
            reads.append(_Read(each, asked, records.log_of(topic, asked.partition)))
        elif error in _REFUSALS:
            refused.append(_Row(each, _refusal(asked.partition, error)))
        else:
            refused.append(_Row(each, _failure(asked.partition, error)))
    return reads, refused


class _Fetch:
    """One request whose partitions are known."""

    def __init__(
        self,
        request: FetchRequest,
        reads: Sequence[_Read],
        refused: Sequence[_Row],
        bytes_max: int,
    ) -> None:
        self._bytes_max = min(request.max_bytes, bytes_max)
        self._request = request
        self._reads = reads
        self._refused = refused
        self._committed = request.isolation_level == _READ_COMMITTED

    @property
    def is_ready(self) -> bool:
        """Return whether there are enough records, or a partition has an error."""
        needed = self._request.min_bytes
        for _, asked, log in self._reads:
            if _error_of(asked, log) is not ErrorCode.NONE:
                return True
            bytes_max = min(asked.partition_max_bytes, needed)
            needed -= log.readable_bytes(asked.fetch_offset, bytes_max, committed=self._committed)
            if needed <= 0:
                return True
        return False

    async def wait(self) -> FetchResponse:
        """Return the response when it is ready, or the time is over."""
        await wait_until(
            lambda: self.is_ready,
            [read.log.waiters for read in self._reads],
            self._request.max_wait_ms,
        )
        return self.response()

    def response(self) -> FetchResponse:
        """Read all partitions now."""
        left = self._bytes_max
        is_empty = True
        rows: list[_Row] = []
        for read in self._reads:
            data = self._read(read, left, at_least_one=is_empty)
            left -= len(data.records or b"")
            is_empty = is_empty and not data.records
            rows.append(_Row(read.topic, data))
        return FetchResponse(responses=_group_rows((*rows, *self._refused)))

    def _read(self, read: _Read, left: int, *, at_least_one: bool) -> PartitionData:
        _, asked, log = read
        error = _error_of(asked, log)
        if error is not ErrorCode.NONE:
            return _failure(asked.partition, error)
        found = log.read(
            asked.fetch_offset,
            min(asked.partition_max_bytes, max(left, 0)),
            committed=self._committed,
            at_least_one=at_least_one,
        )
        aborted = None
        if self._committed:
            aborted = tuple(
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in found.aborted
            )
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=log.end_offset,
            last_stable_offset=log.stable_offset,
            log_start_offset=log.start_offset,
            aborted_transactions=aborted,
            records=found.data,
        )


def _error_of(asked: FetchPartition, log: PartitionLog) -> ErrorCode:
    if log.is_deleted:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not log.start_offset <= asked.fetch_offset <= log.end_offset:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return ErrorCode.NONE


def _group_rows(rows: Iterable[_Row]) -> tuple[FetchableTopicResponse, ...]:
    """Return rows by topic; as on a broker only neighbours are put together."""
    topics: list[tuple[FetchTopic, list[PartitionData]]] = []
    for topic, data in rows:
        if not topics or (topics[-1][0].topic, topics[-1][0].topic_id) != (
            topic.topic,
            topic.topic_id,
        ):
            topics.append((topic, []))
        topics[-1][1].append(data)
    return tuple(
        FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=tuple(found))
        for topic, found in topics
    )


def _refusal(index: int, code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=code.value,
        high_watermark=-1,
        records=b"",
    )


def _failure(index: int, code: ErrorCode) -> PartitionData:
    """Return the row of a partition whose log cannot be read: it has no list of transactions."""
    return _refusal(index, code).replace(aborted_transactions=None)


def refuse(request: FetchRequest, version: int, error: BaseException) -> FetchResponse:
    """Answer an error; before version 13 in every row too."""
    code, _ = answer_of(error)
    rows: tuple[_Row, ...] = ()
    if version < _IDS_FROM:
        rows = tuple(
            _Row(topic, _refusal(each.partition, code))
            for topic in request.topics
            for each in topic.partitions
        )
    return FetchResponse(
        error_code=code.value, session_id=request.session_id, responses=_group_rows(rows)
    )
