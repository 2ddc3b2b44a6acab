"""The audit log of a world."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
import zstandard

from doorkeeper.audit.events import Decision
from doorkeeper.audit.lines import Lines
from doorkeeper.audit.names import file_of
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import ASKINGS, World, events, world_of
from doorkeeper_pipeline.worlds.trail import API_KEYS, Trail, write_trail
from doorkeeper_pipeline.worlds.writing import BEGIN_MS
from doorkeeper_wire.api_keys import API_NAMES

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


@pytest.mark.parametrize("compressed", [False, True])
def test_files_have_the_names_of_whole_ones(tmp_path: Path, *, compressed: bool) -> None:
    """The names say which events are in a file; nothing is missing between files."""
    paths = write_trail(small(), tmp_path, Trail(decisions=500, files=3, compressed=compressed))

    found = [file_of(path) for path in paths]
    assert len(found) == 3
    expected = 1
    for each in found:
        assert each is not None
        assert each.last is not None
        assert each.first == expected
        assert each.is_compressed is compressed
        data = each.path.read_bytes()
        text = zstandard.ZstdDecompressor().decompress(data) if compressed else data
        assert text.count(b"\n") == each.last - each.first + 1
        expected = each.last + 1


def test_nothing_happened(tmp_path: Path) -> None:
    """No decision, no file."""
    assert write_trail(small(), tmp_path, Trail(decisions=0)) == ()


def test_requests_have_kafkas_keys() -> None:
    """The names of requests are Kafka's, with their keys."""
    assert {each.api for each in ASKINGS} == set(API_KEYS)
    assert all(API_NAMES[key] == name for name, key in API_KEYS.items())
