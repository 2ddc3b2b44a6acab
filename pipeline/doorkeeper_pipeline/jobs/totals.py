"""The distinct decisions of a history by some columns only: a question of several jobs."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.questions import TIME
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.distinct import COUNTS, distinct
from doorkeeper_pipeline.jobs.gold import GoldInput

_FLAGS = frozenset({"probe"})


@dataclass(frozen=True, slots=True)
class Totals:
    """Asks for the decisions by some columns only, with their counts and times."""

    by: tuple[str, ...]

    def __call__(self, _: GoldInput) -> Question:
        """Return the question."""
        kinds = ((name, pa.bool_() if name in _FLAGS else pa.string()) for name in self.by)
        counts = [
            pa.field("count", pa.int64()),
            pa.field("first_ts", TIME),
            pa.field("last_ts", TIME),
        ]
        return Question(totals, self.by, pa.schema([*kinds, *counts]))

    def of(self, asked: GoldInput) -> pl.DataFrame:
        """Return the rows of the whole history, sorted."""
        found = pl.from_arrow(asked.answer(self))
        assert isinstance(found, pl.DataFrame)
        return distinct(found.lazy(), self.by).sort(self.by).collect()


def totals(by: tuple[str, ...], table: DecisionTable) -> pa.Table:
    """Return the decisions of a part by some columns only."""
    return distinct(table.frame.lazy(), by).select(*by, *COUNTS).collect().to_arrow()
