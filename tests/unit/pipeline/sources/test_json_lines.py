"""Files with one object a line, whatever is in it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.evaluation.numbering import DAY_US, Numbered, Stretch
from doorkeeper_pipeline.sources import json_lines, ocsf, reading, trail
from doorkeeper_pipeline.sources.json_lines import Decided, Line, Missing
from doorkeeper_pipeline.sources.parsed import sum_parts

if TYPE_CHECKING:
    from pathlib import Path

ROW = Decided(
    "User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 1, 60_000_000, 60_000_000
)


def adapter(line: bytes) -> Line:
    """Read ``a``, ``m``, ``n`` and ``-``; anything else is an error."""
    found: dict[bytes, Line] = {
        b"a": Line([ROW]),
        b"m": Line(missing=Missing(2, DAY_US, DAY_US)),
        b"n": Line([ROW], number=Numbered(1, 7, DAY_US, allowed=True)),
        b"-": Line(),
    }
    if line not in found:
        raise ValueError(f"found {line!r}\nexpected: a, m or -")
    return found[line]


@pytest.mark.parametrize("size", [1, 100])
def test_lines_of_every_kind(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decisions are merged, the rest counted, bad lines keep their place, in any blocks."""
    monkeypatch.setattr(reading.blocks, "__defaults__", (0, None, size))
    path = tmp_path / "file"
    path.write_bytes(b"a\n-\nx\n\nm\nn")

    found = sum_parts(json_lines.parse_parts(path, "", "trail", adapter))

    assert found.decisions["count"].sum() == 2
    assert (found.lines, found.ignored, found.missing) == (5, 2, 2)
    assert found.lost_days == {dt.date(1970, 1, 2)}
    assert found.stretches == (Stretch("node 1", 7, 7, 1, DAY_US, DAY_US, has_allowed=True),)
    assert found.quarantine.rows() == [(4, 1, "found b'x' expected: a, m or -", "x")]


def test_nested_lines_are_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('{"class_uid":6003,"unmapped":{"a":' + 50_000 * "[" + 50_000 * "]" + "}}\n")

    found = sum_parts(json_lines.parse_parts(path, "", ocsf.SOURCE, ocsf.line))

    assert len(found.quarantine) == 1


def test_event_in_parts_is_whole(tmp_path: Path) -> None:
    """A container runtime cuts long lines; an event that cannot be read leaves others alone."""
    event = '{"kind":"dropped","seq":1,"node":1,"ts_ns":1793959200000000000,"count":3}'
    begin = "2026-11-22T07:10:00.1Z stdout"
    path = tmp_path / "file"
    path.write_text(f"{begin} P {event[:20]}\n{begin} F {event[20:]}\n{begin} F x\n{begin} P y\n")

    found = sum_parts(json_lines.parse_parts(path, "", trail.SOURCE, trail.line))

    assert (found.lines, found.missing, found.quarantined) == (3, 3, 2)
    assert found.quarantine["text"].to_list() == ["x", "y"]


def test_range_has_its_own_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\nx\na\na\n")

    found = sum_parts(json_lines.parse_parts(path, "", "trail", adapter, 2, 6))

    assert found.decisions["count"].sum() == 1


@pytest.mark.parametrize(
    "row",
    [
        ROW._replace(count=0),
        ROW._replace(first_us=61_000_000),
        ROW._replace(count=1 << 63),
        ROW._replace(last_us=10**18),
        ROW._replace(last_us=253_402_300_799_000_000),
        ROW._replace(resource_name=""),
    ],
)
def test_implausible_numbers_are_rejected(row: Decided) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json_lines.check_row(row)
