"""Sums of distinct decisions: what is added to them, and when they are made anew."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.jobs import sums
from doorkeeper_pipeline.jobs.belonging import Cluster
from doorkeeper_pipeline.jobs.distinct import COUNTS, DISTINCT, distinct
from doorkeeper_pipeline.jobs.sums import TABLE, Covered, files_of, up_to_date
from doorkeeper_pipeline.tables import contents, delta, places
from doorkeeper_pipeline.tables.delta import Change, Tables, write_part
from testkit.report_tables import table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TODAY = dt.date(2026, 11, 22)
UNNAMED = Cluster("")


class History(LocalEngine):
    """A folder with decisions by day, and the tasks that each change asked for."""

    def __init__(self, out: Path) -> None:
        """Begin with an empty folder."""
        super().__init__()
        self.out = str(out)
        self.asked: list[Any] = []
        self.covered: dict[str, Covered] = {}

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
            last = self.covered.get(cluster.name, Covered())
            _, self.covered[cluster.name] = up_to_date(change, self, TODAY, cluster, last)
        digests = {TABLE: self.covered.get(cluster.name, Covered()).text()}
        row = {"cluster": cluster.name, "digests": json.dumps(digests)}
        before = change.tables.read("runs")
        runs = pl.concat([before, contents.as_frame("runs", table_of("runs", [row]).collect())])
        change.replace("runs", contents.as_frame("runs", runs))
        change.commit()

    def files_read(self, folder: str) -> list[str]:
        """Return the names of the spans of files of a folder that were added up."""
        task = next(each for each in self.asked if getattr(each, "name", "").startswith(folder))
        root = f"{self.out}/{places.folder_of(TABLE)}/"
        files = [task.was, *task.files] if task.was else task.files
        return [name.removeprefix(root).rpartition("/")[0] for name in files]


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Return an empty history."""
    return History(tmp_path)


def counts(out: str, cluster: Cluster = UNNAMED) -> dict[str, int]:
    """Return how often each name was refused, by the sum of the whole history."""
    rows = contents.read_files(out, TABLE, files_of(Tables(out), cluster))
    assert set(rows["span"]) <= {"all"}
    return dict(rows.group_by("resource_name").agg(pl.col("count").sum()).iter_rows())


def spans(out: str, folder: str) -> set[str]:
    """Return the spans of sums in a folder."""
    tables = Tables(out)
    return set(contents.read_files(out, TABLE, tables.files(TABLE, f"{folder}/"))["span"])


def cuts(out: str) -> set[int]:
    """Return into how many parts the sum of the whole history is cut."""
    return set(map(places.spans_of, files_of(Tables(out), UNNAMED)))


def is_whole(out: str) -> bool:
    """Return whether the sum is what all decisions add up to."""
    decisions = delta.read(out, "decisions").lazy()
    wanted = distinct(decisions, DISTINCT).sort(DISTINCT).select(*DISTINCT, *COUNTS).collect()
    found = contents.read_files(out, TABLE, files_of(Tables(out), UNNAMED)).select(
        *DISTINCT, *COUNTS
    )
    return bool(found.sort(DISTINCT).equals(wanted))


def test_new_days_are_added(history: History) -> None:
    """The sum of the last run and the new day are read, and no older day."""
    history.change({f"2026-11-1{day}": ["a", "b"] for day in range(5)})

    history.change({"2026-11-22": ["a", "c"]})

    assert counts(history.out) == {"a": 6, "b": 5, "c": 1}
    [beginning, new] = history.files_read("all/")
    assert (beginning, new) == ("all", "days/2026-11-22")
    assert is_whole(history.out)


def test_one_of_the_last_two_days_changes(history: History) -> None:
    """What was before these days is not read again."""
    history.change({f"2026-11-{day}": ["a"] for day in range(10, 23)})

    history.change({"2026-11-21": ["b"]})

    assert counts(history.out) == {"a": 12, "b": 1}
    assert history.files_read("all/")[1:] == ["days/2026-11-21", "days/2026-11-22"]
    assert history.files_read("all/")[0] == "before"
    assert spans(history.out, "before") == {"before 2026-11-21"}
    assert is_whole(history.out)


