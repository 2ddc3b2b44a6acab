"""The audit log of a world."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from doorkeeper.server.operations.audit.events import Decision
from doorkeeper.server.operations.audit.queue import Lines
from synthetic.shape import SMALL
from synthetic.traffic import World, world_of
from synthetic.trail import Trail, write_trail

if TYPE_CHECKING:
    from pathlib import Path


@cache
def small() -> World:
    return world_of(SMALL)


def read(path: Path) -> list[Decision]:
    decoder = msgspec.json.Decoder(Decision)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def test_lines_match_the_server(tmp_path: Path) -> None:
    paths = write_trail(small(), tmp_path, Trail(decisions=2_000))

    lines = [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]
    decisions = [each for path in paths for each in read(path)]
    writer = Lines(1)
    for number, (line, event) in enumerate(zip(lines, decisions, strict=True), 1):
        assert line == msgspec.json.encode(event) + b"\n"
        assert event.seq == number
        assert event.time == writer.time_text(event.ts_ns)
        assert event.first_ns <= event.last_ns < event.ts_ns
