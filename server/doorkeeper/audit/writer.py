"""The trail's thread: takes what waits, makes lines of it, writes, syncs, and changes files.

    queue -> lines -> the open file -> sync (by policy) -> who waits is told
                          |
                     full or old: closed for good, old ones deleted

When the disk is full, or fails, what was half written is cut off again, so that the file ends with
a whole line, and

    none, interval   the events are lost, and counted in the next event that can be written
    strict           decisions and logins are lost and counted; for the changes that were under way
                     there is a reserve of room; new ones are refused until the disk takes lines
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from doorkeeper.audit.events import Dropped
from doorkeeper.audit.files import NO_SPACE
from doorkeeper.audit.lines import Lines
from doorkeeper.audit.options import SYNC_INTERVAL_S, Sync
from doorkeeper.audit.queue import Item, Loss

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from doorkeeper.audit.files import TrailFolder
    from doorkeeper.audit.options import TrailOptions
    from doorkeeper.audit.queue import Batch, Queue, Waiter
    from doorkeeper.logger import Logger

CHUNK_EVENTS: Final = 1000
"""Events that are made and written together: half a megabyte or so."""

RESERVE_BYTES: Final = 8 * 1024 * 1024
"""Room for the changes that are under way when a disk is full: two of the largest requests, or
some thousands of usual ones."""

RETRY_S: Final = 1.0
"""How often a disk that failed is tried again while nothing is to be written."""

QUEUE, DISK = "queue", "disk"


class Meter(Protocol):
    """What is counted."""

    def written(self, events: int) -> None:
        """Count events that are in the file."""
        ...

    def lost(self, events: int) -> None:
        """Count events that could not be written."""
        ...

    def synced(self, took_s: float) -> None:
        """Note how long a sync took."""
        ...


class Clocks(NamedTuple):
    """Both clocks: nanoseconds since 1970, and seconds that never go back."""

    now_ns: Callable[[], int]
    steady_s: Callable[[], float]


class Writer:
    """The thread and its file. ``failing`` says why lines cannot be written now, or is None."""

    def __init__(
        self,
        queue: Queue,
        folder: TrailFolder,
        options: TrailOptions,
        loop: asyncio.AbstractEventLoop,
        *,
        clocks: Clocks,
        logger: Logger,
        meter: Meter,
    ) -> None:
        """Wait for ``start``."""
        self._queue = queue
        self._folder = folder
        self._options = options
        self._loop = loop
        self._clocks = clocks
        self._log = logger
        self._meter = meter
        self._lines = Lines(options.node)
        self._file: _File | None = None
        self._seq = folder.last_seq()
        self._lost: dict[str, Loss] = {}
        self._held: list[Item] = []
        self._unsynced_since_s: float | None = None
        self._reserved = False
        self._strict = options.sync is Sync.STRICT
        self._unsure: str | None = None
        self._thread = threading.Thread(target=self._run, name="doorkeeper-audit", daemon=True)
        self.failing: str | None = None

    def start(self) -> None:
        """Begin to write."""
        if self._strict:
            self._take_reserve()
        self._thread.start()

    def join(self, timeout_s: float) -> bool:
        """Wait for the end, after the queue was closed; say whether it came."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    # --- the thread

    def _run(self) -> None:
        closing = False
        while not closing:
            batch = self._queue.take(self._timeout_s())
            closing = batch.closing
            try:
                self._work(batch)
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever it is given
                self._log.error("events could not be made for the audit trail", cause=repr(error))
                self._lose(batch.items)
                self._tell(batch.waiting, repr(error))
            finally:
                self._queue.done(sum(item.events for item in batch.items))
        self._close_file()
        if self._reserved:
            self._folder.free_reserve()

    def _timeout_s(self) -> float | None:
        """Return how long nothing has to be done if nothing comes."""
        now_s = self._clocks.steady_s()
        waits = []
        if self._unsynced_since_s is not None and self._options.sync is not Sync.NONE:
            waits.append(self._unsynced_since_s + SYNC_INTERVAL_S - now_s)
        if self._file is not None:
            waits.append(self._file.opened_s + self._options.file_age_max_s - now_s)
        if self.failing is not None or self._lost:
            waits.append(RETRY_S)
        return max(0.0, min(waits)) if waits else None

    def _work(self, batch: Batch) -> None:
        self._unsure = None
        if batch.lost is not None:
            self._lost[QUEUE] = batch.lost.and_also(self._lost.get(QUEUE))
        self._record([*self._held, *batch.items])
        if self._is_sync_due(batch):
            self._sync()
        self._tell(batch.waiting, self.failing if self._held else self._unsure)
        if self._file is not None and self._is_old(self._file):
            self._close_file()

    def _record(self, items: list[Item]) -> None:
        """Write the events of items, what is missing first; keep or lose what cannot be written."""
        self._held = []
        if self._strict and not self._reserved and not self._take_reserve():
            # Only what may not be lost goes where the reserve was.
            self._lose(item for item in items if not item.is_change)
            items = [item for item in items if item.is_change]
        elif self._lost:
            try:
                self._append(_dropped_items(self._lost, self._clocks))
                self._lost = {}
            except OSError as error:
                self._fail(error)
        for at in range(0, len(items), CHUNK_EVENTS):
            try:
                self._append_or_use_reserve(items[at : at + CHUNK_EVENTS])
            except OSError as error:
                self._fail(error)
                self._give_up(items[at:])
                return

    def _append_or_use_reserve(self, items: list[Item]) -> None:
        try:
            self._append(items)
        except OSError as error:
            changes = [item for item in items if item.is_change]
            if not (changes and error.errno in NO_SPACE and self._use_reserve()):
                raise
            self._fail(error)
            self._append(changes)
            self._lose(item for item in items if not item.is_change)

    def _append(self, items: list[Item]) -> None:
        """Write the events of some items, all of them or none.

        Raises:
            OSError: the file takes no more.

        """
        data, count = self._lines.of(items, self._seq + 1)
        file = self._file
        if file is not None and file.size and file.size + len(data) > self._options.file_bytes_max:
            self._close_file()
        if self._file is None:
            path, descriptor = self._folder.open(self._seq + 1)
            self._file = _File(path, descriptor, self._seq + 1, self._clocks.steady_s())
        self._file.append(data)
        self._seq += count
        self._meter.written(count)
        if self._unsynced_since_s is None:
            self._unsynced_since_s = self._clocks.steady_s()
        if self._reserved or not self._strict:
            self._recover()

    # --- durability

    def _is_sync_due(self, batch: Batch) -> bool:
        since_s = self._unsynced_since_s
        if since_s is None or self._options.sync is Sync.NONE:
            return False
        return (self._strict and bool(batch.waiting)) or (
            self._clocks.steady_s() - since_s >= SYNC_INTERVAL_S
        )

    def _sync(self) -> None:
        """Sync the open file."""
        self._unsynced_since_s = None
        if self._file is None:
            return
        began_s = self._clocks.steady_s()
        try:
            self._file.sync()
        except OSError as error:
            self._fail(error)
            self._unsure = self.failing if self._strict else None
            # What was not synced may be lost; the next lines go to another file. With strict that
            # waits until room can be taken once more.
            self._reserved = False
            self._close_file()
        else:
            self._meter.synced(self._clocks.steady_s() - began_s)

    def _tell(self, waiting: list[Waiter], problem: str | None) -> None:
        # Where the loop is closed nobody waits.
        if waiting:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_complete, waiting, problem)

    # --- files

    def _is_old(self, file: _File) -> bool:
        return self._clocks.steady_s() - file.opened_s >= self._options.file_age_max_s

    def _close_file(self) -> None:
        """Give the open file its name for life, and delete old ones."""
        file, self._file = self._file, None
        self._unsynced_since_s = None
        if file is None:
            return
        try:
            file.close()
            if file.size:
                self._folder.close(file.path, file.first, self._seq)
            else:
                file.path.unlink()
            self._folder.delete_old(
                self._clocks.now_ns() / 1e9,
                self._options.retention_days,
                self._options.retention_bytes,
            )
        except OSError as error:
            # It stays as it is, and the next start closes it.
            self._fail(error)
            self._unsure = self.failing if self._strict else None
            self._log.error(
                "a file of the audit trail could not be closed",
                file=str(file.path),
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
        self._recover()
        return True

    def _use_reserve(self) -> bool:
        if not self._reserved:
            return False
        self._reserved = False
        return self._folder.free_reserve()

    def _fail(self, error: OSError) -> None:
        reason = error.strerror or repr(error)
        if self.failing is None:
            self._log.error(
                "the audit trail cannot be written", dir=str(self._folder.path), cause=reason
            )
        self.failing = reason

    def _recover(self) -> None:
        if self.failing is not None:
            self.failing = None
            self._log.info("the audit trail is written again", dir=str(self._folder.path))

    def _give_up(self, items: list[Item]) -> None:
        """Lose items, except changes where they may not be lost."""
        if self._strict:
            self._held = [item for item in items if item.is_change]
            items = [item for item in items if not item.is_change]
        self._lose(items)

    def _lose(self, items: Iterable[Item]) -> None:
        items = list(items)
        if not items:
            return
        self._meter.lost(sum(item.events for item in items))
        lost = Loss(
            sum(item.happened for item in items),
            sum(item.is_change for item in items),
            min(item.ts_ns for item in items),
            max(item.ts_ns for item in items),
        )
        self._lost[DISK] = lost.and_also(self._lost.get(DISK))


def _complete(waiting: list[Waiter], problem: str | None) -> None:
    for waiter in waiting:
        if not waiter.done():
            waiter.set_result(problem)


def _dropped_items(losses: dict[str, Loss], clocks: Clocks) -> list[Item]:
    """Return the events that tell what is missing."""

    def made(reason: str, loss: Loss) -> Dropped:
        return Dropped(
            seq=0,
            node=0,
            ts_ns=0,
            time="",
            count=loss.happened,
            changes=loss.changes,
            first_ns=loss.first_ns,
            last_ns=loss.last_ns,
            reason=reason,
        )

    events = [made(reason, loss) for reason, loss in losses.items()]
    return [Item(clocks.now_ns(), lambda: events, events=len(events))]


class _File:
    """The file that is being written."""

    __slots__ = ("descriptor", "first", "opened_s", "path", "size")

    def __init__(self, path: Path, descriptor: int, first: int, opened_s: float) -> None:
        self.path = path
        self.descriptor = descriptor
        self.first = first
        self.opened_s = opened_s
        self.size = 0

    def append(self, data: bytes) -> None:
        """Write all of it, or nothing."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            os.ftruncate(self.descriptor, self.size)
            raise
        self.size += len(data)

    def sync(self) -> None:
        os.fdatasync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)
