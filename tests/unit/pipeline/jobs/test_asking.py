"""Questions to the distinct decisions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.questions import COUNTS
from doorkeeper_pipeline.jobs import observed
from doorkeeper_pipeline.jobs.asking import DISTINCT, Question
from doorkeeper_pipeline.jobs.gold import GoldInput, Totals
from doorkeeper_pipeline.sources.json_lines import Decided, _frame
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable

SCHEMA = {"principal": pl.String(), "count": pl.Int64()}
ROW = Decided(
    "User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 2, 60_000_000, 60_000_000
)
LATER = ROW._replace(first_us=180_000_000, last_us=180_000_000)


def history(folder: Path, *files: Iterable[Decided]) -> GoldInput:
    """Return a history of some files of decisions."""
    places = [folder / f"{number}.parquet" for number in range(len(files))]
    for place, rows in zip(places, files, strict=True):
        _frame(list(rows), "trail").write_parquet(place)
    return GoldInput(
        engine=Engine(),
        decisions=tuple(map(str, places)),
        bindings=contents.empty("bindings"),
        policy=Policy(),
    )


def picked(times: int, table: DecisionTable) -> pl.DataFrame:
    """Return who asked, and how often, so many times."""
    assert table.rows.columns == [*DISTINCT, *COUNTS]
    return table.rows.select("principal", pl.col("count") * times)


def test_distinct_decisions_are_summed_over_files(tmp_path: Path) -> None:
    asked = history(tmp_path, [ROW], [LATER, ROW._replace(principal="User:b")])

    [found] = asked.ask(Question(partial(picked, 3), SCHEMA))

    assert sorted(found.to_dicts(), key=lambda each: str(each["principal"])) == [
        {"principal": "User:a", "count": 12},
        {"principal": "User:b", "count": 6},
    ]


def test_totals_by_columns(tmp_path: Path) -> None:
    asked = history(tmp_path, [ROW], [LATER, ROW._replace(resource_name="u")])

    [row] = Totals(("principal", "outcome")).of(asked).to_dicts()

    assert (row["principal"], row["count"]) == ("User:a", 6)
    assert (row["last_ts"] - row["first_ts"]).total_seconds() == 120


def test_questions_share_one_pass(tmp_path: Path) -> None:
    passes: list[int] = []

    class Counting(Engine):
        def map(self, function: Any, tasks: Any, shared: Any) -> Any:
            passes.append(len(shared[0]))
            return super().map(function, tasks, shared)

    asked = replace(
        history(tmp_path, [ROW]),
        engine=Counting(),
        together=("observed:NAMES", "observed:BY_PRINCIPAL"),
    )

    for totals in (observed.BY_PRINCIPAL, observed.NAMES, observed.BY_PRINCIPAL):
        assert totals.of(asked)["count"].to_list() == [2]

    assert passes == [2]
