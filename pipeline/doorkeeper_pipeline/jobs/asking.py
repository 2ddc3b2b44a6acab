"""Questions to the distinct decisions of a history: each task answers several about a part of it.

Equal decisions are one row with count, first and last time. Rows of a part that agree in principal
and resource name stand in no other part, so that a question may count what it finds. Answers are
small beside the decisions, and are added up by who asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.questions import SUMMED

KEPT_BYTES = 128 << 20
"""How much of the distinct decisions is kept between passes: a million of them. The answers of sets
of ACLs to them, kept beside them, take as much again."""

DISTINCT = (
    *("principal", "host", "operation", "resource_type", "resource_name"),
    *("outcome", "api", "rule", "rule_binding", "probe"),
)
"""The columns that distinguish decisions without their times.

Jobs that could do with fewer of them ask for all: the decisions are brought together once.
"""


class Part(NamedTuple):
    """Distinct decisions that one task reads.

    ``by`` are the columns that distinguish them; empty where the files have each once. ``first``
    and ``end`` bound their numbers (by principal and resource name, the column ``bucket``); where
    the end is 0 they are all that the files have.
    """

    files: tuple[str, ...]
    by: tuple[str, ...] = ()
    first: int = 0
    end: int = 0

    def rows(self) -> pl.DataFrame:
        """Return the decisions, with their numbers where these are bounded."""
        # Files of earlier releases lack columns.
        decisions = pl.scan_parquet(
            list(self.files),
            hive_partitioning=False,
            glob=False,
            missing_columns="insert",
            extra_columns="ignore",
        )
        if self.end:
            decisions = decisions.filter(
                pl.col("bucket").is_between(self.first, self.end, closed="left")
            )
        if self.by:
            number = ("bucket",) if self.end else ()
            decisions = distinct(decisions, (*number, *self.by))
        return decisions.collect()


def distinct(decisions: pl.LazyFrame, by: Sequence[str] = DISTINCT) -> pl.LazyFrame:
    """Return one row for each distinct combination of the columns, with the counts summed."""
    return decisions.group_by(list(by)).agg(SUMMED)


class Question(NamedTuple):
    """A function of distinct decisions, or a partial one, and its columns; it is sent to workers.

    The function gets tables with the columns ``DISTINCT``, count, first_ts and last_ts, sorted by
    principal. The order of its results is open: sort them.
    """

    function: Callable[[DecisionTable], pl.DataFrame]
    schema: Mapping[str, pl.DataType]


def ask(
    engine: Engine,
    parts: Sequence[Part],
    questions: Iterable[Question],
    tables: dict[Part, DecisionTable],
) -> list[pl.DataFrame]:
    """Return all answers to each question, in one pass over the parts."""
    asked = tuple(questions)
    none = [pl.DataFrame(schema=question.schema) for question in asked]
    answers = zip(none, *engine.map(answer, parts, (asked, tables)), strict=True)
    return [pl.concat(frames) for frames in answers]


def answer(
    shared: tuple[tuple[Question, ...], dict[Part, DecisionTable]], part: Part
) -> list[pl.DataFrame]:
    """Return the answers about a part: the function of the tasks, which share what is kept."""
    questions, tables = shared
    table = _table(tables, part)
    return [
        question.function(table).select(
            pl.col(name).cast(kind) for name, kind in question.schema.items()
        )
        for question in questions
    ]


def _table(tables: dict[Part, DecisionTable], part: Part) -> DecisionTable:
    """Return the decisions of a part, and keep them; the oldest go where all would be too large."""
    table = tables.pop(part, None)
    if table is None:
        table = DecisionTable(part.rows().drop("span", "bucket", strict=False).sort("principal"))
    tables[part] = table
    while sum(kept_table.rows.estimated_size() for kept_table in tables.values()) > KEPT_BYTES:
        del tables[next(iter(tables))]
    return table
