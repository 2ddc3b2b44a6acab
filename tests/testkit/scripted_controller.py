"""A controller with a metadata log of the test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper_wire.messages.describe_quorum import (
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from doorkeeper_wire.messages.fetch import FetchableTopicResponse, FetchResponse, SnapshotId
from doorkeeper_wire.messages.fetch import PartitionData as FetchedPartition
from testkit.batches import batch_bytes
from testkit.scripted_server import FetchSnapshotResponse, ScriptedServer

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

EPOCH = 7
CREDENTIAL = b"\x01\x0b\x00" + b"a salted password"
"""A record of another type, whose content is no message."""


def text(value: str) -> bytes:
    """Return a compact text."""
    encoded = value.encode()
    assert len(encoded) < 0x7F, "one byte of length"
    return bytes((len(encoded) + 1,)) + encoded


def added(number: int, binding: AclBinding) -> bytes:
    """Return the record of an ACL."""
    (resource_type, name, pattern), entry = binding
    return b"".join(
        (
            b"\x01\x12\x00",
            number.to_bytes(16),
            bytes((resource_type,)),
            text(name),
            bytes((pattern,)),
            text(entry.principal),
            text(entry.host),
            bytes((entry.operation, entry.permission_type)),
            b"\0",
        )
    )


def removed(number: int) -> bytes:
    """Return the record of the removal of an ACL."""
    return b"\x01\x13\x00" + number.to_bytes(16) + b"\0"


def batch(offset: int, *records: bytes, epoch: int = EPOCH) -> bytes:
    """Return a batch of the log."""
    found = batch_bytes(*records, base_offset=offset)
    return found[:12] + epoch.to_bytes(4) + found[16:]


class ScriptedController(ScriptedServer):
    """The leader of a quorum; ``log`` are its batches by first offset."""

    def __init__(self) -> None:
        super().__init__(
            DescribeQuorum=lambda _: self.quorum(),
            Fetch=self._fetch,
            FetchSnapshot=self._fetch_snapshot,
        )
        self.log: dict[int, bytes] = {}
        self._sizes: dict[int, int] = {}
        self.high_watermark = 0
        self.start = 0
        self.snapshot = b""
        """The content of the snapshot of the offsets before ``start``."""
        self.part_bytes = 100
        self.error = 0
        self.quorum_error = 0
        self._changed: asyncio.Future[None] | None = None

    def append(self, *records: bytes, is_committed: bool = True) -> None:
        """Append a batch."""
        offset = self.end
        self.log[offset] = batch(offset, *records)
        self._sizes[offset] = len(records)
        if is_committed:
            self.commit()
        self.wake()

    def commit(self) -> None:
        self.high_watermark = self.end
        self.wake()

    @property
    def end(self) -> int:
        last = max(self.log, default=None)
        return self.start if last is None else last + self._sizes[last]

    def wake(self) -> None:
        """Answer the Fetch that waits."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def drop(self) -> None:
        super().drop()
        self.wake()

    def quorum(self) -> DescribeQuorumResponse:
        partition = PartitionData(
            partition_index=0, error_code=self.quorum_error, leader_id=1, leader_epoch=EPOCH
        )
        topic = TopicData(topic_name="__cluster_metadata", partitions=(partition,))
        return DescribeQuorumResponse(topics=(topic,))

    def _fetch(self, request: Any) -> Any:
        return asyncio.ensure_future(self._answer_fetch(request))

    async def _answer_fetch(self, request: Any) -> FetchResponse:
        (wanted,) = request.topics[0].partitions
        assert wanted.last_fetched_epoch >= 0, "a broker answers 42"
        assert wanted.current_leader_epoch <= EPOCH, "a broker answers 75"
        offset = wanted.fetch_offset
        if offset >= self.end and not self.error and request.max_wait_ms:
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        snapshot = SnapshotId()
        records = b""
        if offset < self.start:
            snapshot = SnapshotId(self.start, EPOCH)
        else:
            behind = [at for at in self.log if at + self._sizes[at] > offset]
            records = b"".join(self.log[at] for at in sorted(behind))
        partition = FetchedPartition(
            partition_index=0,
            error_code=self.error,
            high_watermark=self.high_watermark,
            log_start_offset=self.start,
            records=records,
            snapshot_id=snapshot,
        )
        topic = FetchableTopicResponse(topic_id=request.topics[0].topic_id, partitions=(partition,))
        return FetchResponse(responses=(topic,))

    def _fetch_snapshot(self, request: Any) -> FetchSnapshotResponse:
        (wanted,) = request["topics"][0]["partitions"]
        at = wanted["position"]
        partition = {
            "snapshot_id": wanted["snapshot_id"],
            "size": len(self.snapshot),
            "position": at,
            "unaligned_records": self.snapshot[at : at + self.part_bytes],
        }
        return FetchSnapshotResponse(topics=[{"partitions": [partition]}])
