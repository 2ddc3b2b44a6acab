"""AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit and EndTxn: transactions of producers.

Each needs WRITE on the transactional id (53), from clients; AddPartitionsToTxn also WRITE on each
topic (29), the APIs of offsets READ on the group (30), and TxnOffsetCommit READ on each topic (29).

    AddPartitionsToTxn 0-5   version 4 and later come from brokers and need CLUSTER_ACTION (31); if
                             one partition is refused, the others are 55
    AddOffsetsToTxn 0-4      the offsets of a group become part of the transaction
    TxnOffsetCommit 0-5      offsets are kept until the end; version 5 adds the group (KIP-890)
    EndTxn 0-5               version 5 answers the producer's next epoch (KIP-890)

Clients that do not know PRODUCER_FENCED (90) get 47, and so do all that write. A write outside the
transaction is 48, or 120 for clients that know it. A transaction that is not ended in its time is
aborted, and its producer is fenced.

Source: ``KafkaApis`` and ``TransactionCoordinator`` of the broker 4.3.1.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api import init_producer_id
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Update, UpdateOperation
from doorkeeper.server.api.offset_commit import stored_offset
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs, require_on_cluster
from doorkeeper.server.resources.groups import Committer, check_committer, is_too_long
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import OFFSET, StoredOffset
from doorkeeper.server.state.outcome import commit
from doorkeeper_broker.batches import marker
from doorkeeper_broker.transactions import (
    ADDS_PARTITIONS_FROM,
    Ending,
    Producer,
    Transactions,
)
from doorkeeper_wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from doorkeeper_wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from doorkeeper_wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from doorkeeper_wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from doorkeeper_wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Outcome, Services
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_broker.records import Records
    from doorkeeper_broker.transactions import Partition

_CLUSTER_ACTION, _ADD_WRITE_ID, _ADD_WRITE = needs(AddPartitionsToTxnRequest.API_KEY)
_OFFSETS_WRITE_ID, _OFFSETS_READ_GROUP = needs(AddOffsetsToTxnRequest.API_KEY)
(_END_WRITE_ID,) = needs(EndTxnRequest.API_KEY)
_COMMIT_WRITE_ID, _COMMIT_READ_GROUP, _COMMIT_READ = needs(TxnOffsetCommitRequest.API_KEY)

BROKERS_FROM: Final = 4
"""The version of AddPartitionsToTxn that brokers send."""

FENCED_FROM: Final = 2
INIT_FENCED_FROM: Final = 4
"""The version of the APIs, and of InitProducerId, whose clients know PRODUCER_FENCED."""

ABORTABLE_FROM: Final = 11
"""The version of Produce whose clients know TRANSACTION_ABORTABLE."""

RAISES_EPOCH_FROM: Final = 5
"""The version of EndTxn that answers another epoch."""

COMMIT_ABORTABLE_FROM: Final = 4
"""The version of TxnOffsetCommit whose clients know TRANSACTION_ABORTABLE."""

ADDS_GROUP_FROM: Final = 5
"""The version of TxnOffsetCommit that makes the group part of the transaction."""


_NOT_ADDED: Final = "Partition was not added to the transaction"


class _CommitRow(NamedTuple):
    """A partition in the answer to TxnOffsetCommit; rows of one number and name are one topic."""

    number: int
    name: str
    partition: int
    code: ErrorCode


class TransactionApis:
    """The handlers of transactions, and the timer of their time-outs."""

    def __init__(self, records: Records, node: Node) -> None:
        self._records = records
        self._node = node
        self.transactions = Transactions(node.new_producer_id)
        self._timer: asyncio.TimerHandle | None = None

    def apis(self) -> tuple[Api, ...]:
        return (
            replace(init_producer_id.API, handle=partial(init_producer_id.handle, begin=self.init)),
            declare(AddPartitionsToTxnRequest, self.add_partitions, _refuse_partitions),
            declare(AddOffsetsToTxnRequest, self.add_offsets, refuse_as(AddOffsetsToTxnResponse)),
            declare(EndTxnRequest, self.end, refuse_as(EndTxnResponse)),
            declare(TxnOffsetCommitRequest, self.commit_offsets, _refuse_commit, max_version=5),
        )

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    # --- the APIs

    def init(self, request: InitProducerIdRequest, version: int) -> InitProducerIdResponse:
        """Give a transactional id to a producer.

        Raises:
            ApiError: see ``Transactions.init``; 51 where an open transaction was aborted first.
        """
        present = None
        if request.producer_id >= 0:
            present = Producer(request.producer_id, request.producer_epoch)
        assert request.transactional_id, "the server has checked it"
        try:
            found = self.transactions.init(
                request.transactional_id, request.transaction_timeout_ms, present
            )
        except ApiError as error:
            raise ApiError(_for_client(version, error.code, INIT_FENCED_FROM)) from None
        if isinstance(found, Ending):
            self._finish(found)
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        return InitProducerIdResponse(producer_id=found.producer_id, producer_epoch=found.epoch)

    def add_partitions(
        self, request: AddPartitionsToTxnRequest, context: RequestContext, node: Node
    ) -> AddPartitionsToTxnResponse:
        """Make partitions part of transactions."""
        version = context.authorizable.request_version
        if version >= BROKERS_FROM:
            require_on_cluster(node, context, _CLUSTER_ACTION)
            return AddPartitionsToTxnResponse(
                results_by_transaction=tuple(
                    AddPartitionsToTxnResult(
                        transactional_id=each.transactional_id,
                        topic_results=self._add(each, context, node),
                    )
                    for each in request.transactions
                )
            )
        asked = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=self._add(asked, context, node)
        )

    def _add(
        self, asked: AddPartitionsToTxnTransaction, context: RequestContext, node: Node
    ) -> tuple[AddPartitionsToTxnTopicResult, ...]:
        version = context.authorizable.request_version
        is_client = version < BROKERS_FROM
        if is_client and not is_allowed(node, context, _ADD_WRITE_ID, asked.transactional_id):
            return _partition_rows(asked.topics, lambda _partition: _ADD_WRITE_ID.refusal)
        names = [topic.name for topic in asked.topics for _ in topic.partitions]
        allowed = frozenset(names)
        if is_client:
            usual = [name for name in names if name not in INTERNAL_TOPICS]
            allowed = allowed_names(node, context, _ADD_WRITE, usual)
        errors = {
            (topic.name, index): _existing_error(
                topic.name, index, allowed, node, _ADD_WRITE.refusal
            )
            for topic in asked.topics
            for index in topic.partitions
        }
        if any(errors.values()):
            return _partition_rows(
                asked.topics,
                lambda partition: errors[partition] or ErrorCode.OPERATION_NOT_ATTEMPTED,
            )
        error = _error_of(version, lambda: self._add_or_verify(asked, errors, node))
        return _partition_rows(asked.topics, lambda _partition: error)

    def _add_or_verify(
        self, asked: AddPartitionsToTxnTransaction, partitions: Iterable[Partition], node: Node
    ) -> None:
        producer = Producer(asked.producer_id, asked.producer_epoch)
        if asked.verify_only:
            for each in partitions:
                self.transactions.check_partition(asked.transactional_id, producer, each)
            return
        self.transactions.add_partitions(
            asked.transactional_id, producer, partitions, node.now_ms()
        )
        self._set_timer()

    def check_batch(
        self, transactional_id: str | None, producer: Producer, partition: Partition, version: int
    ) -> None:
        """Check a transactional batch; clients of KIP-890 make its partition part of it.

        Raises:
            ApiError: the producer is fenced, or the partition is not part of its transaction.
        """
        assert transactional_id is not None, "the server has checked it"
        try:
            if version >= ADDS_PARTITIONS_FROM:
                now_ms = self._node.now_ms()
                self.transactions.add_partitions(transactional_id, producer, [partition], now_ms)
                self._set_timer()
            else:
                self.transactions.check_partition(transactional_id, producer, partition)
        except ApiError as error:
            code = _of_verification(error.code, is_abortable=version >= ABORTABLE_FROM)
            is_plain = code is not ErrorCode.INVALID_TXN_STATE
            raise ApiError(code, None if is_plain else _NOT_ADDED) from None

    def add_offsets(
        self, request: AddOffsetsToTxnRequest, context: RequestContext, node: Node
    ) -> AddOffsetsToTxnResponse:
        """Make the offsets of a group part of a transaction."""
        if not is_allowed(node, context, _OFFSETS_WRITE_ID, request.transactional_id):
            return AddOffsetsToTxnResponse(error_code=_OFFSETS_WRITE_ID.refusal.value)
        if not is_allowed(node, context, _OFFSETS_READ_GROUP, request.group_id):
            return AddOffsetsToTxnResponse(error_code=_OFFSETS_READ_GROUP.refusal.value)
        producer = Producer(request.producer_id, request.producer_epoch)

        def add() -> None:
            self.transactions.add_group(
                request.transactional_id, producer, request.group_id, node.now_ms()
            )
            self._set_timer()

        error = _error_of(context.authorizable.request_version, add)
        return AddOffsetsToTxnResponse(error_code=error.value)

    def commit_offsets(
        self, request: TxnOffsetCommitRequest, context: RequestContext, node: Node
    ) -> TxnOffsetCommitResponse:
        """Keep offsets until the transaction is committed.

        Raises:
            ApiError: a permission on the id or the group is missing.
        """
        version = context.authorizable.request_version
        if not is_allowed(node, context, _COMMIT_WRITE_ID, request.transactional_id):
            raise ApiError(_COMMIT_WRITE_ID.refusal)
        if not is_allowed(node, context, _COMMIT_READ_GROUP, request.group_id):
            raise ApiError(_COMMIT_READ_GROUP.refusal)
        names = [topic.name for topic in request.topics]
        allowed = allowed_names(node, context, _COMMIT_READ, names)
        refused: list[_CommitRow] = []
        tried: list[_CommitRow] = []
        offsets: list[StoredOffset] = []
        for number, topic in enumerate(request.topics):
            found = node.topics.get(topic.name)
            for row in topic.partitions:
                index = row.partition_index
                code = _existing_error(topic.name, index, allowed, node, _COMMIT_READ.refusal)
                if code or found is None:
                    refused.append(_CommitRow(0, topic.name, index, code))
                    continue
                if is_too_long(row.committed_metadata or ""):
                    code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    offsets.append(stored_offset(request.group_id, row, found))
                tried.append(_CommitRow(number, topic.name, index, code))
        error = ErrorCode.NONE
        if offsets:
            error = _of_verification(
                _error_of(version, lambda: self._stage(request, offsets, node, version)),
                is_abortable=version >= COMMIT_ABORTABLE_FROM,
            )
        # A broker merges the coordinator's response into that of the refusals if there are any.
        answered = (
            row._replace(number=0 if refused else row.number, code=row.code or error)
            for row in tried
        )
        return _commit_response((*refused, *answered))

    def _stage(
        self,
        request: TxnOffsetCommitRequest,
        rows: Sequence[StoredOffset],
        node: Node,
        version: int,
    ) -> None:
        producer = Producer(request.producer_id, request.producer_epoch)
        if request.generation_id >= 0 or request.member_id or request.group_instance_id is not None:
            by = Committer(
                request.member_id,
                request.group_instance_id,
                request.generation_id,
                version,
                is_transactional=True,
            )
            check_committer(node.groups.get(request.group_id), by)
        if version >= ADDS_GROUP_FROM:
            self.transactions.add_group(
                request.transactional_id, producer, request.group_id, node.now_ms()
            )
            self._set_timer()
        self.transactions.stage_offsets(
            request.transactional_id, producer, request.group_id, rows, node.state.offsets
        )

    def end(self, request: EndTxnRequest, context: RequestContext, node: Node) -> Outcome:
        """Commit or abort a transaction."""
        version = context.authorizable.request_version
        if not is_allowed(node, context, _END_WRITE_ID, request.transactional_id):
            return EndTxnResponse(error_code=_END_WRITE_ID.refusal.value)
        try:
            found = self.transactions.end(
                request.transactional_id,
                Producer(request.producer_id, request.producer_epoch),
                commits=request.committed,
                raises_epoch=version >= RAISES_EPOCH_FROM,
            )
        except ApiError as error:
            return EndTxnResponse(error_code=_for_client(version, error.code).value)
        if isinstance(found, Producer):
            return _end_response(found)
        if not found.offsets:
            self._finish(found)
            return _end_response(found.producer)
        return Update(
            UpdateOperation.OFFSETS,
            partial(self._commit, found, context),
            lambda _: _end_response(found.producer),
        )

    # --- the end of a transaction

    async def _commit(self, ending: Ending, context: RequestContext, services: Services) -> None:
        """Commit the offsets of a transaction, then its records.

        Raises:
            ApiError: the offsets could not be stored; the producer asks again.
        """
        try:
            change = edit(OFFSET, set=ending.offsets)
            await commit(services.log, lambda _state: (change, None), context)
        except ApiError:
            ending.transaction.reopen(self._node.now_ms())
            self._set_timer()
            raise
        self._finish(ending)

    def _finish(self, ending: Ending) -> None:
        """Write the markers of a transaction; topics that are gone have none."""
        node = self._node
        batch = marker(*ending.producer, node.now_ms(), commits=ending.commits)
        for name, index in ending.partitions:
            topic = node.topics.get(name)
            if topic is not None:
                log = self._records.log_of(topic, index)
                log.append_marker(batch, commits=ending.commits)
        ending.transaction.complete()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_ms = self.transactions.next_deadline_ms
        if deadline_ms is not None:
            delay_s = max(deadline_ms - self._node.now_ms(), 1) / 1000
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._expire)

    def _expire(self) -> None:
        self._timer = None
        for ending in self.transactions.expire(self._node.now_ms()):
            self._finish(ending)
        self._set_timer()


def _error_of(version: int, work: Callable[[], None]) -> ErrorCode:
    """Return the error of a step, as clients of this version know it; NONE if it succeeds."""
    try:
        work()
    except ApiError as error:
        return _for_client(version, error.code)
    return ErrorCode.NONE


def _for_client(version: int, code: ErrorCode, fenced_from: int = FENCED_FROM) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED and version < fenced_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def _of_verification(code: ErrorCode, *, is_abortable: bool) -> ErrorCode:
    """Return the error of a write, whose broker asks the coordinator about the transaction."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.INVALID_TXN_STATE and is_abortable:
        return ErrorCode.TRANSACTION_ABORTABLE
    return code


