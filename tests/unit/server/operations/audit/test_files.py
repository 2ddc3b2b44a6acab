"""files: opened, closed for good, recovered, deleted when old."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
import zstandard

from doorkeeper.server.operations.audit.events import Recovered
from doorkeeper.server.operations.audit.files import (
    SECONDS_A_DAY,
    AuditFolder,
    AuditLogInUse,
)
from doorkeeper.server.operations.audit.names import open_name, whole_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = b'{"seq":1}\n{"seq":2}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[AuditFolder]:
    folder = AuditFolder(tmp_path / "a" / "audit", 1, compress=False)
    yield folder
    folder.release()


def names(folder: AuditFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir() if path.name != "audit-1.lock")


def test_folder_is_created_privately(folder: AuditFolder) -> None:
    path, descriptor = folder.open(1)
    os.close(descriptor)

    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_second_server_of_a_node_is_rejected(folder: AuditFolder) -> None:
    with pytest.raises(AuditLogInUse, match="another server writes the audit log of node 1 here"):
        AuditFolder(folder.path, 1, compress=False)

    AuditFolder(folder.path, 2, compress=False).release()
    folder.release()
    AuditFolder(folder.path, 1, compress=False).release()


@pytest.mark.parametrize("compress", [False, True])
def test_closed_file_is_renamed(tmp_path: Path, *, compress: bool) -> None:
    folder = AuditFolder(tmp_path, 1, compress=compress)
    path, descriptor = folder.open(1)
    os.write(descriptor, LINES)
    os.close(descriptor)

    closed = folder.close(path, 1, 2)

    data = closed.read_bytes()
    assert names(folder) == [whole_name(1, 1, 2, compressed=compress)]
    assert (zstandard.decompress(data) if compress else data) == LINES
    assert folder.last_seq() == 2
    folder.release()


def test_compression_without_space_keeps_the_plain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = AuditFolder(tmp_path, 1, compress=True)
    path, descriptor = folder.open(1)
    os.write(descriptor, LINES)
    os.close(descriptor)

    def full(source: Path, target: Path) -> None:
        target.with_name(target.name + ".tmp").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("doorkeeper.server.operations.audit.files._compress", full)

    closed = folder.close(path, 1, 2)

    assert names(folder) == [closed.name] == [whole_name(1, 1, 2, compressed=False)]
    assert closed.read_bytes() == LINES
    folder.release()


def test_files_of_a_killed_server_are_recovered(folder: AuditFolder) -> None:
    (folder.path / open_name(1, 1)).write_bytes(LINES + b'{"seq":3,"ki')
    (folder.path / (whole_name(1, 1, 2, compressed=True) + ".tmp")).write_bytes(b"half")
    (folder.path / open_name(1, 8)).touch()
    (folder.path / open_name(1, 9)).write_bytes(b"{")
    (folder.path / open_name(2, 1)).write_bytes(LINES)
    closed = whole_name(1, 1, 2, compressed=False)

    assert folder.recover() == [
        Recovered(file=closed, lines=2, torn_bytes=12),
        Recovered(file=open_name(1, 9), lines=0, torn_bytes=1),
    ]

    assert names(folder) == [closed, open_name(2, 1)]
    assert (folder.path / closed).read_bytes() == LINES


def test_kill_between_renames_is_recovered(folder: AuditFolder) -> None:
    (folder.path / whole_name(1, 1, 2, compressed=True)).write_bytes(zstandard.compress(LINES))
    (folder.path / open_name(1, 1)).write_bytes(LINES)

    assert folder.recover() == []
    assert names(folder) == [whole_name(1, 1, 2, compressed=True)]


def made(folder: AuditFolder, *ages_days: float) -> list[str]:
    """Make files of 100 bytes each, the oldest first; return their names."""
    found = []
    for number, age in enumerate(ages_days):
        path = folder.path / whole_name(1, number + 1, number + 1, compressed=False)
        path.write_bytes(b"x" * 99 + b"\n")
        os.utime(path, (1e9 - age * SECONDS_A_DAY,) * 2)
        found.append(path.name)
    return found


def test_old_files_are_deleted(folder: AuditFolder) -> None:
    """By age and by their bytes together, the oldest first; the newest file stays."""
    old, young, third, newest = made(folder, 9, 1, 0.7, 0.5)

    for days_max, bytes_max, left in (
        (-1, -1, [old, young, third, newest]),
        (2, -1, [young, third, newest]),
        (-1, 300, [young, third, newest]),
        (-1, 299, [third, newest]),
        (0, 0, [newest]),
    ):
        folder.delete_old(1e9, days_max, bytes_max)
        assert names(folder) == left


def test_space_is_reserved(folder: AuditFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.reserve(10_000)

    assert (folder.path / "audit-1.reserve").stat().st_size == 10_000
    assert folder.free_reserve()
    assert not folder.free_reserve()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("doorkeeper.server.operations.audit.files.os.posix_fallocate", full)
    with pytest.raises(OSError, match="full"):
        folder.reserve(10_000)
    assert names(folder) == []