def test_an_old_day_changes(history: History) -> None:
    """All days are added up again, of their sums and not of their decisions."""
    history.change({f"2026-11-{day}": ["a"] for day in range(10, 23)})

    history.change({"2026-11-12": ["b"], "2026-11-13": []})

    assert counts(history.out) == {"a": 11, "b": 1}
    assert len(history.files_read("before/")) == 10
    assert not any(
        isinstance(each, sums.DecisionsFile) and "11-10" in each.path for each in history.asked
    )
    assert is_whole(history.out)


def test_days_go_into_the_past(history: History) -> None:
    """A day later the sum of old days gets the day that became old, and no other."""
    history.change({f"2026-11-{day}": ["a"] for day in range(10, 22)})

    history.change({"2026-11-22": ["b"]})

    [beginning, new] = history.files_read("before/")
    assert (beginning, new) == ("before", "days/2026-11-20")
    assert is_whole(history.out)


def test_a_time_in_the_future_makes_nothing_old(history: History) -> None:
    """A forged line of another century would make today an old day for ever."""
    history.change({"2126-01-01": ["x"], "2026-11-20": ["a"], "2026-11-22": ["a"]})

    history.change({"2026-11-22": ["b"]})

    assert history.files_read("all/")[0] == "before"
    assert spans(history.out, "before") == {"before 2026-11-21"}
    assert is_whole(history.out)


def test_decisions_that_no_sum_knows(history: History) -> None:
    """After a run of a release without sums they are made of the decisions; until then none are
    taken for them."""
    history.change({"2026-11-21": ["a"]})
    history.change({"2026-11-21": ["b"], "2026-11-22": ["a"]}, summed=False)
    assert files_of(Tables(history.out), UNNAMED) == ()

    history.change({})

    assert counts(history.out) == {"a": 1, "b": 1}
    assert is_whole(history.out)


def test_large_sums_are_cut(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is a task and a file; together they have each decision once."""
    monkeypatch.setattr(sums, "ROWS_A_PART", 10)

    history.change({f"2026-11-2{day}": list("abcdefghij") for day in range(3)})

    assert cuts(history.out) == {4}
    assert counts(history.out) == dict.fromkeys("abcdefghij", 3)
    assert is_whole(history.out)


def test_parts_without_news_stay(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the part that a new decision is in is written anew."""
    monkeypatch.setattr(sums, "ROWS_A_PART", 10)
    history.change({f"2026-11-2{day}": list("abcdefghij") for day in range(3)})
    before = files_of(Tables(history.out), UNNAMED)

    history.change({"2026-11-23": ["a"]})

    assert len({*before} - {*files_of(Tables(history.out), UNNAMED)}) == 1
    assert counts(history.out) == {**dict.fromkeys("abcdefghij", 3), "a": 4}
    assert is_whole(history.out)


def test_a_sum_that_grows_is_cut_anew(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has more parts when it has twice the rows that its parts are for."""
    monkeypatch.setattr(sums, "ROWS_A_PART", 10)
    history.change({"2026-11-20": list("abcdefghij")})

    cut: list[int] = []
    for day, names in ((21, "klmnopqrst"), (22, "a"), (23, "uvwxyz")):
        history.change({f"2026-11-{day}": list(names)})
        cut += cuts(history.out)
        assert is_whole(history.out)

    assert cut == [1, 4, 4]


def test_sums_are_by_cluster(history: History) -> None:
    """News of one cluster are added to its sum, and that of the other stays."""
    first, second = (Cluster(name, ("lkc-1", "lkc-2")) for name in ("lkc-1", "lkc-2"))
    for cluster, name in ((first, "a"), (second, "b")):
        days = {f"2026-11-{day}": [name] for day in range(18, 23)}
        history.change(days, cluster=cluster)
    other = files_of(Tables(history.out), second)

    history.change({"2026-11-23": ["c"]}, cluster=first)

    assert counts(history.out, first) == {"a": 5, "c": 1}
    assert counts(history.out, second) == {"b": 5}
    assert files_of(Tables(history.out), second) == other
    assert len(history.files_read("all~")) == 2
    assert len(delta.Tables(history.out).files(TABLE, "before~")) == 2