def _existing_error(
    name: str, index: int, allowed: frozenset[str], node: Node, refusal: ErrorCode
) -> ErrorCode:
    """Return why a partition cannot be used; NONE where it exists and is allowed."""
    if name not in allowed:
        return refusal
    topic = node.topics.get(name)
    if topic is None or not 0 <= index < topic.partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _end_response(producer: Producer) -> EndTxnResponse:
    # Versions without these fields leave them out.
    return EndTxnResponse(producer_id=producer.producer_id, producer_epoch=producer.epoch)


def _partition_rows(
    topics: Iterable[AddPartitionsToTxnTopic], error_of: Callable[[Partition], ErrorCode]
) -> tuple[AddPartitionsToTxnTopicResult, ...]:
    return tuple(
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=tuple(
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=error_of((topic.name, index)).value,
                )
                for index in topic.partitions
            ),
        )
        for topic in topics
    )


def _commit_response(rows: Iterable[_CommitRow]) -> TxnOffsetCommitResponse:
    topics: dict[tuple[int, str], list[TxnOffsetCommitResponsePartition]] = {}
    for number, name, index, code in rows:
        row = TxnOffsetCommitResponsePartition(partition_index=index, error_code=code.value)
        topics.setdefault((number, name), []).append(row)
    return TxnOffsetCommitResponse(
        topics=tuple(
            TxnOffsetCommitResponseTopic(name=name, partitions=tuple(partitions))
            for (_, name), partitions in topics.items()
        )
    )


def _refuse_partitions(
    request: AddPartitionsToTxnRequest, version: int, error: BaseException
) -> AddPartitionsToTxnResponse:
    code, _ = answer_of(error)
    if version >= BROKERS_FROM:
        return AddPartitionsToTxnResponse(error_code=code.value)
    rows = _partition_rows(request.v3_and_below_topics, lambda _partition: code)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)


def _refuse_commit(
    request: TxnOffsetCommitRequest, _version: int, error: BaseException
) -> TxnOffsetCommitResponse:
    code, _ = answer_of(error)
    return _commit_response(
        _CommitRow(number, topic.name, row.partition_index, code)
        for number, topic in enumerate(request.topics)
        for row in topic.partitions
    )
