"""The writer's thread of the audit log: take items, build lines, write, sync, rotate files.

 queue -> lines -> the open file -> sync (by policy) -> complete the waiters
      |
      full or old: closed; old files deleted

If the disk is full or fails, a partial write is truncated, so that the file ends with a complete
line, and

 none, interval   the events are lost, and counted in the next event that can be written
 strict           decisions and logins are lost and counted; changes in flight use a reserve of
                  disk space, as do events of the server itself; new changes are rejected until
                  the disk works again
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from doorkeeper.server.config.audit_keys import (
    AUDIT_FILE_BYTES,
    AUDIT_FILE_MS,
    AUDIT_RETENTION_BYTES,
    AUDIT_RETENTION_DAYS,
    AUDIT_SYNC,
    Sync,
)
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.operations.audit.events import Dropped
from doorkeeper.server.operations.audit.files import NO_SPACE, AuditFolder
from doorkeeper.server.operations.audit.queue import Lines, Queue, QueuedEvents
from doorkeeper.server.runtime.bounded_queue import Batch
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import AuditMeter

Waiter = asyncio.Future["str | None"]


# About half a megabyte of lines.
CHUNK_EVENTS: Final = 1000

# Disk space for the changes in flight when a disk fills: two of the largest requests, or some
# thousands of usual ones.
RESERVE_BYTES: Final = 8 * 1024 * 1024

RETRY_S: Final = 1.0
"""Interval of attempts on a failed disk while no events come."""

QUEUE, DISK = "queue", "disk"


SYNC_INTERVAL_S: Final = 0.1
"""Interval of syncs, and thus the most that ``interval`` may lose in a power cut."""


class Clocks(Struct, frozen=True):
    """Nanoseconds since 1970, and monotonic seconds."""

    now_ns: Callable[[], int]
    steady_s: Callable[[], float]


class Writer:
    """The thread and its file. ``failing`` is why lines cannot be written now, or None."""

    def __init__(
        self,
        queue: Queue,
        folder: AuditFolder,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        *,
        clocks: Clocks,
        logger: Logger,
        meter: AuditMeter,
    ) -> None:
        self._queue = queue
        self._folder = folder
        self._settings = settings
        self._loop = loop
        self._clocks = clocks
        self._log = logger
        self._meter = meter
        self._lines = Lines(settings.node_id)
        self._file: _File | None = None
        # Full files with their last numbers, until they have their final names.
        self._full: list[tuple[_File, int]] = []
        self._seq = folder.last_seq()
        self._lost: dict[str, Dropped] = {}
        self._held: list[QueuedEvents] = []
        # Items of the present batch that are neither written nor given up.
        self._unwritten: list[QueuedEvents] = []
        self._unsynced_since_s: float | None = None
        self._reserved = False
        self._strict = settings[AUDIT_SYNC] is Sync.STRICT
        # Why the last batch may not be on disk although its lines were written; for strict only.
        self._unsure: str | None = None
        self.failing: str | None = None

    def start(self) -> None:
        if self._strict:
            self._take_reserve()
        self._queue.start(
            "doorkeeper-audit", self._work_or_log, timeout_s=self._timeout_s, end=self._end
        )

    # --- the thread

    def _work_or_log(self, batch: Batch[QueuedEvents]) -> None:
        try:
            self._work(batch)
        except Exception as error:  # the thread must survive any fault
            self._fail(error)
            self._reserved = False
            self._give_up(self._unwritten)
            self._unwritten = []
            self._notify(_waiting(batch.items), self.failing)

    def _end(self) -> None:
        self._finish_full()
        self._close_file()
        if self._reserved:
            self._folder.free_reserve()

    def _timeout_s(self) -> float | None:
        """Return the time until the next sync, rotation or retry; None if there is none."""
        now_s = self._clocks.steady_s()
        waits = []
        if self._unsynced_since_s is not None and self._settings[AUDIT_SYNC] is not Sync.NONE:
            waits.append(self._unsynced_since_s + SYNC_INTERVAL_S - now_s)
        if self._file is not None:
            waits.append(self._file.opened_s + self._settings[AUDIT_FILE_MS] / 1000 - now_s)
        if self.failing is not None or self._lost:
            waits.append(RETRY_S)
        return max(0.0, min(waits)) if waits else None

    def _work(self, batch: Batch[QueuedEvents]) -> None:
        self._unsure = None
        waiting = _waiting(batch.items)
        if batch.lost is not None:
            self._count_lost(QUEUE, batch.lost.items, 0, (batch.lost.first_ns, batch.lost.last_ns))
        # Held changes first: the order of events is that of their changes.
        self._record([*self._held, *batch.items])
        if self._is_sync_due(waiting):
            self._sync()
        self._notify(waiting, self.failing if self._held else self._unsure)
        # After the waiters: compression of a closed file takes time.
        self._finish_full()
        file, now_s = self._file, self._clocks.steady_s()
        if file is not None and now_s - file.opened_s >= self._settings[AUDIT_FILE_MS] / 1000:
            self._close_file()

    def _record(self, items: list[QueuedEvents]) -> None:
        """Write items, after the event of losses; keep or lose those that cannot be written."""
        self._held, self._unwritten = [], items
        if self._strict and not self._reserved and not self._take_reserve():
            # The released reserve has space only for events that must not be lost.
            self._lose(item for item in items if not item.must_be_kept)
            items = self._unwritten = [item for item in items if item.must_be_kept]
        elif self._lost:
            lost = list(self._lost.values())
            try:
                self._append([QueuedEvents(self._clocks.now_ns(), lambda: lost, len(lost))])
                self._lost = {}
            except OSError as error:
                self._fail(error)
        for at in range(0, len(items), CHUNK_EVENTS):
            chunk = items[at : at + CHUNK_EVENTS]
            try:
                self._append(chunk)
            except OSError as error:
                if not self._append_to_reserve(chunk, error):
                    self._give_up(items[at:])
                    self._unwritten = []
                    return
            self._unwritten = items[at + CHUNK_EVENTS :]

    def _append_to_reserve(self, items: list[QueuedEvents], error: OSError) -> bool:
        """Write events that must be kept to the reserve; return whether they were written."""
        # Without decisions and logins the rest may fit.
        mandatory = [item for item in items if item.must_be_kept]
        has_space = mandatory and error.errno in NO_SPACE and self._use_reserve()
        self._fail(error)
        if not has_space:
            return False
        try:
            self._append(mandatory)
        except OSError as again:
            self._fail(again)
            return False
        self._lose(item for item in items if not item.must_be_kept)
        return True

    def _append(self, items: list[QueuedEvents]) -> None:
        """Write the events of items, all or none; those that cannot be built are lost."""
        data, count, faults = self._lines.of(items, self._seq + 1)
        file = self._file
        if (
            file is not None
            and file.size
            and file.size + len(data) > self._settings[AUDIT_FILE_BYTES]
        ):
            self._set_aside()
        if self._file is None:
            path, descriptor = self._folder.open(self._seq + 1)
            self._file = _File(path, descriptor, self._seq + 1, self._clocks.steady_s())
        self._file.append(data)
        self._seq += count
        self._meter.written.add(count)
        for item, fault in faults:
            self._log.error("audit events could not be created", cause=repr(fault))
            self._lose((item,))
            self._notify(_waiting([item]), repr(fault))
        if self._unsynced_since_s is None:
            self._unsynced_since_s = self._clocks.steady_s()
        # With strict the disk counts as working only when the reserve is back too.
        if self.failing is not None and (self._reserved or not self._strict):
            self._recover()

    # --- durability

    def _is_sync_due(self, waiting: Sequence[Waiter]) -> bool:
        since_s = self._unsynced_since_s
        if since_s is None or self._settings[AUDIT_SYNC] is Sync.NONE:
            return False
        return (self._strict and bool(waiting)) or (
            self._clocks.steady_s() - since_s >= SYNC_INTERVAL_S
        )

    def _sync(self) -> None:
        self._unsynced_since_s = None
        if self._file is None:
            return
        began_s = self._clocks.steady_s()
        try:
            self._file.sync()
        except OSError as error:
            self._fail(error)
            self._unsure = self.failing if self._strict else None
            # Lines that were not synced may be lost, and another fsync would not report it: the
            # next lines go to a new file. With strict, changes wait for a new reserve.
            self._reserved = False
            self._close_file()
        else:
            self._meter.sync_seconds.observe(self._clocks.steady_s() - began_s)

    def _notify(self, waiting: list[Waiter], problem: str | None) -> None:
        # A closed loop has no waiters.
        if waiting:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_set_results, waiting, problem)

    # --- files

    def _set_aside(self) -> None:
        """End the full file; it gets its final name once the waiters of its events are served."""
        if self._strict:
            self._sync()
        if self._file is not None:
            self._full.append((self._file, self._seq))
        self._file = self._unsynced_since_s = None

    def _finish_full(self) -> None:
        full, self._full = self._full, []
        for file, last in full:
            self._finish(file, last)

    def _close_file(self) -> None:
        file, self._file = self._file, None
        self._unsynced_since_s = None
        if file is not None:
            self._finish(file, self._seq)

    def _finish(self, file: _File, last: int) -> None:
        """Close a file under its final name, and delete old ones."""
        try:
            file.close()
            if file.size:
                self._folder.close(file.path, file.first, last)
            else:
                file.path.unlink()
        except Exception as error:  # of the disk, or of the compressor
            # The file stays open by its name; the next start closes it.
            self._fail(error)
            self._unsure = self.failing if self._strict else None
            # With strict, changes wait for a new reserve: no other event need come that could be
            # written.
            self._reserved = False
            self._log.error(
                "a file of the audit log could not be closed",
                file=str(file.path),
                cause=self.failing,
            )
        self._delete_old()

    def _delete_old(self) -> None:
        try:
            self._folder.delete_old(
                self._clocks.now_ns() / 1e9,
                self._settings[AUDIT_RETENTION_DAYS],
                self._settings[AUDIT_RETENTION_BYTES],
            )
        except OSError as error:
            # Lines can be written all the same.
            self._log.error(
                "old files of the audit log could not be deleted",
                dir=str(self._folder.path),
                cause=error.strerror,
            )

    # --- a disk that takes no more

    def _take_reserve(self) -> bool:
        try:
            self._folder.reserve(RESERVE_BYTES)
        except OSError as error:
            self._fail(error)
            return False
        self._reserved = True
        if self.failing is not None:
            self._recover()
        return True

    def _use_reserve(self) -> bool:
        if not self._reserved:
            return False
        self._reserved = False
        return self._folder.free_reserve()

    def _fail(self, error: Exception) -> None:
        reason = (error.strerror if isinstance(error, OSError) else None) or repr(error)
        if self.failing is None:
            self._log.error(
                "the audit log cannot be written", dir=str(self._folder.path), cause=reason
            )
        self.failing = reason

    def _recover(self) -> None:
        self.failing = None
        self._log.info("the audit log can be written again", dir=str(self._folder.path))

    def _give_up(self, items: list[QueuedEvents]) -> None:
        """Lose items; with strict hold back those that must be kept, for the next attempt."""
        if self._strict:
            self._held = [item for item in items if item.must_be_kept]
            items = [item for item in items if not item.must_be_kept]
        self._lose(items)

    def _lose(self, items: Iterable[QueuedEvents]) -> None:
        items = list(items)
        if not items:
            return
        self._meter.lost.add(sum(item.events for item in items))
        happened = sum(item.happened for item in items)
        changes = sum(item.changes for item in items)
        self._count_lost(DISK, happened, changes, [item.ts_ns for item in items])

    def _count_lost(self, reason: str, count: int, changes: int, times_ns: Sequence[int]) -> None:
        """Add to the event that reports losses."""
        times_ns = sorted(times_ns)
        lost = self._lost.setdefault(
            reason, Dropped(count=0, changes=0, first_ns=times_ns[0], last_ns=0, reason=reason)
        )
        lost.count += count
        lost.changes += changes
        lost.first_ns = min(lost.first_ns, times_ns[0])
        lost.last_ns = max(lost.last_ns, times_ns[-1])


def _waiting(items: Iterable[QueuedEvents]) -> list[Waiter]:
    return [item.waiter for item in items if item.waiter is not None]


def _set_results(waiting: list[Waiter], problem: str | None) -> None:
    for waiter in waiting:
        if not waiter.done():
            waiter.set_result(problem)


class _File:
    """The open file."""

    __slots__ = ("descriptor", "first", "opened_s", "path", "size")

    def __init__(self, path: Path, descriptor: int, first: int, opened_s: float) -> None:
        self.path = path
        self.descriptor = descriptor
        self.first = first
        self.opened_s = opened_s
        self.size = 0

    def append(self, data: bytes) -> None:
        """Write all data or nothing."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            # O_APPEND: the next write must follow the last complete line.
            os.ftruncate(self.descriptor, self.size)
            raise
        self.size += len(data)

    def sync(self) -> None:
        os.fdatasync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)
