"""The audit log of a world."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from doorkeeper.audit.events import Decision
from doorkeeper.audit.lines import Lines
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import World, events, world_of
from doorkeeper_pipeline.worlds.trail import Trail, write_trail
from doorkeeper_pipeline.worlds.writing import BEGIN_MS

if TYPE_CHECKING:
    from pathlib import Path


@cache
def small() -> World:
    return world_of(SMALL)


def read(path: Path) -> list[Decision]:
    decoder = msgspec.json.Decoder(Decision)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def test_lines_are_those_of_the_server(tmp_path: Path) -> None:
    """Each line is, byte for byte, what the server's own writer makes of the event in it."""
    paths = write_trail(small(), tmp_path, Trail(decisions=2_000))

    lines = [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]
    decisions = [each for path in paths for each in read(path)]
    writer = Lines(1)
    for number, (line, event) in enumerate(zip(lines, decisions, strict=True), 1):
        assert line == msgspec.json.encode(event) + b"\n"
        assert event.seq == number
        assert event.time == writer.time_text(event.ts_ns)
        assert event.first_ns <= event.last_ns < event.ts_ns


def test_counts_are_those_of_the_events(tmp_path: Path) -> None:
    """Every event is counted in exactly one line of its question and window."""
    paths = write_trail(small(), tmp_path, Trail(decisions=3_000, window_ms=3_600_000))

    questions = {
        tuple(row.values())[:6]: number for number, row in enumerate(small().questions.to_pylist())
    }
    counts = np.zeros(SMALL.questions, dtype=np.int64)
    for path in paths:
        for event in read(path):
            asked = (event.principal, event.host, event.operation, event.resource_type,
                     event.resource_name, event.api)  # fmt: skip
            counts[questions[asked]] += event.count
    expected = np.zeros(SMALL.questions, dtype=np.int64)
    for part in events(small(), 3_000, begin_ms=BEGIN_MS):
        for row in part.rows.tolist():
            asked = tuple(small().questions.slice(row, 1).to_pylist()[0].values())[:6]
            expected[questions[asked]] += 1
    assert (counts == expected).all()
