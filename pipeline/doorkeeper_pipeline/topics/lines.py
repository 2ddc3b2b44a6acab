"""Records as lines of a temporary file, and the way back from a line to its record.

The readers of logs get a range of records as they get a file, so that all sources, envelopes and
layouts are read in the same way wherever they come from.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import Self


class RecordLines:
    """A temporary file with the values of records, which is deleted at the end of the context.

    Attributes:
        path: The file.
        empty: How many records that were added have no value, as tombstones, or blanks only.

    """

    def __init__(self) -> None:
        self._file = tempfile.NamedTemporaryFile(prefix="doorkeeper-")  # noqa: SIM115  __exit__
        self.path = Path(self._file.name)
        self.empty = 0
        self._size = 0
        self._starts = array("q")
        self._offsets = array("q")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._file.close()

    def add(self, records: Iterable[tuple[int, bytes | None]]) -> None:
        """Write the values of records, pairs of an offset and a value."""
        for offset, value in records:
            line = b"" if value is None else as_line(value)
            if not line:
                self.empty += 1
                continue
            self._starts.append(self._size)
            self._offsets.append(offset)
            self._file.write(line)
            self._size += len(line)

    def complete(self) -> Self:
        """Write everything to the file, which may be opened by its path from now on."""
        self._file.flush()
        return self

    def offset_at(self, position: int) -> int:
        """Return the offset of the record to which a byte of the file belongs."""
        return self._offsets[bisect_right(self._starts, position) - 1]


def as_line(value: bytes) -> bytes:
    """Return a value as a line, or as the lines that it has; nothing for blanks.

    An object of JSON becomes one line: a line break in it is a blank, since texts have none.
    """
    stripped = value.strip()
    if stripped.startswith(b"{") and b"\n" in stripped:
        stripped = stripped.replace(b"\r", b" ").replace(b"\n", b" ")
    return stripped + b"\n" if stripped else b""
