"""The files of a world."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
import zstandard

from doorkeeper.acl.formats.choosing import read
from doorkeeper_pipeline.worlds.lines import ERAS, tails_of
from doorkeeper_pipeline.worlds.shape import SMALL
from doorkeeper_pipeline.worlds.traffic import World, events, world_of
from doorkeeper_pipeline.worlds.writing import (
    BAD_LINES,
    BEGIN_MS,
    Log,
    stamps,
    write_acls,
    write_log,
)

if TYPE_CHECKING:
    from pathlib import Path


@cache
def small() -> World:
    return world_of(SMALL)


@pytest.mark.parametrize("era", ERAS)
def test_a_log_holds_the_events_in_order(era: str, tmp_path: Path) -> None:
    """The files one after the other are the lines of all events, each with its moment."""
    written = write_log(small(), tmp_path, Log(era=era, lines=3_001, files=3, days=2))

    tails = list(tails_of(small(), era))
    expected = [
        moment_text(at_ms) + tails[row]
        for part in events(small(), 3_001, begin_ms=BEGIN_MS, days=2)
        for row, at_ms in zip(part.rows.tolist(), part.at_ms.tolist(), strict=True)
    ]
    assert b"".join(each.read_bytes() for each in written.paths) == "".join(expected).encode()
    assert written.counts.sum() == 3_001
    assert written.size_bytes == sum(each.stat().st_size for each in tmp_path.iterdir())


def test_files_are_named_as_a_broker_names_them(tmp_path: Path) -> None:
    """The newest has the bare name, the others the hour in which they begin."""
    written = write_log(small(), tmp_path, Log(lines=100, files=3, days=3))

    assert [each.name for each in written.paths] == [
        "kafka-authorizer.log.2026-11-01-00.000",
        "kafka-authorizer.log.2026-11-02-02.001",
        "kafka-authorizer.log",
    ]


def test_bad_lines_stand_between_decisions(tmp_path: Path) -> None:
    """After every so many decisions comes a line that is none, and they are counted."""
    log = Log(lines=100, files=2, bad_every=10)

    written = write_log(small(), tmp_path, log)

    text = b"".join(path.read_bytes() for path in written.paths)
    lines = text.splitlines(keepends=True)
    assert written.bad == 10
    assert [lines[each] for each in range(10, len(lines), 11)] == [*BAD_LINES, *BAD_LINES]
    assert len(lines) == 110


def test_old_files_may_be_compressed(tmp_path: Path) -> None:
    """All but the newest are compressed, and hold the same."""
    plain = write_log(small(), tmp_path / "plain", Log(lines=900, files=3))
    gz = write_log(small(), tmp_path / "gz", Log(lines=900, files=3, compressed=".gz"))
    zst = write_log(small(), tmp_path / "zst", Log(lines=900, files=3, compressed=".zst"))

    texts = [each.read_bytes() for each in plain.paths]
    assert [gzip.decompress(each.read_bytes()) for each in gz.paths[:-1]] == texts[:-1]
    assert [
        zstandard.ZstdDecompressor().stream_reader(each.read_bytes()).read()
        for each in zst.paths[:-1]
    ] == texts[:-1]
    assert gz.paths[-1].read_bytes() == zst.paths[-1].read_bytes() == texts[-1]


def test_a_log_without_lines_has_no_files(tmp_path: Path) -> None:
    """Nothing happened: nothing is written."""
    assert write_log(small(), tmp_path, Log(lines=0)).paths == ()


def test_all_formats_of_a_set_hold_the_same(tmp_path: Path) -> None:
    """Each file reads back as the world's ACLs; the proposal is another set."""
    paths = write_acls(small(), tmp_path)

    sets = {
        name: sorted(read(path.read_bytes().decode(), name=path.name))
        for name, path in paths.items()
    }
    assert sets.pop("proposal") != list(small().bindings)
    assert all(each == list(small().bindings) for each in sets.values())
    assert set(sets) == {"yaml", "json", "kafka", "csv", "csv-kafka-ui"}


def test_moments_are_written_as_log4j_does() -> None:
    """Years, leap days, the last millisecond of a day."""
    moments = [0, 951_782_399_999, 951_868_799_999, 1_793_491_200_001, 4_102_444_799_999]

    assert stamps(np.array(moments)).to_pylist() == [moment_text(each) for each in moments]


def moment_text(at_ms: int) -> str:
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03d}] "
