"""Input files: those that there are, those that were read, and the rest for an incremental run.

A file is known again by path, size, time and number; else by its beginning. So a log that was
rotated by renaming, or compressed since, is not read as a second file, and one that has grown
replaces its earlier rows. One that became shorter does not: it may be a copy that is not complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from doorkeeper_pipeline.topics.addresses import RecordRange

NO_INODE = 0
"""The number of a file at an address, and of a range of a topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """An input file, or a range of a topic.

    Attributes:
        path: Where, absolute.
        source: One of SOURCES.
        how: How it is compressed: gz, zst or nothing.
        size: Bytes.
        mtime_ns: When it was changed last.
        inode: Its number in the file system, or NO_INODE.
        beginning: Its first IDENTITY_BYTES, uncompressed.
        records: The range of a topic that it is; None for a file.
        topic_id: What names the topic; empty for a file.

    """

    path: str
    source: str
    how: str = ""
    size: int = 0
    mtime_ns: int = 0
    inode: int = NO_INODE
    beginning: bytes = b""
    records: RecordRange | None = None
    topic_id: str = ""

    def digest(self, size: int | None = None) -> str:
        """Return the digest of the beginning, or of its first bytes."""
        return hashlib.sha256(self.beginning[:size]).hexdigest()


ID_LENGTH = 16
ID_BYTES = 128
"""Of the beginning as much as any file has that says anything: a file that grows keeps its id even
where it is read anew into an empty folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of a run.

    Attributes:
        read: Files to be read, with the id that they have or get.
        unchanged: Rows of files that are as they were, perhaps under another path.
        shorter: The number of those that have become shorter, and stay as they were read.
        gone: Rows of files that have disappeared; their decisions stay.

    """

    read: tuple[tuple[str, SourceFile], ...]
    unchanged: tuple[dict[str, Any], ...]
    shorter: int
    gone: tuple[dict[str, Any], ...]


def compare(
    known: Iterable[Mapping[str, Any]],
    files: Iterable[SourceFile],
    options: str,
    *,
    rebuild: bool = False,
    taken: frozenset[str] = frozenset(),
) -> Work:
    """Compare the rows of the table ``files`` with the files that there are.

    ``taken`` are the ids of other files.
    """
    rows = [dict(row) for row in known]
    by_path = {row["path"]: row for row in rows}
    claimed: set[str] = set()
    read: list[tuple[str, SourceFile]] = []
    unchanged = []
    shorter = 0

    def order(file: SourceFile) -> tuple[bool, str]:
        # Files that go on under their names come first: a copy of one must not take its place.
        row = by_path.get(file.path)
        return row is None or not _continues(row, file), file.path

    for file in sorted(files, key=order):
        row = _find_continued(rows, claimed, file)
        if row is None:
            others = {row["file_id"] for row in rows} | {i for i, _ in read}
            file_id = _new_id(file, taken | others)
            read.append((file_id, file))
            continue
        claimed.add(row["file_id"])
        if not rebuild and _is_as_read(row, file, options):
            unchanged.append({**row, "path": file.path})
        elif not rebuild and _is_shorter(row, file, options):
            unchanged.append(row)
            shorter += 1
        else:
            read.append((row["file_id"], file))
    gone = tuple(row for row in rows if row["file_id"] not in claimed)
    return Work(read=tuple(read), unchanged=tuple(unchanged), shorter=shorter, gone=gone)


def _is_as_read(row: Mapping[str, Any], file: SourceFile, options: str) -> bool:
    """Return whether a file that continues a row is as it was read, under any path."""
    return bool(
        row["size"] == file.size
        and row["mtime_ns"] == file.mtime_ns
        and row["inode"] == file.inode
        and row["options"] == options
        and row["source"] == file.source
    )


def _is_shorter(row: Mapping[str, Any], file: SourceFile, options: str) -> bool:
    """Return whether a file that continues a row lacks lines which are read as they would be now.

    A file that breaks off inside of its compression says so itself.
    """
    is_same = row["options"] == options and row["source"] == file.source
    return bool(is_same and not file.how and file.size < row["size"])


def _continues(row: Mapping[str, Any], file: SourceFile) -> bool:
    """Return whether a file begins as the one of a row did."""
    size = row["head_bytes"]
    return bool(size <= len(file.beginning) and row["head_sha256"] == file.digest(size))


def _find_continued(
    rows: list[dict[str, Any]], claimed: AbstractSet[str], file: SourceFile
) -> dict[str, Any] | None:
    """Return the row whose file begins as this one does, and that no other file has taken."""
    fitting = [row for row in rows if row["file_id"] not in claimed and _continues(row, file)]
    same_path = [row for row in fitting if row["path"] == file.path]
    return next(iter(same_path or fitting), None)


def _new_id(file: SourceFile, taken: frozenset[str]) -> str:
    """Return an id made from the file's content, so that a rebuild elsewhere gives the same."""
    number = 0
    while True:
        text = f"{number}:{file.digest(ID_BYTES)}"
        file_id = hashlib.sha256(text.encode("ascii")).hexdigest()[:ID_LENGTH]
        if file_id not in taken:
            return file_id
        number += 1
