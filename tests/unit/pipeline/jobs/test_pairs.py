"""Requests that write two lines, and those that lack one."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.jobs.observed import pairs_in
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from pathlib import Path

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)

Line = dict[str, Any]


def line(api: str, kind: str, name: str = "x", minute: int = 0, **changed: Any) -> Line:
    """Return a row of the table decisions."""
    at = NOON + dt.timedelta(minutes=minute)
    return {
        "day": at.date(),
        "minute": at,
        "first_ts": at,
        "last_ts": at,
        "principal": "User:a",
        "host": "h",
        "operation": "READ",
        "resource_type": kind,
        "resource_name": name,
        "outcome": "ALLOWED",
        "api": api,
        "rule": "",
        "probe": False,
        "rule_binding": "",
        "source": "authorizer-log",
        "count": 1,
        "cluster": "",
        **changed,
    }


def commit(minute: int = 0, **changed: Any) -> list[Line]:
    kinds = ("GROUP", "TOPIC")
    return [line("OffsetCommit", kind, minute=minute, **changed) for kind in kinds]


def look_up(minute: int = 0, name: str = "g", **changed: Any) -> Line:
    return line("FindCoordinator", "GROUP", name, minute, **changed)


LAST = line("Heartbeat", "GROUP", "other", 59)


def found(folder: Path, lines: list[Line]) -> tuple[int, int]:
    path = folder / "12.parquet"
    pl.DataFrame(lines, contents.schema_of("decisions")).write_parquet(path)
    pairs = pairs_in(contents.scan("decisions", [str(path)]))
    assert set(pairs["day"]) <= {NOON.date()}
    return int(pairs["paired"].sum()), int(pairs["unpaired"].sum())


@pytest.mark.parametrize(
    ("lines", "pairs"),
    [
        (commit(), (1, 0)),
        ([*commit(), *commit(1)[:1]], (1, 1)),
        ([*commit(), *commit(1)[1:]], (1, 1)),
        ([*commit(), *commit(1, principal="User:b")[:1]], (1, 1)),
        # Several topics are one commit; several commits in a minute are not told apart.
        ([*commit(), line("OffsetCommit", "TOPIC", "y"), *commit(1, count=2)], (1, 0)),
        ([*commit(), *commit(1, outcome="DENIED")[:1]], (1, 0)),
        ([*commit(), commit(1)[0], {**commit(1)[1], "outcome": "DENIED"}], (2, 0)),
        # Of another making: commits have no lines for topics, or lines stand for more.
        ([commit(minute)[0] for minute in range(9)], (0, 0)),
        (commit(source="trail")[:1], (0, 0)),
        ([line("Fetch", "TOPIC"), line("Produce", "TOPIC")], (0, 0)),
    ],
)
def test_offset_commits_write_pairs(
    tmp_path: Path, lines: list[Line], pairs: tuple[int, int]
) -> None:
    assert found(tmp_path, lines) == pairs


@pytest.mark.parametrize(
    ("lines", "pairs"),
    [
        ([look_up(), line("JoinGroup", "GROUP", "g"), LAST], (1, 0)),
        ([look_up(), line("OffsetFetch", "GROUP", "g", 1), LAST], (1, 0)),
        ([look_up(), line("JoinGroup", "GROUP", "g", outcome="DENIED"), LAST], (1, 0)),
        ([look_up(), LAST], (0, 1)),
        ([look_up(2), line("JoinGroup", "GROUP", "g", 1), LAST], (0, 1)),
        ([look_up(), line("JoinGroup", "GROUP", "g", 2), LAST], (0, 1)),
        ([look_up(), line("JoinGroup", "GROUP", "h"), LAST], (0, 1)),
        ([look_up(), line("JoinGroup", "GROUP", "g", host="i"), LAST], (0, 1)),
        ([look_up(), line("JoinGroup", "TOPIC", "g"), LAST], (0, 1)),
        # What follows in the next minute is in the files of another day.
        ([look_up(59), LAST], (0, 0)),
        ([look_up(outcome="DENIED"), LAST], (0, 0)),
        ([line("FindCoordinator", "TRANSACTIONAL_ID"), LAST], (0, 0)),
        # A library looks every ten minutes.
        ([*(look_up(4 * each) for each in range(13)), LAST], (0, 0)),
        ([*(look_up(4 * each) for each in range(12)), LAST], (0, 12)),
    ],
)
def test_coordinator_lookups_are_followed_by_requests(
    tmp_path: Path, lines: list[Line], pairs: tuple[int, int]
) -> None:
    assert found(tmp_path, lines) == pairs
