"""Produce (0): appends record batches; the server's handler authorizes them.

A batch must be of magic 2 and alone in its partition (87), whole, and right by its checksum (2),
not larger than ``max.message.bytes`` of the topic (10), and compressed in a way that the version
knows (76). It has the records that its header claims (87), with keys if the topic is compacted
(87), which can be decompressed (-1), as far as ``contents`` opens it. The acknowledgements that a
client asks for are 0, 1 or -1 (21), and Kafka's own topics are written by a client named
``__admin_client`` alone (17). Sequence numbers are checked (45, 47), and that a transactional batch
is part of its producer's transaction (47, 48, 49).

The times of records are not checked.

Source: ``ReplicaManager.appendRecords`` and ``LogValidator`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import produce
from doorkeeper.server.resources.settings.topic import effective
from doorkeeper.server.resources.topics.names import INTERNAL_TOPICS
from doorkeeper_broker.batches import check_batch, read_batch, with_append_time
from doorkeeper_broker.contents import check_keys, check_records
from doorkeeper_broker.transactions import ADDS_PARTITIONS_FROM, Producer
from doorkeeper_wire.messages.produce import PartitionProduceResponse

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Outcome
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.declared import StoredTopic
    from doorkeeper_broker.records import Records
    from doorkeeper_broker.transactions import Partition
    from doorkeeper_wire.messages.produce import PartitionProduceData, ProduceRequest

_ACKNOWLEDGEMENTS: Final = (-1, 0, 1)
_ADMIN_CLIENT: Final = "__admin_client"


class CheckTransaction(Protocol):
    """Checks that a transactional batch is part of its producer's transaction."""

    def __call__(
        self, transactional_id: str | None, producer: Producer, partition: Partition, version: int
    ) -> None: ...


class _Rules(Struct, frozen=True):
    """The configuration of a topic that concerns its batches, and where it was read."""

    topic: StoredTopic
    settings: Settings
    bytes_max: int
    append_time: bool
    is_compacted: bool


class Producing:
    """Appends the records of producers."""

    def __init__(self, records: Records, check_transaction: CheckTransaction) -> None:
        self._records = records
        self._check_transaction = check_transaction
        self._rules: dict[bytes, _Rules] = {}

    def api(self) -> Api:
        """Return the API, with the permissions of the server's handler."""
        return replace(produce.API, handle=self.handle)

    def handle(self, request: ProduceRequest, context: RequestContext, node: Node) -> Outcome:
        """Append the records of each partition."""

        def append(topic: StoredTopic, data: PartitionProduceData) -> PartitionProduceResponse:
            try:
                return self._append(request, context, node, topic, data)
            except ApiError as error:
                return produce.refusal(data.index, error.code, error.message)

        return produce.handle(request, context, node, append)

    def _append(
        self,
        request: ProduceRequest,
        context: RequestContext,
        node: Node,
        topic: StoredTopic,
        data: PartitionProduceData,
    ) -> PartitionProduceResponse:
        version = context.authorizable.request_version
        batch = read_batch(data.records or b"", version)
        if request.acks not in _ACKNOWLEDGEMENTS:
            raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
        if topic.name in INTERNAL_TOPICS and context.authorizable.client_id != _ADMIN_CLIENT:
            text = f"Cannot append to internal topic {topic.name}"
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
        if batch.is_transactional:
            self._check_transaction(
                request.transactional_id,
                Producer(batch.producer_id, batch.producer_epoch),
                (topic.name, data.index),
                version,
            )
        rules = self._rules_of(topic, node)
        if len(batch.data) > rules.bytes_max:
            # Without a text, as by a broker: clients show their own.
            raise ApiError(ErrorCode.MESSAGE_TOO_LARGE)
        check_batch(batch)
        inspection = self._records.memory.inspection
        check_records(batch, inspection)
        if rules.is_compacted:
            check_keys(batch, f"{topic.name}-{data.index}", inspection)
        append_time_ms = -1
        if rules.append_time:
            append_time_ms = node.now_ms()
            batch = with_append_time(batch, append_time_ms)
        log = self._records.log_of(topic, data.index)
        return PartitionProduceResponse(
            index=data.index,
            base_offset=log.append(
                batch, begins_at_zero=batch.is_transactional and version >= ADDS_PARTITIONS_FROM
            ),
            log_append_time_ms=append_time_ms,
            log_start_offset=log.start_offset,
        )

    def _rules_of(self, topic: StoredTopic, node: Node) -> _Rules:
        found = self._rules.get(topic.topic_id)
        # Topics and settings are immutable: others are other objects.
        if found is None or found.topic is not topic or found.settings is not node.settings:
            configs = effective(topic.configs, node.settings.values_of)
            found = self._rules[topic.topic_id] = _Rules(
                topic,
                node.settings,
                int(configs["max.message.bytes"][0] or 0),
                configs["message.timestamp.type"][0] == "LogAppendTime",
                "compact" in (configs["cleanup.policy"][0] or ""),
            )
        return found
