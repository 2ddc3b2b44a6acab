"""ShareFetch (78) and ShareAcknowledge (79), versions 1-2: records of share groups (KIP-932).

Both need READ on the group (30), and READ on each topic (29, in its rows). A request without a
group, or whose member id is empty or longer than 36 characters, is 42.

A session keeps the partitions of a member: the epoch 0 opens it, -1 closes it and releases what the
member has, others must be the next number (123); 122 without a session. More sessions than
``group.share.max.share.sessions`` are 133, after the time that the request would wait.

A row is 100 for an unknown topic, 3 for a partition that is not there or that the group does not
read. Acknowledgements that do not fit are 42, those of records that the member has not, 121.

    v2  exact numbers of records (KIP-1206), and the renewal of locks (KIP-1222)

Source: ``KafkaApis.handleShareFetchRequest``, ``SharePartitionManager``, ``DelayedShareFetch`` of
the broker 4.3.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import DelayedResponse
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.test_broker_keys import (
    FETCH_MAX_BYTES,
    GROUP_SHARE_MAX_SHARE_SESSIONS,
)
from doorkeeper_broker.assignors import Partition
from doorkeeper_broker.group_settings import group_number, group_text
from doorkeeper_broker.share_apis import check_member_id
from doorkeeper_broker.share_group import ShareGroup
from doorkeeper_broker.share_partition import REJECT, RENEW, Acknowledged, Acquired, Terms
from doorkeeper_broker.share_sessions import FINAL, INITIAL, ShareSessions
from doorkeeper_broker.waits import wait_until
from doorkeeper_wire.messages import share_acknowledge, share_fetch
from doorkeeper_wire.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from doorkeeper_wire.messages.share_fetch import (
    AcquiredRecords,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Outcome, Response
    from doorkeeper.server.api.permissions import Need
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_broker.coordinator import Coordinator
    from doorkeeper_broker.log import PartitionLog, Slice
    from doorkeeper_broker.records import Records
    from doorkeeper_broker.share_offsets import ShareOffsets
    from doorkeeper_broker.share_partition import SharePartition
    from doorkeeper_wire.record_batches import RecordBatch

_FETCH_READ_GROUP, _FETCH_READ = needs(ShareFetchRequest.API_KEY)
_ACKNOWLEDGE_READ_GROUP, _ACKNOWLEDGE_READ = needs(ShareAcknowledgeRequest.API_KEY)

_RENEWS_FROM: Final = 2
_RECORD_LIMIT: Final = 1
_COMMITTED: Final = "read_committed"

T = TypeVar("T")

Batches = Sequence[share_fetch.AcknowledgementBatch | share_acknowledge.AcknowledgementBatch]
Failure = tuple[ErrorCode, str | None]
"""An error and its text; ``NONE`` where all went well."""

_SUCCESS: Final[Failure] = (ErrorCode.NONE, None)


class _Read(NamedTuple):
    """A partition to read."""

    partition: Partition
    log: PartitionLog
    share: SharePartition


class ShareRecords:
    """The handlers that acquire and acknowledge records."""

    def __init__(
        self, coordinator: Coordinator, records: Records, offsets: ShareOffsets, node: Node
    ) -> None:
        self._coordinator = coordinator
        self._records = records
        self._offsets = offsets
        self._node = node
        self._sessions = ShareSessions()

    def apis(self) -> tuple[Api, ...]:
        return (
            declare(ShareFetchRequest, self.fetch, _refuse(ShareFetchResponse)),
            declare(ShareAcknowledgeRequest, self.acknowledge, _refuse(ShareAcknowledgeResponse)),
        )

    # --- ShareFetch

    def fetch(self, request: ShareFetchRequest, context: RequestContext, node: Node) -> Outcome:
        """Acknowledge records, then acquire others, now or when there are some.

        Raises:
            ApiError: see the module.
        """
        group_id = _check_request(request.group_id, request.member_id, context, node)
        version = context.authorizable.request_version
        is_renewal = version >= _RENEWS_FROM and request.is_renew_ack
        limits = request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms
        if is_renewal and any(limits):
            raise ApiError(ErrorCode.INVALID_REQUEST)
        key = group_id, request.member_id or ""
        work = _work(request)
        try:
            partitions = self._next_request(request, key, work, context.connection)
        except ApiError as error:
            if error.code is not ErrorCode.SHARE_SESSION_LIMIT_REACHED:
                raise
            return DelayedResponse(_later(error, request.max_wait_ms))
        allowed = self._allowed(context, (*partitions, *work))
        failures: dict[Partition, Failure] = {}
        if any(work.values()):
            failures = self._acknowledge(key, work, allowed, version, renews=request.is_renew_ack)
        if request.share_session_epoch == FINAL:
            self._close(key)
        fetch = _ShareFetch(self, request, key, failures)
        if not is_renewal:
            fetch.read(self._resolve(key, partitions, allowed))
        if not fetch.reads or request.max_wait_ms <= 0 or fetch.is_ready:
            return fetch.response()
        return DelayedResponse(fetch.wait())

    def _next_request(
        self,
        request: ShareFetchRequest,
        key: tuple[str, str],
        work: Mapping[Partition, Batches],
        connection: int,
    ) -> Sequence[Partition]:
        """Begin the next request of a session; return the partitions to read.

        Partitions that do not exist are refused now, and are no part of the session.
        """
        epoch, node = request.share_session_epoch, self._node
        known = [each for each in work if self._name(each) is not None]
        if epoch == INITIAL:
            if any(work.values()):
                raise ApiError(ErrorCode.INVALID_REQUEST)
            count_max = node.settings[GROUP_SHARE_MAX_SHARE_SESSIONS]
            self._sessions.open(key, known, node.now_ms(), count_max, connection)
        else:
            self._sessions.use(key, epoch, node.now_ms())
        if epoch == FINAL:
            return ()
        forgotten = [
            Partition(topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        ]
        self._sessions.change(key, known, forgotten)
        unknown = [each for each in work if self._name(each) is None]
        return (*self._sessions.partitions(key), *unknown)

    def _resolve(
        self, key: tuple[str, str], partitions: Sequence[Partition], allowed: frozenset[str]
    ) -> Iterator[_Read | tuple[Partition, ErrorCode]]:
        """Yield each partition, or why it cannot be read."""
        group = self._coordinator.find(key[0], ShareGroup)
        for each in partitions:
            topic = self._node.topics.by_id(each.topic_id)
            if topic is None:
                self._sessions.change(key, (), [each])
                yield each, ErrorCode.UNKNOWN_TOPIC_ID
            elif topic.name not in allowed:
                yield each, _FETCH_READ.refusal
            elif group is None or not 0 <= each.number < group.initialized.get(each.topic_id, 0):
                yield each, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                log = self._records.log_of(topic, each.number)
                share = self._offsets.partition(group, each, log)
                share.skip_to(log.start_offset)
                yield _Read(each, log, share)

    # --- ShareAcknowledge

    def acknowledge(
        self, request: ShareAcknowledgeRequest, context: RequestContext, node: Node
    ) -> ShareAcknowledgeResponse:
        """Acknowledge records.

        Raises:
            ApiError: see the module.
        """
        group_id = _check_request(request.group_id, request.member_id, context, node)
        key = group_id, request.member_id or ""
        epoch = request.share_session_epoch
        if epoch == INITIAL:
            raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        self._sessions.use(key, epoch, node.now_ms())
        work = _work(request)
        version = context.authorizable.request_version
        failures = self._acknowledge(
            key,
            work,
            self._allowed(context, tuple(work), _ACKNOWLEDGE_READ),
            version,
            renews=request.is_renew_ack,
        )
        if epoch == FINAL:
            self._close(key)
        rows = [
            (
                partition,
                share_acknowledge.PartitionData(
                    partition_index=partition.number, error_code=code.value, error_message=text
                ),
            )
            for partition, (code, text) in failures.items()
        ]
        return ShareAcknowledgeResponse(
            acquisition_lock_timeout_ms=self.lock_ms(group_id),
            responses=tuple(
                ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=tuple(found))
                for topic_id, found in _by_topic(rows).items()
            ),
        )

    def _acknowledge(
        self,
        key: tuple[str, str],
        work: Mapping[Partition, Batches],
        allowed: frozenset[str],
        version: int,
        *,
        renews: bool,
    ) -> dict[Partition, Failure]:
        """Acknowledge records; return the outcome of each partition."""
        return {
            each: self._outcome(key, each, batches, allowed, version, renews=renews)
            for each, batches in work.items()
        }

    def _outcome(
        self,
        key: tuple[str, str],
        partition: Partition,
        batches: Batches,
        allowed: frozenset[str],
        version: int,
        *,
        renews: bool,
    ) -> Failure:
        name = self._name(partition)
        topic = self._node.topics.by_id(partition.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID, None
        group = self._coordinator.find(key[0], ShareGroup)
        try:
            parts = list(_parts(batches, renews=renews and version >= _RENEWS_FROM))
            if topic.name not in allowed:
                return _ACKNOWLEDGE_READ.refusal, None
            if name is None:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
            if not parts:
                return _SUCCESS
            share = None if group is None else group.partitions.get(partition)
            if share is None or group is None:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NOT_HOSTED)
            if renews and group_text(self._node, key[0], _RENEWALS, "true") != "true":
                text = "Renewing acquisition locks is not enabled for the group."
                raise ApiError(ErrorCode.INVALID_RECORD_STATE, text)
            lock_ends_ms = self._node.now_ms() + self.lock_ms(key[0])
            share.acknowledge(key[1], parts, self.deliveries_max(group), lock_ends_ms)
            self._coordinator.schedule(group)
        except ApiError as error:
            return error.code, error.message
        return _SUCCESS

    # --- shared

    def disconnected(self, connection: int) -> None:
        """Close the sessions that a connection opened: others get what their members had."""
        for key in self._sessions.of_connection(connection):
            self._close(key)
            group = self._coordinator.find(key[0], ShareGroup)
            if group is not None:
                self._coordinator.schedule(group)

    def _close(self, key: tuple[str, str]) -> None:
        """Close a session: what the member has is released."""
        group = self._coordinator.find(key[0], ShareGroup)
        if group is not None:
            for partition in self._sessions.partitions(key):
                share = group.partitions.get(partition)
                if share is not None:
                    share.release(key[1], self.deliveries_max(group))
        self._sessions.close(key)

    def _allowed(
        self, context: RequestContext, partitions: Iterable[Partition], need: Need = _FETCH_READ
    ) -> frozenset[str]:
        found = (self._node.topics.by_id(each.topic_id) for each in dict.fromkeys(partitions))
        names = [topic.name for topic in found if topic is not None]
        return allowed_names(self._node, context, need, names)

    def _name(self, partition: Partition) -> str | None:
        """Return the topic of a partition that exists."""
        topic = self._node.topics.by_id(partition.topic_id)
        return (
            topic.name if topic is not None and 0 <= partition.number < topic.partitions else None
        )

    def lock_ms(self, group_id: str) -> int:
        """Return for how long records are locked."""
        return group_number(self._node, group_id, "share.record.lock.duration.ms")

    def deliveries_max(self, group: ShareGroup) -> int:
        """Return how often a record is delivered."""
        group.deliveries_max = group_number(
            self._node, group.group_id, "share.delivery.count.limit"
        )
        return group.deliveries_max

    def acquire(
        self, group_id: str, member_id: str, read: _Read, data: Slice, terms: Terms
    ) -> list[Acquired]:
        """Acquire records that were read; those of aborted transactions are done at once."""
        now_ms = self._node.now_ms()
        bounds = [(each.base_offset, each.last_offset) for each in data.batches]
        acquired = read.share.acquire(member_id, bounds, terms, now_ms)
        aborted = [
            Acknowledged(
                max(each.first, batch.base_offset), min(each.last, batch.last_offset), REJECT
            )
            for batch in data.batches
            if _is_aborted(batch, data)
            for each in acquired
            if each.first <= batch.last_offset and each.last >= batch.base_offset
        ]
        if aborted:
            read.share.acknowledge(member_id, aborted, terms.deliveries_max, 0)
            acquired = [part for each in acquired for part in _without(each, aborted)]
        group = self._coordinator.find(group_id, ShareGroup)
        if group is not None:
            self._coordinator.schedule(group)
        return acquired

    def terms(self, request: ShareFetchRequest, group_id: str) -> Terms:
        """Return the conditions of the acquisitions of a request."""
        return Terms(
            request.max_records,
            request.batch_size,
            request.share_acquire_mode == _RECORD_LIMIT,
            group_number(self._node, group_id, "share.delivery.count.limit"),
            group_number(self._node, group_id, "share.partition.max.record.locks"),
            self.lock_ms(group_id),
        )

    @property
    def bytes_max(self) -> int:
        """Return the most bytes of records in an answer."""
        return self._node.settings[FETCH_MAX_BYTES]

    def reads_committed(self, group_id: str) -> bool:
        """Return whether a group reads committed records only."""
        return group_text(self._node, group_id, "share.isolation.level", "") == _COMMITTED


class _ShareFetch:
    """One request whose acknowledgements are done."""

    def __init__(
        self,
        owner: ShareRecords,
        request: ShareFetchRequest,
        key: tuple[str, str],
        failures: Mapping[Partition, Failure],
    ) -> None:
        self._owner = owner
        self._request = request
        self._group_id, self._member_id = key
        self._failures = failures
        self._committed = owner.reads_committed(key[0])
        self._terms = owner.terms(request, key[0])
        self._bytes_max = min(request.max_bytes, owner.bytes_max)
        self._refused: list[tuple[Partition, ErrorCode]] = []
        self.reads: list[_Read] = []

    def read(self, partitions: Iterable[_Read | tuple[Partition, ErrorCode]]) -> None:
        """Take the partitions to read, and the errors of others."""
        for each in partitions:
            if isinstance(each, _Read):
                self.reads.append(each)
            else:
                self._refused.append(each)
        if self._request.max_records <= 0 or self._request.max_bytes <= 0:
            self.reads = []

    @property
    def is_ready(self) -> bool:
        """Return whether there are enough records that can be acquired."""
        needed = max(self._request.min_bytes, 1)
        for read in self.reads:
            if read.log.is_deleted:
                return True
            offset = read.share.next_offset(self._terms.in_flight_max)
            if offset is not None:
                needed -= read.log.readable_bytes(offset, needed, committed=self._committed)
            if needed <= 0:
                return True
        return False

    async def wait(self) -> ShareFetchResponse:
        """Return the response when it is ready, or the time is over."""
        waiters = [each for read in self.reads for each in (read.log.waiters, read.share.waiters)]
        await wait_until(lambda: self.is_ready, waiters, self._request.max_wait_ms)
        return self.response()

    def response(self) -> ShareFetchResponse:
        """Acquire records of each partition now."""
        rows = dict(self._read())
        for partition, code in self._refused:
            rows[partition] = PartitionData(
                partition_index=partition.number, error_code=code.value, records=b""
            )
        for partition, (code, text) in self._failures.items():
            row = rows.get(partition) or PartitionData(
                partition_index=partition.number, records=b""
            )
            rows[partition] = row.replace(
                acknowledge_error_code=code.value, acknowledge_error_message=text
            )
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=self._owner.lock_ms(self._group_id),
            responses=tuple(
                ShareFetchableTopicResponse(topic_id=topic_id, partitions=tuple(found))
                for topic_id, found in _by_topic(rows.items()).items()
            ),
        )

    def _read(self) -> Iterator[tuple[Partition, PartitionData]]:
        """Yield the rows of partitions of which records were acquired."""
        reads = [
            (read, offset)
            for read in self._rotated()
            if not read.log.is_deleted
            and (offset := read.share.next_offset(self._terms.in_flight_max)) is not None
        ]
        left, terms = self._bytes_max, self._terms
        for number, (read, offset) in enumerate(reads):
            if terms.records_max <= 0:
                return
            data = read.log.read(
                offset,
                left // (len(reads) - number),
                committed=self._committed,
                at_least_one=left == self._bytes_max,
            )
            if not data.batches:
                continue
            acquired = self._owner.acquire(self._group_id, self._member_id, read, data, terms)
            if not acquired:
                continue
            terms = terms._replace(
                records_max=terms.records_max - sum(each.last - each.first + 1 for each in acquired)
            )
            records = b"".join(
                each.data
                for each in data.batches
                if each.last_offset >= acquired[0].first and each.base_offset <= acquired[-1].last
            )
            left -= len(records)
            yield (
                read.partition,
                PartitionData(
                    partition_index=read.partition.number,
                    records=records,
                    acquired_records=tuple(
                        AcquiredRecords(
                            first_offset=each.first,
                            last_offset=each.last,
                            delivery_count=each.deliveries,
                        )
                        for each in acquired
                    ),
                ),
            )

    def _rotated(self) -> Sequence[_Read]:
        """Return the partitions, another one first in each request of a session."""
        start = max(self._request.share_session_epoch, 0) % max(len(self.reads), 1)
        return [*self.reads[start:], *self.reads[:start]]


_NOT_HOSTED: Final = "This server does not host this topic-partition."
_RENEWALS: Final = "share.renew.acknowledge.enable"


def _check_request(
    group_id: str | None, member_id: str | None, context: RequestContext, node: Node
) -> str:
    """Return the group of a request that may use it.

    Raises:
        ApiError: it may not, or group or member are missing.
    """
    if group_id is None:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if not is_allowed(node, context, _FETCH_READ_GROUP, group_id):
        raise ApiError(_FETCH_READ_GROUP.refusal)
    check_member_id(member_id)
    return group_id


async def _later(error: ApiError, wait_ms: int) -> Response:
    """Raise an error after a while: the client would ask again at once."""
    await asyncio.sleep(max(wait_ms, 0) / 1000)
    raise error


def _work(request: ShareFetchRequest | ShareAcknowledgeRequest) -> dict[Partition, Batches]:
    """Return what a request acknowledges, by partition."""
    return {
        Partition(topic.topic_id, each.partition_index): each.acknowledgement_batches
        for topic in request.topics
        for each in topic.partitions
    }


def _parts(batches: Batches, *, renews: bool) -> Iterator[Acknowledged]:
    """Yield what batches of acknowledgements say, with neighbours of one type as one.

    Raises:
        ApiError: a batch does not fit.
    """
    previous = -1
    for batch in batches:
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        fits = previous <= first <= last and len(types) in (1, last - first + 1)
        if not fits or not all(0 <= kind <= (RENEW if renews else RENEW - 1) for kind in types):
            raise ApiError(ErrorCode.INVALID_REQUEST)
        previous = last
        if len(types) == 1:
            yield Acknowledged(first, last, types[0])
            continue
        start = 0
        for at in range(1, len(types) + 1):
            if at == len(types) or types[at] != types[start]:
                yield Acknowledged(first + start, first + at - 1, types[start])
                start = at


def _is_aborted(batch: RecordBatch, data: Slice) -> bool:
    return batch.is_transactional and any(
        each.producer_id == batch.producer_id
        and each.first_offset <= batch.base_offset < each.last_offset
        for each in data.aborted
    )


def _without(acquired: Acquired, parts: Iterable[Acknowledged]) -> Iterator[Acquired]:
    """Yield what is left of acquired records; the parts are in order."""
    first = acquired.first
    for part in parts:
        if part.last < first or part.first > acquired.last:
            continue
        if part.first > first:
            yield acquired._replace(first=first, last=part.first - 1)
        first = part.last + 1
    if first <= acquired.last:
        yield acquired._replace(first=first)


def _by_topic(rows: Iterable[tuple[Partition, T]]) -> dict[bytes, list[T]]:
    found: dict[bytes, list[T]] = {}
    for partition, row in rows:
        found.setdefault(partition.topic_id, []).append(row)
    return found


def _refuse(
    response: type[ShareFetchResponse | ShareAcknowledgeResponse],
) -> Callable[..., Response]:
    """Return a ``refuse`` with the code alone, as a broker's."""

    def refuse(_request: object, _version: int, error: BaseException) -> Response:
        code, _ = answer_of(error)
        return response(error_code=code.value)

    return refuse
