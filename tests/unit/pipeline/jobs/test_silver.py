"""Spans of days of decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.jobs import silver
from doorkeeper_pipeline.jobs.silver import build_span, changed_spans
from doorkeeper_pipeline.sources.json_lines import Decided, _frame
from doorkeeper_pipeline.tables import contents, places
from doorkeeper_pipeline.tables.delta import Change, Tables, write_part

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.jobs.silver import SpanTask
    from doorkeeper_pipeline.tables.delta import DataFile

MINUTE_US = 60_000_000
DAY_US = 1440 * MINUTE_US
DAY = "1970-01-02"


def decided(at_us: int, name: str = "t") -> Decided:
    """Return a decision."""
    return Decided(
        "User:a", "h", "READ", "TOPIC", name, "DENIED", "", "", "", False, 1, at_us, at_us
    )


class Day:
    """A folder with files of the table lines, and the tasks that each change asks for."""

    def __init__(self, folder: Path) -> None:
        """Begin with an empty folder."""
        self._out = str(folder)
        self.files: dict[str, dict[str, Any]] = {}
        self._change = Change(Tables(self._out))

    def tasks(self, files: dict[str, list[Decided]]) -> list[SpanTask]:
        """Write rows of files, and return the tasks that they ask for."""
        for name, decisions in files.items():
            lines = _frame(decisions, "trail").with_columns(file_id=pl.lit(name))
            lines = contents.as_frame("lines", lines)
            part = write_part(self._out, "lines", lines, f"{places.of_file(name)}00000")
            self._change.add([part])
            self.files[name] = {
                "first_ts": lines["first_ts"].min(),
                "last_ts": lines["last_ts"].max(),
                "days": lines["minute"].dt.strftime("%Y-%m-%d").unique().sort().to_list(),
                "clusters": [],
            }
        rows = [self.files[name] for name in files]
        return list(changed_spans(self._change, rows, self.files, ()))

    def build(self, task: SpanTask) -> list[DataFile]:
        """Carry out a task."""
        parts, _ = build_span(self._out, task)
        return parts

    def built(self, tasks: list[SpanTask]) -> list[str]:
        """Carry out tasks, commit, and return the names of all files of decisions."""
        for task in tasks:
            self._change.add(self.build(task))
        self._change.commit()
        self._change = Change(Tables(self._out))
        return [part.path for part in self._change.parts("decisions")]

    def counts(self) -> dict[str, int]:
        """Return how often each name was refused."""
        rows = self._change.tables.read("decisions")
        return dict(rows.group_by("resource_name").agg(pl.col("count").sum()).iter_rows())


@pytest.fixture
def day(tmp_path: Path) -> Day:
    """Return an empty folder."""
    return Day(tmp_path / "out")


def test_rows_of_all_files_of_a_day(day: Day, tmp_path: Path) -> None:
    files = {
        "a": [decided(DAY_US), decided(DAY_US * 2)],
        "b": [decided(DAY_US + 1), decided(DAY_US * 2 - 1, "late")],
    }

    task, _ = day.tasks(files)
    part, sums = day.build(task)

    assert part.rows == 2
    assert part.path.startswith("day=1970-01-02/0000of0001-")
    assert part.partition == (("day", DAY),)
    written = pl.read_parquet(tmp_path / "out" / "silver" / "decisions" / part.path)
    assert sorted(written.select("resource_name", "count").rows()) == [("late", 1), ("t", 2)]
    assert (sums.rows, sums.path.partition("-0")[0]) == (2, "days/1970")


@pytest.mark.parametrize(
    ("lines", "spans"), [(1, 1), (2, 2), (5, 6), (30, 24), (9 * 48, 48), (9 * 1440, 1440)]
)
def test_large_day_is_split(
    day: Day, monkeypatch: pytest.MonkeyPatch, lines: int, spans: int
) -> None:
    rows = [decided(DAY_US + minute * MINUTE_US, f"t{minute}") for minute in range(0, 1440, 7)]
    monkeypatch.setattr(silver, "LINES_A_SPAN", len(rows) / lines)
    monkeypatch.setattr(silver, "LINES_MAX", 9 * len(rows) / lines)

    tasks = day.tasks({"a": rows})

    assert {task.spans for task in tasks} == {spans}
    if spans < 100:  # The others take a second each.
        found = [part for task in tasks for part in day.build(task)]
        assert sum(part.rows for part in found if part.table == "decisions") == len(rows)


def test_only_changed_spans_are_rebuilt(day: Day, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silver, "LINES_A_SPAN", 1)
    hours = {f"h{hour}": [decided(DAY_US + hour * 60 * MINUTE_US, f"t{hour}")] for hour in range(3)}
    before = day.built(day.tasks(hours))

    tasks = day.tasks({"late": [decided(DAY_US + 50 * MINUTE_US, "new")]})
    after = day.built(tasks)

    assert [(task.number, len(task.parts)) for task in tasks] == [(0, 4)]
    assert len({*before} - {*after}) == 1
    assert day.counts() == {"t0": 1, "t1": 1, "t2": 1, "new": 1}


def test_growing_day_is_split_again(day: Day, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silver, "LINES_A_SPAN", 2)
    day.built(day.tasks({"a": [decided(DAY_US, "a")]}))

    stays = day.tasks({"b": [decided(DAY_US + n * MINUTE_US, "b") for n in range(3)]})
    day.built(stays)
    cut = day.tasks({"c": [decided(DAY_US * 2 - 1, "c")]})
    names = day.built(cut)

    assert {task.spans for task in stays} == {1}
    assert {task.spans for task in cut} == {3}
    assert {name.partition("/")[2][:10] for name in names} == {"0000of0003", "0002of0003"}
    assert day.counts() == {"a": 1, "b": 3, "c": 1}
