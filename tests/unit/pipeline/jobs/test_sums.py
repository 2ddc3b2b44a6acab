"""Sums of distinct decisions: what is added to them, and when they are made anew."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.questions import COUNTS
from doorkeeper_pipeline.jobs import sums
from doorkeeper_pipeline.jobs.asking import DISTINCT, distinct
from doorkeeper_pipeline.jobs.belonging import Cluster
from doorkeeper_pipeline.jobs.sums import TABLE, NewsTask, SumTask, parts_of, up_to_date
from doorkeeper_pipeline.tables import contents, delta, places
from doorkeeper_pipeline.tables.delta import Change, DataFile, Tables, write_part
from testkit.report_tables import table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

UNNAMED = Cluster("")


class History(Engine):
    """A folder with decisions by day, and the tasks that each change asked for."""

    def __init__(self, out: Path) -> None:
        """Begin with an empty folder."""
        super().__init__()
        self.out = str(out)
        self.asked: list[Any] = []
        self.covered: dict[str, str] = {}

    def map(self, function: Any, tasks: Any, shared: Any) -> Any:
        """Carry out tasks, and note them."""
        self.asked += tasks
        return super().map(function, tasks, shared)

    def change(
        self,
        days: Mapping[str, Sequence[str]],
        *,
        summed: bool = True,
        cluster: Cluster = UNNAMED,
    ) -> None:
        """Write days with a refusal of each name in place of what they were, and sum up.

        The days are of the cluster that is summed up.
        """
        self.asked.clear()
        change = Change(Tables(self.out))
        for day, names in days.items():
            name = places.of_span(day, 0, 1, cluster.name if cluster.ids else "")
            change.remove("decisions", f"{name}-")
            if not names:
                continue
            at = dt.datetime.fromisoformat(f"{day}T03:00:00+00:00")
            rows = [
                {"day": at.date(), "minute": at, "principal": "User:a", "resource_name": refused}
                | {"outcome": "DENIED", "count": 1}
                | dict.fromkeys(("first_ts", "last_ts"), at)
                for refused in names
            ]
            frame = contents.as_frame("decisions", table_of("decisions", rows).collect())
            change.add([write_part(self.out, "decisions", frame, name)])
        if summed:
            last = self.covered.get(cluster.name, "")
            _, self.covered[cluster.name] = up_to_date(change, self, cluster, last)
        digests = {TABLE: self.covered.get(cluster.name, "")}
        row = {"cluster": cluster.name, "digests": json.dumps(digests)}
        before = change.tables.read("runs")
        runs = pl.concat([before, contents.as_frame("runs", table_of("runs", [row]).collect())])
        change.replace("runs", contents.as_frame("runs", runs))
        change.commit()

    def news(self) -> list[tuple[list[str], list[str]]]:
        """Return the spans of files that came and went, of each task about news."""
        tasks = [each for each in self.asked if isinstance(each, NewsTask)]
        return [(self._spans(each.came), self._spans(each.went)) for each in tasks]

    def _spans(self, files: Sequence[str]) -> list[str]:
        root = f"{self.out}/{places.folder_of(TABLE)}/"
        return [name.removeprefix(root).rpartition("/")[0] for name in files]

    def merges(self) -> bool:
        """Return whether the parts of the history were written."""
        return any(isinstance(each, SumTask) for each in self.asked)


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Return an empty history."""
    return History(tmp_path)


def rows_of(out: str, cluster: Cluster = UNNAMED) -> pl.DataFrame:
    """Return the distinct decisions of the whole history."""
    columns = (*DISTINCT, *COUNTS)
    found = [part.rows().select(columns) for part in parts_of(Tables(out), cluster)]
    return pl.concat(found) if found else contents.empty(TABLE).select(columns)


def counts(out: str, cluster: Cluster = UNNAMED) -> dict[str, int]:
    """Return how often each name was refused, by the sum of the whole history."""
    rows = rows_of(out, cluster)
    return dict(rows.group_by("resource_name").agg(pl.col("count").sum()).iter_rows())


def cuts(out: str) -> int:
    """Return into how many parts the whole history is cut."""
    return len(parts_of(Tables(out), UNNAMED))


def is_whole(out: str) -> bool:
    """Return whether the sum is what all decisions add up to."""
    decisions = delta.Tables(out).read("decisions").lazy()
    wanted = distinct(decisions, DISTINCT).sort(DISTINCT).select(*DISTINCT, *COUNTS).collect()
    return bool(rows_of(out).sort(DISTINCT).equals(wanted))


def files(out: str, cluster: Cluster = UNNAMED) -> set[str]:
    """Return the files of the whole history."""
    return {file for part in parts_of(Tables(out), cluster) for file in part.files}


