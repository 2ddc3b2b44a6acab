"""files: opened, closed for good, recovered, deleted when old."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
import zstandard

from doorkeeper.server.operations.audit.files import (
    SECONDS_A_DAY,
    AuditFolder,
    AuditLogInUse,
    Recovered,
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


def test_a_folder_is_made_for_its_owner_alone(folder: AuditFolder) -> None:
    """A folder that is missing is made, with those above it; only its owner may read it."""
    path, descriptor = folder.open(1)
    os.close(descriptor)

    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_servers_of_one_node(folder: AuditFolder) -> None:
    """A second server of the node is refused until the first has gone; another node's is not."""
    with pytest.raises(AuditLogInUse, match="another server writes the audit log of node 1 here"):
        AuditFolder(folder.path, 1, compress=False)

    AuditFolder(folder.path, 2, compress=False).release()
    folder.release()
    AuditFolder(folder.path, 1, compress=False).release()


@pytest.mark.parametrize("compress", [False, True])
def test_a_closed_file_has_one_name(tmp_path: Path, *, compress: bool) -> None:
    """A closed file has its whole name, and the open one is gone."""
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


def test_no_room_for_a_compressed_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for a second copy, the plain file keeps its lines, and for good."""
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


def test_what_a_killed_server_left(folder: AuditFolder) -> None:
    """Its open file is closed without its last, torn line; files of other nodes are not touched.

    Half-made copies and files without a whole line are deleted.
    """
    (folder.path / open_name(1, 1)).write_bytes(LINES + b'{"seq":3,"ki')
    (folder.path / (whole_name(1, 1, 2, compressed=True) + ".tmp")).write_bytes(b"half")
    (folder.path / open_name(1, 8)).touch()
    (folder.path / open_name(1, 9)).write_bytes(b"{")
    (folder.path / open_name(2, 1)).write_bytes(LINES)
    closed = whole_name(1, 1, 2, compressed=False)

    assert folder.recover() == [Recovered(closed, 2, 12), Recovered(open_name(1, 9), 0, 1)]

    assert names(folder) == [closed, open_name(2, 1)]
    assert (folder.path / closed).read_bytes() == LINES


def test_killed_between_two_names(folder: AuditFolder) -> None:
    """A file that had its whole name already is not closed again under another one."""
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
    _, young, third, newest = made(folder, 9, 1, 0.7, 0.5)

    assert folder.delete_old(1e9, -1, -1) == 0
    assert folder.delete_old(1e9, 2, -1) == 1
    assert names(folder) == [young, third, newest]
    assert folder.delete_old(1e9, -1, 300) == 0
    assert folder.delete_old(1e9, -1, 299) == 1
    assert names(folder) == [third, newest]
    assert folder.delete_old(1e9, 0, 0) == 1
    assert names(folder) == [newest]


def test_a_reserve_of_room(folder: AuditFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is taken and given back; where there is none, nothing is left behind."""
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
