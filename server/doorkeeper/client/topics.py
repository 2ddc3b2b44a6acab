"""Records of topics: partitions, offsets, and batches of records in the form of a broker.

Only committed records of transactions are read (``read_committed``): the end of a partition is its
last stable offset, and a batch of records comes with the aborted transactions that it has parts of.

Source: ``OffsetFetcher`` and ``FetchCollector`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from msgspec import Struct

from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import ApiFailure, ClientError, NoSuchNode
from doorkeeper.client.nodes import NodesClient, RetryNeeded
from doorkeeper_wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from doorkeeper_wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

T = TypeVar("T")

FETCH_BYTES: Final = 8 << 20
"""Bytes of records in a response; a batch that is larger comes whole."""

# As Kafka's own consumers wait (fetch.max.wait.ms).
_WAIT_MS: Final = 500
_BEGIN, _END = -2, -1
# The isolation level: records of aborted transactions are no inputs.
_COMMITTED: Final = 1
_IDS_FROM: Final = 13
"""The version of Fetch that names topics by their ids."""

_NO_ID: Final = bytes(16)
_OFFSET_NOT_AVAILABLE: Final = 78
_INCONSISTENT_TOPIC_ID: Final = 103
_RETRIABLE: Final = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        _OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_ID,
        _INCONSISTENT_TOPIC_ID,
    }
)
"""Errors that pass when another broker has become the leader of a partition."""


class TopicDescription(Struct, frozen=True):
    """A topic: the id of its cluster, its own id, and the leader of each partition.

    An id is empty, or 16 zero bytes, where the servers give none.
    """

    cluster_id: str
    topic_id: bytes
    leaders: dict[int, int]


class PartitionOffsets(Struct, frozen=True):
    """The first offset of a partition, and that of the next record that will be committed."""

    first: int
    end: int


class Fetched(Struct, frozen=True):
    """Batches of records, and aborted transactions: producer id and first offset of each."""

    records: bytes
    aborted: tuple[tuple[int, int], ...]


class TopicReader(NodesClient):
    """A reader of topics, without a group; it keeps its connections open until ``close``."""

    def __init__(self, config: ClientConfig) -> None:
        """Set the configuration; the first call connects."""
        super().__init__(config)
        self._topics: dict[str, TopicDescription] = {}

    async def describe(self, topic: str) -> TopicDescription:
        """Return a topic as the cluster describes it now."""
        return await self._retry(lambda: self._describe(topic))

    async def offsets(self, topic: str) -> dict[int, PartitionOffsets]:
        """Return the offsets of each partition, by number."""

        async def once() -> dict[int, PartitionOffsets]:
            leaders = (await self._topic(topic)).leaders
            return {
                partition: PartitionOffsets(
                    await self._offset(topic, partition, _BEGIN),
                    await self._offset(topic, partition, _END),
                )
                for partition in sorted(leaders)
            }

        return await self._retry(once)

    async def fetch(
        self, topic: str, partition: int, offset: int, size: int = FETCH_BYTES
    ) -> Fetched:
        """Return batches of which the first has an offset, or a later one where that is missing."""
        return await self._retry(lambda: self._fetch(topic, partition, offset, size))

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        async def once() -> T:
            try:
                return await call()
            except ClientError as error:
                # Another broker may lead the partition by now.
                self._topics.clear()
                if isinstance(error, NoSuchNode):
                    raise RetryNeeded(str(error)) from error
                raise

        return await self._nodes.retry(once)

    async def _describe(self, topic: str) -> TopicDescription:
        request = MetadataRequest(
            topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False
        )
        answer = await self._nodes.call(request, MetadataResponse)
        _check(topic, answer.error_code)
        if not answer.topics:
            raise RetryNeeded(f"{topic}: the response does not describe it")
        (description,) = answer.topics
        _check(topic, description.error_code)
        leaders = {
            partition.partition_index: partition.leader_id for partition in description.partitions
        }
        described = TopicDescription(answer.cluster_id or "", description.topic_id, leaders)
        self._topics[topic] = described
        return described

    async def _topic(self, topic: str) -> TopicDescription:
        return self._topics.get(topic) or await self._describe(topic)

    async def _offset(self, topic: str, partition: int, timestamp: int) -> int:
        described = await self._topic(topic)
        requested = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=_COMMITTED,
            topics=(ListOffsetsTopic(name=topic, partitions=(requested,)),),
        )
        connection = await self._nodes.connection(described.leaders[partition])
        answer = await connection.call(request, ListOffsetsResponse)
        ((partition_offset,),) = (answered.partitions for answered in answer.topics)
        _check(f"partition {partition} of {topic}", partition_offset.error_code)
        return partition_offset.offset

    async def _fetch(self, topic: str, partition: int, offset: int, size: int) -> Fetched:
        described = await self._topic(topic)
        connection = await self._nodes.connection(described.leaders[partition])
        version = connection.version_of(FetchRequest)
        # Where the cluster gave no id, the name is all there is.
        by_id = version >= _IDS_FROM
        request = FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=size,
            isolation_level=_COMMITTED,
            topics=(
                FetchTopic(
                    topic="" if by_id else topic,
                    topic_id=described.topic_id if by_id else _NO_ID,
                    partitions=(
                        FetchPartition(
                            partition=partition, fetch_offset=offset, partition_max_bytes=size
                        ),
                    ),
                ),
            ),
        )
        answer = await connection.call(request, FetchResponse)
        subject = f"partition {partition} of {topic}"
        _check(subject, answer.error_code)
        ((fetched,),) = (response.partitions for response in answer.responses)
        _check(subject, fetched.error_code)
        if not fetched.records:
            raise RetryNeeded(f"partition {partition} of {topic} has no record at {offset}")
        aborted = fetched.aborted_transactions or ()
        return Fetched(
            fetched.records,
            tuple((transaction.producer_id, transaction.first_offset) for transaction in aborted),
        )


def _check(subject: str, code: int) -> None:
    """Check the error code of a topic or partition.

    Raises:
        RetryNeeded: the error passes.
        ApiFailure: it does not.
    """
    if not code:
        return
    failure = ApiFailure(code, None)
    if code in _RETRIABLE:
        raise RetryNeeded(f"{subject}: {failure}")
    raise failure
