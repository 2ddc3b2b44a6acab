"""The files of a world."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from doorkeeper_pipeline.worlds.lines import tails_of
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import World, events, world_of
from doorkeeper_pipeline.worlds.writing import (
    BEGIN_MS,
    Log,
    write_log,
)

if TYPE_CHECKING:
    from pathlib import Path


@cache
def small() -> World:
    return world_of(SMALL)


def test_a_log_holds_the_events_in_order(tmp_path: Path) -> None:
    """The files one after the other are the lines of all events, each with its moment."""
    written = write_log(small(), tmp_path, Log(era="E", lines=1_001, files=3, days=2))

    tails = list(tails_of(small(), "E"))
    expected = [
        moment_text(at_ms) + tails[row]
        for part in events(small(), 1_001, begin_ms=BEGIN_MS, days=2)
        for row, at_ms in zip(part.rows.tolist(), part.at_ms.tolist(), strict=True)
    ]
    assert b"".join(each.read_bytes() for each in written.paths) == "".join(expected).encode()
    assert written.counts.sum() == 1_001
    assert written.size_bytes == sum(each.stat().st_size for each in tmp_path.iterdir())


def moment_text(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03d}] "
