"""The files of a world."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard

from synthetic.lines import tails_of
from synthetic.shape import SMALL
from synthetic.traffic import World, events, world_of
from synthetic.writing import (
    BEGIN_MS,
    Log,
    write_log,
)

OPEN: dict[str, Any] = {".gz": gzip.open, ".zst": zstandard.open}


@cache
def small() -> World:
    return world_of(SMALL)


@pytest.mark.parametrize(("lines", "compressed"), [(1_001, ""), (1_001, ".gz"), (2, ".zst")])
def test_files_contain_the_events_in_order(tmp_path: Path, lines: int, compressed: str) -> None:
    log = Log(era="E", lines=lines, files=3, days=2, compressed=compressed)

    written = write_log(small(), tmp_path, log)

    tails = list(tails_of(small(), "E"))
    expected = [
        moment_text(at_ms) + tails[row]
        for part in events(small(), lines, begin_ms=BEGIN_MS, days=2)
        for row, at_ms in zip(part.rows.tolist(), part.at_ms.tolist(), strict=True)
    ]
    contents = list(map(content_of, written.paths))
    assert b"".join(contents) == "".join(expected).encode()
    assert all(contents)
    assert written.counts.sum() == lines
    assert written.size_bytes == sum(each.stat().st_size for each in tmp_path.iterdir())


def content_of(path: Path) -> bytes:
    with OPEN.get(path.suffix, open)(path, "rb") as file:
        return bytes(file.read())


def moment_text(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03d}] "
