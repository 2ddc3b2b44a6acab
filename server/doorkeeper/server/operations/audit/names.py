"""File names of the audit log: the node, and the numbers of the events.

 audit-1-000000000042.jsonl.open                     being written; readers ignore a partial line
 audit-1-000000000042-000000000977.jsonl             closed: events 42 to 977 of node 1
 audit-1-000000000042-000000000977.jsonl.zst         the same, compressed
 audit-1.lock, audit-1.reserve, *.tmp                private to the server

A closed file keeps its name. The sorted names of one node are in the order of events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

OPEN: Final = ".jsonl.open"
PLAIN: Final = ".jsonl"
COMPRESSED: Final = ".jsonl.zst"
TEMPORARY: Final = ".tmp"

_WHOLE = re.compile(r"audit-(\d+)-(\d{12,})-(\d{12,})\.jsonl(\.zst)?")
_OPEN = re.compile(r"audit-(\d+)-(\d{12,})\.jsonl\.open")


class AuditFile(Struct, frozen=True):
    """A file of the audit log, by its name. ``last`` is None while it is being written."""

    node: int
    first: int
    last: int | None
    path: Path

    @property
    def is_compressed(self) -> bool:
        return self.path.name.endswith(COMPRESSED)


def open_name(node: int, first: int) -> str:
    """Return the name of an open file whose first event has this number."""
    return f"audit-{node}-{first:012d}{OPEN}"


def whole_name(node: int, first: int, last: int, *, compressed: bool) -> str:
    """Return the name of a closed file with these events."""
    return f"audit-{node}-{first:012d}-{last:012d}{COMPRESSED if compressed else PLAIN}"


def file_of(path: Path) -> AuditFile | None:
    """Parse a path's name; return None if it is not a file of events."""
    if (whole := _WHOLE.fullmatch(path.name)) is not None:
        return AuditFile(int(whole[1]), int(whole[2]), int(whole[3]), path)
    if (being_written := _OPEN.fullmatch(path.name)) is not None:
        return AuditFile(int(being_written[1]), int(being_written[2]), None, path)
    return None


def files_in(folder: Path) -> list[AuditFile]:
    """Return the files of a folder: by node, then in the order of events."""
    return in_order(file for path in folder.iterdir() if (file := file_of(path)) is not None)


def in_order(files: Iterable[AuditFile]) -> list[AuditFile]:
    """Sort files by node, then by their first event; the open file comes last."""
    return sorted(files, key=lambda file: (file.node, file.first, file.last is None))
