"""The metadata log of a cluster, ``__cluster_metadata``, read from the leader of its controllers.

A reader is no replica (replica id -1), but names the epoch of the record before its offset, as
replicas do. The principal needs CLUSTER_ACTION on the cluster, and DESCRIBE to find the leader.

Source: ``KafkaRaftClient.handleFetchRequest`` and ``handleFetchSnapshotRequest`` (4.3.1); KIP-595,
KIP-630.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final, NamedTuple, cast

from msgspec import Struct

from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.connection import ClientConnection
from doorkeeper.client.errors import ApiFailure, ConnectionLost, Unreachable
from doorkeeper_wire.declared import tree
from doorkeeper_wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionRequest,
    TopicRequest,
)
from doorkeeper_wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = bytes(15) + b"\1"

_BYTES: Final = 8 << 20
_SNAPSHOT_BYTES_MAX: Final = 1 << 30
_NO_PARTITION: Final = "the response has no partition of the metadata log"


class LogPosition(NamedTuple):
    """The offset of the next record, and the epoch of the record before it."""

    offset: int
    epoch: int


BEGIN: Final = LogPosition(0, 0)


class LogPart(Struct, frozen=True):
    """Batches of records from a position on; those from the high watermark on are not committed.

    With a ``snapshot`` there are none: the log begins behind it. ``is_other`` says that the log has
    another record before the position.
    """

    records: bytes
    high_watermark: int
    snapshot: LogPosition | None
    is_other: bool


class MetadataLog:
    """A connection to the leader of the controllers."""

    def __init__(self, connection: ClientConnection, leader_epoch: int) -> None:
        self._connection = connection
        self._leader_epoch = leader_epoch

    @classmethod
    async def connect(cls, config: ClientConfig) -> MetadataLog:
        """Connect to that of the addresses which is the leader."""
        problems = []
        for address in config.addresses():
            try:
                connection = await ClientConnection.connect(address, config)
            except (Unreachable, ConnectionLost) as error:
                problems.append(str(error))
                continue
            # Controllers that are not the leader refuse; they need not know who is.
            try:
                return cls(connection, await _leader_epoch(connection))
            except ApiFailure as error:
                await connection.close()
                if error.code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    raise
                problems.append(f"{address} is not the leader")
            except BaseException:
                await connection.close()
                raise
        raise Unreachable("; ".join(problems))

    async def close(self) -> None:
        await self._connection.close()

    async def fetch(self, position: LogPosition, known_end: int, wait_ms: int) -> LogPart:
        """Return records from a position on; without any, wait for them.

        ``known_end`` is the high watermark that the caller knows: a later one ends the wait too,
        since Fetch version 18.
        """
        # No fetch session: one partition has nothing to gain from it.
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=_BYTES,
            topics=(
                FetchTopic(
                    topic_id=TOPIC_ID,
                    partitions=(
                        FetchPartition(
                            partition=0,
                            current_leader_epoch=self._leader_epoch,
                            fetch_offset=position.offset,
                            # Without it a controller answers INVALID_REQUEST (42).
                            last_fetched_epoch=position.epoch,
                            partition_max_bytes=_BYTES,
                            # Version 17 has no such field: the encoder leaves it out.
                            high_watermark=known_end,
                        ),
                    ),
                ),
            ),
        )
        answer = await self._connection.call(request, FetchResponse)
        _check(answer.error_code)
        for topic in answer.responses:
            for partition in topic.partitions:
                _check(partition.error_code)
                snapshot = partition.snapshot_id
                return LogPart(
                    partition.records or b"",
                    partition.high_watermark,
                    None
                    if snapshot.end_offset < 0
                    else LogPosition(snapshot.end_offset, snapshot.epoch),
                    is_other=partition.diverging_epoch.end_offset >= 0,
                )
        raise ConnectionLost(_NO_PARTITION)

    async def snapshot(self, position: LogPosition) -> bytes:
        # In a thread: the first use of a tree imports construct, for 50 ms.
        await asyncio.to_thread(tree, "FetchSnapshotRequest", 0)
        parts: list[bytes] = []
        at = 0
        while True:
            request: Any = _Snapshot(position, self._leader_epoch, at)
            answer: Any = await self._connection.call(request, cast("type[Any]", _Snapshot))
            partition = _partition(answer)
            part, size = partition["unaligned_records"], partition["size"]
            # A size from the wire bounds how much is collected.
            if partition["position"] != at or not 0 < size <= _SNAPSHOT_BYTES_MAX:
                raise ConnectionLost(f"the snapshot {position} cannot be read at byte {at}")
            parts.append(part)
            at += len(part)
            if at >= size:
                return b"".join(parts)
            # A part without bytes would be asked for again for ever.
            if not part:
                raise ConnectionLost(f"the snapshot {position} ends at byte {at} of {size}")


class _Snapshot:
    """A FetchSnapshot request, and a decoder of its responses, by their trees."""

    API_KEY: ClassVar[int] = 59
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1

    def __init__(self, position: LogPosition, leader_epoch: int, at: int) -> None:
        partition = {
            "partition": 0,
            "current_leader_epoch": leader_epoch,
            "snapshot_id": {"end_offset": position.offset, "epoch": position.epoch},
            "position": at,
        }
        topics = [{"name": TOPIC, "partitions": [partition]}]
        self._values = {"max_bytes": _BYTES, "topics": topics}

    def encode(self, version: int) -> bytes:
        encoded: bytes = tree("FetchSnapshotRequest", version).build(self._values)
        return encoded

    @staticmethod
    def decode(frame: bytes, at: int, version: int) -> tuple[Any, int]:
        values: tuple[Any, int] = tree("FetchSnapshotResponse", version).decode(frame, at)
        return values


async def _leader_epoch(connection: ClientConnection) -> int:
    request = DescribeQuorumRequest(
        topics=(TopicRequest(topic_name=TOPIC, partitions=(PartitionRequest(partition_index=0),)),)
    )
    answer = await connection.call(request, DescribeQuorumResponse)
    _check(answer.error_code)
    for topic in answer.topics:
        for partition in topic.partitions:
            _check(partition.error_code)
            return partition.leader_epoch
    raise ConnectionLost(f"{connection.address}: the response does not describe the quorum")


def _partition(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the one partition of a FetchSnapshot response."""
    _check(answer["error_code"])
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            _check(partition["error_code"])
            described: dict[str, Any] = partition
            return described
    raise ConnectionLost(_NO_PARTITION)


def _check(code: int) -> None:
    if code:
        raise ApiFailure(code, None)