def test_new_days_are_added(history: History) -> None:
    """The new day is read, and nothing of the history is read or written."""
    history.change({f"2026-11-1{day}": [f"{day}{name}" for name in "abcd"] for day in range(5)})
    before = files(history.out)

    history.change({"2026-11-22": ["0a", "c"]})

    assert history.news() == [(["days/2026-11-22"], [])]
    assert not history.merges()
    assert before < files(history.out)
    assert counts(history.out)["0a"] == 2
    assert is_whole(history.out)


@pytest.mark.parametrize("day", ["2026-11-12", "2026-11-22"])
def test_a_day_grows(history: History, day: str) -> None:
    """What it had is taken from what it has: the rest are the news, however old the day."""
    history.change({f"2026-11-{day}": [f"{day}{name}" for name in "abcd"] for day in range(10, 23)})

    history.change({day: [f"{day[-2:]}{name}" for name in "abcd"] + ["new"]})

    assert history.news() == [([f"days/{day}"], [f"days/{day}"])]
    assert counts(history.out)["new"] == 1
    assert set(counts(history.out).values()) == {1}
    assert is_whole(history.out)


def test_a_day_loses_decisions(history: History) -> None:
    """All days are added up anew, of their sums and not of their decisions."""
    history.change({f"2026-11-{day}": ["a"] for day in range(10, 23)})

    history.change({"2026-11-12": ["b"], "2026-11-13": []})

    assert counts(history.out) == {"a": 11, "b": 1}
    assert history.news()[-1] == (
        [f"days/2026-11-{day}" for day in (*range(10, 13), *range(14, 23))],
        [],
    )
    assert not any(isinstance(each, DataFile) and "11-10" in each.path for each in history.asked)
    assert is_whole(history.out)


def test_fewer_of_a_decision(history: History) -> None:
    """A count that falls is no news that could be added."""
    history.change({"2026-11-21": ["a", "a", "b"], "2026-11-22": ["a"]})

    history.change({"2026-11-21": ["a", "b", "c"]})

    assert counts(history.out) == {"a": 2, "b": 1, "c": 1}
    assert is_whole(history.out)


def test_many_news_are_merged(history: History) -> None:
    """They go into the parts when there are many files of them, or half as many rows."""
    history.change({"2026-11-01": list("abcdefghij") * 3})

    merged = []
    for day in range(2, 13):
        history.change({f"2026-11-{day:02}": ["a"]})
        merged.append(history.merges())
        assert is_whole(history.out)

    assert merged.index(True) < len(merged) - 1
    assert merged[:3] == [False] * 3


def test_decisions_without_sums_are_summed(history: History) -> None:
    history.change({"2026-11-21": ["a"]})
    history.change({"2026-11-21": ["b"], "2026-11-22": ["a"]}, summed=False)
    assert parts_of(Tables(history.out), UNNAMED) == ()

    history.change({})

    assert counts(history.out) == {"a": 1, "b": 1}
    assert is_whole(history.out)


def test_large_sums_are_split(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "ROWS_A_PART", 10)

    names = [f"{letter}{number}" for letter in "abcdefghij" for number in range(4)]

    history.change({f"2026-11-2{day}": names for day in range(3)})

    assert cuts(history.out) == 4
    assert counts(history.out) == dict.fromkeys(names, 3)
    assert is_whole(history.out)


def test_growing_sum_is_split_again(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "ROWS_A_PART", 10)
    history.change({"2026-11-20": list("abcdefghij")})

    cut: list[int] = []
    for day, names in ((21, "klmnopqrst"), (22, "uvwxyzABCDEFG"), (23, "a")):
        history.change({f"2026-11-{day}": list(names)})
        cut.append(cuts(history.out))
        assert is_whole(history.out)

    assert cut == [1, 4, 4]


def test_sums_are_by_cluster(history: History) -> None:
    """News of one cluster are added to its sum, and that of the other stays."""
    first, second = (Cluster(name, ("lkc-1", "lkc-2")) for name in ("lkc-1", "lkc-2"))
    for cluster, name in ((first, "a"), (second, "b")):
        days = {f"2026-11-{day}": [name, f"{name}2", f"{name}3"] for day in range(18, 23)}
        history.change(days, cluster=cluster)
    other = files(history.out, second)

    history.change({"2026-11-23": ["c"]}, cluster=first)

    assert counts(history.out, first) == {"a": 5, "a2": 5, "a3": 5, "c": 1}
    assert counts(history.out, second) == {"b": 5, "b2": 5, "b3": 5}
    assert files(history.out, second) == other
    assert len(history.news()) == 1
