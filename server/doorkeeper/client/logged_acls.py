"""The ACLs of a metadata log.

Of each record only its type is read; records of all types but those of ACLs are skipped unread, so
that no credential of the log is ever decoded or kept. A record: frame version, type and version,
each an unsigned varint; then the message, flexible.

Source: ``MetadataRecordSerde``, ``AccessControlEntryRecord`` and ``RemoveAccessControlEntryRecord``
of Kafka 4.3.1; KIP-868 for transactions.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from doorkeeper.base.slices import SLICE_ITEMS, Slices, run_in_turns
from doorkeeper.client.bindings import binding_of
from doorkeeper.client.errors import ClientError
from doorkeeper.client.metadata_log import BEGIN, LogPosition
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.access_control_entry_record import AccessControlEntryRecord
from doorkeeper_wire.messages.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from doorkeeper_wire.reading import uvarint
from doorkeeper_wire.record_batches import RecordBatch, read_batches

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.client.metadata_log import MetadataLog

_FRAME: Final = 1
_ADDED, _REMOVED = 18, 19
_BEGIN_TRANSACTION, _END_TRANSACTION, _ABORT_TRANSACTION = 23, 24, 25
_KNOWN: Final = frozenset({_ADDED, _REMOVED})

_UNCOMMITTED_S: Final = 0.01
"""The pause before records are asked for again that were not committed yet."""


class OtherLog(ClientError):
    """Committed records do not change: this is another log, as after a cluster made anew."""


class LogAcls:
    """The ACLs after the records up to ``position``, by their ids in the log."""

    def __init__(self) -> None:
        self.position = BEGIN
        self.bindings: dict[bytes, AclBinding] = {}
        self.changes: dict[AclBinding, bool] = {}
        """The bindings that have changed, and whether they are there now."""
        self._transaction: list[tuple[bytes, AclBinding | None]] | None = None

    async def read(self, log: MetadataLog, wait_ms: int) -> bool:
        """Read and apply the next part of a log; return whether it was the last committed one.

        Raises:
            OtherLog: the records before the position are not those of this log.
            Malformed: a part may have been applied.
        """
        before = self.position
        part = await log.fetch(before, before.offset, wait_ms)
        if part.is_other:
            raise OtherLog("the metadata log was replaced")
        if part.snapshot is not None:
            # The log was truncated behind the position, or this is the first Fetch.
            content = await log.snapshot(part.snapshot)
            await asyncio.to_thread(self.load, content, part.snapshot)
            return False
        # A part has up to 8 MB, a second of work.
        await run_in_turns(self.apply(part.records, part.high_watermark), time.perf_counter)
        # Such a Fetch does not wait, and would be repeated without a pause.
        if part.records and self.position == before:
            await asyncio.sleep(_UNCOMMITTED_S)
        return self.position.offset >= part.high_watermark

    def load(self, snapshot: bytes, position: LogPosition) -> None:
        """Replace everything by the records of a snapshot."""
        before = set(self.bindings.values())
        self.bindings, self._transaction = {}, None
        for batch in read_batches(snapshot):
            if not batch.is_control:
                for record in batch.records(_plain(batch)):
                    self._apply(record.value or b"")
        now = set(self.bindings.values())
        self.changes |= dict.fromkeys(before - now, False) | dict.fromkeys(now - before, True)
        self.position = position

    def apply(self, records: bytes, high_watermark: int) -> Slices[None]:
        """Apply the committed ones of the records behind the position.

        A part that is applied twice, as after an interruption, changes nothing more.
        """
        for batch in read_batches(records):
            if batch.base_offset >= high_watermark:
                return
            # Control batches have the leader's markers and no metadata.
            if not batch.is_control:
                for record in batch.records(_plain(batch)):
                    offset = batch.base_offset + record.offset_delta
                    # A Fetch from the middle of a batch returns the whole batch.
                    if self.position.offset <= offset < high_watermark:
                        self._apply(record.value or b"")
                    if offset % SLICE_ITEMS == 0:
                        yield
            # The high watermark may be within a batch, whose rest comes with the next Fetch.
            next_offset = min(batch.last_offset + 1, high_watermark)
            if next_offset > self.position.offset:
                self.position = LogPosition(next_offset, batch.leader_epoch)

    def _apply(self, record: bytes) -> None:
        frame, at = uvarint(record, 0, "frame version")
        if frame != _FRAME:
            raise Malformed("frame version", 0, f"{frame}; supported: {_FRAME}")
        kind, at = uvarint(record, at, "type")
        if kind == _BEGIN_TRANSACTION:
            self._transaction = []
        elif kind == _ABORT_TRANSACTION:
            self._transaction = None
        elif kind == _END_TRANSACTION:
            changes, self._transaction = self._transaction or [], None
            for change in changes:
                self._change(*change)
        elif kind in _KNOWN:
            change = _decode(record, at, kind)
            if self._transaction is None:
                self._change(*change)
            else:
                self._transaction.append(change)

    def _change(self, key: bytes, binding: AclBinding | None) -> None:
        # A removal names the id alone, and an id may be written again by a snapshot.
        before = self.bindings.pop(key, None)
        if before is not None:
            self.changes[before] = False
        if binding is not None:
            self.bindings[key] = binding
            self.changes[binding] = True


def _decode(record: bytes, at: int, kind: int) -> tuple[bytes, AclBinding | None]:
    """Return the id of an ACL, and the ACL; None where it is removed."""
    version, at = uvarint(record, at, "version")
    # A later version may have other fields: the cluster is polled rather than guessed at.
    if version:
        raise Malformed("version", at, f"found version {version} of type {kind}; supported: 0")
    if kind == _REMOVED:
        return RemoveAccessControlEntryRecord.decode(record, at, version)[0].id, None
    row, _ = AccessControlEntryRecord.decode(record, at, version)
    return row.id, binding_of(row)


def _plain(batch: RecordBatch) -> bytes:
    if batch.compression:
        raise Malformed("records", 0, "found a compressed batch, which controllers do not write")
    return batch.body
