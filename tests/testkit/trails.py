"""Audit logs inside a test: clocks that the test moves, a loop by hand, a disk that fails."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import zstandard
from msgspec.structs import replace

from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.net.protocol.exchange import Login, Peer
from doorkeeper.server.operations.audit.names import files_in, open_name, whole_name
from doorkeeper.server.operations.audit.writer import Clocks
from testkit.settings import settings_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from pathlib import Path

    import pytest

PEER = Peer("c", "10.0.0.7", "SASL", "SASL_SSL")
LOGIN = Login(PEER, None, "PLAIN", False, "java/4.0", None, "wrong password")


class Log:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def error(self, event: str, **fields: object) -> None:
        self.events.append((event, fields))

    debug = info = warning = exception = error

    @property
    def texts(self) -> list[str]:
        return [event for event, _ in self.events]


class Time:
    """Both clocks; they move when the test says so."""

    def __init__(self) -> None:
        self.ns = 1_795_000_000_000_000_000
        self.s = 100.0

    def sleep(self, seconds: float) -> None:
        self.ns += int(seconds * 1e9)
        self.s += seconds

    @property
    def clocks(self) -> Clocks:
        return Clocks(lambda: self.ns, lambda: self.s)


class Timer:
    """One call for later."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class HandLoop:
    """A loop whose later calls the test makes."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], None], Timer]] = []
        self.now_s = 100.0

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Timer:
        timer = Timer()
        self.later.append((delay_s, call, timer))
        return timer

    def call_soon_threadsafe(self, call: Callable[..., None], *arguments: object) -> None:
        call(*arguments)

    def fire(self) -> None:
        """Make all later calls that were not cancelled."""
        due, self.later = self.later, []
        for _, call, timer in due:
            if not timer.cancelled:
                call()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        loop: Any = self
        return loop  # type: ignore[no-any-return]


class Waiter:
    """Waits without a loop; what it is given is appended to a list."""

    def __init__(self, told: list[str | None]) -> None:
        self._told = told

    def done(self) -> bool:
        return False

    def set_result(self, problem: str | None) -> None:
        self._told.append(problem)

    @property
    def future(self) -> asyncio.Future[str | None]:
        waiter: Any = self
        return waiter  # type: ignore[no-any-return]


class Disk:
    """Fails to write, to sync or to reserve room while the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.half = False
        self.no_room = False
        self.no_sync = False
        write, fdatasync, fallocate = os.write, os.fdatasync, os.posix_fallocate

        def writing(descriptor: int, data: Any) -> int:
            if self.full:
                if self.half:
                    self.half = False
                    return write(descriptor, bytes(data)[: len(data) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data)

        def syncing(descriptor: int) -> None:
            if self.no_sync:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            fdatasync(descriptor)

        def allocating(descriptor: int, offset: int, size: int) -> None:
            if self.no_room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fallocate(descriptor, offset, min(size, 4096))

        monkeypatch.setattr("doorkeeper.server.operations.audit.writer.os.write", writing)
        monkeypatch.setattr("doorkeeper.server.operations.audit.writer.os.fdatasync", syncing)
        monkeypatch.setattr(
            "doorkeeper.server.operations.audit.files.os.posix_fallocate", allocating
        )


def audit_settings(folder: Path, **changes: object) -> Settings:
    """Return settings with values of keys of the audit log, also such as no file may have.

    Without compression unless asked for.
    """
    values = {"dir": folder, "compression": "none", **changes}
    keys = {KEYS[f"doorkeeper.audit.{name.replace('_', '.')}"]: v for name, v in values.items()}
    settings = settings_of("")
    return replace(settings, values={**settings.values, **keys})


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """Return the events of all files of a folder, those that are being written too, in order."""
    events = []
    for file in files_in(folder):
        data = file.path.read_bytes()
        if file.is_compressed:
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        events += [json.loads(line) for line in data.splitlines()]
    return events


def written(
    folder: Path,
    first: int,
    count: int,
    *,
    node: int = 1,
    closed: bool = True,
    compressed: bool = False,
    tail: bytes = b"",
) -> Path:
    """Write a file with so many events from this number on; ``tail`` is put behind them."""
    data = b"".join(line_of(seq, node=node) for seq in range(first, first + count)) + tail
    name = (
        whole_name(node, first, first + count - 1, compressed=compressed)
        if closed
        else open_name(node, first)
    )
    path = folder / name
    path.write_bytes(zstandard.compress(data) if compressed else data)
    return path


def line_of(seq: int, *, node: int = 1, ts_ns: int | None = None) -> bytes:
    """Return the line of a login with this number."""
    ts_ns = 1_795_000_000_000_000_000 + seq if ts_ns is None else ts_ns
    event = {"kind": "login", "seq": seq, "node": node, "ts_ns": ts_ns, "time": "t"}
    return json.dumps(event).encode() + b"\n"
