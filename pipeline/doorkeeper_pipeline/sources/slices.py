"""Ranges of a large file for tasks, cut where a record ends: no task needs another's bytes."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from doorkeeper_pipeline.sources import authorizer_log
from doorkeeper_pipeline.sources.reading import RECORD_BYTES_MAX, opened_raw
from doorkeeper_pipeline.tables.places import is_address
from doorkeeper_pipeline.tables.source_file import SourceFile

SLICE_BYTES = 256 << 20
"""Bytes of a task: large enough that starting it costs nothing, small enough for a worker."""


def slices(file: SourceFile, size: int = SLICE_BYTES) -> list[tuple[int, int | None]]:
    """Return (start, end) of each range; one without an end where a file is compressed, or far."""
    if file.how or file.size <= size or is_address(file.path):
        return [(0, None)]
    borders = [0]
    with opened_raw(Path(file.path)) as opened:
        while borders[-1] + size < file.size:
            border = _border(opened, file, borders[-1] + size)
            if border is None or border >= file.size:
                break
            borders.append(border)
    return list(zip(borders, [*borders[1:], file.size], strict=True))


def _border(opened: IO[bytes], file: SourceFile, near: int) -> int | None:
    """Return where the first record begins after a place; None when none does soon."""
    opened.seek(near)
    data = opened.read(RECORD_BYTES_MAX)
    if file.source == authorizer_log.SOURCE:
        found = authorizer_log.BOUNDARY.search(data)
        return None if found is None else near + found.end()
    at = data.find(b"\n")
    return None if at < 0 else near + at + 1
