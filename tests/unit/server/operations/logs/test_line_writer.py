"""Lines from a bounded queue, written by a thread of their own."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.operations.logs.pipeline import LineWriter
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIPE_BYTES = 64 * 1024


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe: its reading and its writing end."""
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue


def lost(count: int) -> bytes:
    return b"lost %d\n" % count


def read_until(descriptor: int, ending: bytes) -> bytes:
    data = b""
    while not data.endswith(ending):
        data += os.read(descriptor, PIPE_BYTES)
    return data


def read_exactly(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(descriptor, size - len(data))
    return data


def test_slow_reader_loses_counted_lines(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    writer = LineWriter(writing, lost, queued_bytes_max=10_000)
    line = b"x" * 99 + b"\n"
    written = 2000
    for _ in range(written):
        writer.write(line)

    # A count may be written while lines still come, and another one after them.
    data = b""
    kept = dropped = 0
    while kept + dropped < written:
        data += os.read(reading, PIPE_BYTES)
        complete = data[: data.rfind(b"\n") + 1].decode().splitlines()
        dropped = sum(int(each.split()[1]) for each in complete if each.startswith("lost"))
        kept = complete.count("x" * 99)
    writer.close(10)
    assert dropped > 0
    assert kept + dropped == written


def test_close_times_out(pipe: tuple[int, int]) -> None:
    writer = LineWriter(pipe[1], lost)
    for _ in range(3):
        writer.write(b"x" * PIPE_BYTES + b"\n")

    writer.close(0.01)

    # Its thread still waits in the write, and gets its way now, so that the pipe can be closed.
    assert read_exactly(pipe[0], 3 * (PIPE_BYTES + 1)).count(b"\n") == 3
    writer.close(10)


def test_closed_reader_is_not_an_error(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    writer = LineWriter(pipe[1], lost)
    writer.write(b"x\n")
    writer.close(10)

    writer.write(b"y\n")


def test_full_disk_loses_counted_lines_and_no_more(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    tries = 0
    full, really_write = True, os.write

    def write(descriptor: int, data: memoryview) -> int:
        nonlocal tries
        if descriptor != pipe[1]:
            return really_write(descriptor, data)
        tries += 1
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        writes.append(bytes(data))
        return len(data)

    monkeypatch.setattr(os, "write", write)
    writer = LineWriter(pipe[1], lost)
    writer.write(b"a\n")
    writer.write(b"b\n")
    deadline_s = time.monotonic() + scaled(30)
    while writer._queue.size and time.monotonic() < deadline_s:
        time.sleep(0.01)
    full = False
    writer.write(b"c\n")
    writer.close(10)

    # The line before may be cut: the next ones begin on one of their own.
    assert b"".join(writes) == b"\nc\nlost 2\n"
    # A write for each batch: the disk is not asked again and again while there is nothing new.
    assert tries <= 4


def test_failing_disk_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EIO is the end of a terminal, but not of a file: the log was silent until a restart."""
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    really_write, errors = os.write, [OSError(errno.EIO, os.strerror(errno.EIO))]

    def write(to: int, data: memoryview) -> int:
        if to == descriptor and errors:
            raise errors.pop()
        return really_write(to, data)

    monkeypatch.setattr(os, "write", write)
    writer = LineWriter(descriptor, lost)
    writer.write(b"a\n")
    deadline_s = time.monotonic() + scaled(30)
    while errors and time.monotonic() < deadline_s:
        time.sleep(0.01)
    writer.write(b"b\n")
    writer.close(10)
    os.close(descriptor)

    assert (tmp_path / "log").read_bytes() == b"\nb\nlost 1\n"


def test_non_blocking_descriptor_receives_everything(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    writer = LineWriter(pipe[1], lost)
    writer.write(b"x" * (3 * PIPE_BYTES) + b"\n")

    assert len(read_until(pipe[0], b"\n")) == 3 * PIPE_BYTES + 1
    writer.close(10)
