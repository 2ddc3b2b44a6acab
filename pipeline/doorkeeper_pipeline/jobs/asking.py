"""Questions to the distinct decisions of a history: each task answers several about a part of it.

Rows of a part that agree in principal and resource name stand in no other part, so that a question
may count what it finds. Answers are small beside the decisions, and are added up by who asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.jobs.distinct import Part, plain

KEPT_BYTES = 128 << 20
"""How much of the distinct decisions is kept between passes: a million of them. The answers of sets
of ACLs to them, kept beside them, take as much again."""


class Question(NamedTuple):
    """A function of distinct decisions, importable by name, what it needs, and its columns.

    The function gets tables with the columns ``DISTINCT``, count, first_ts and last_ts, sorted by
    principal. The order of its results is open: sort them.
    """

    function: Callable[[Any, DecisionTable], pa.Table]
    shared: Any
    schema: pa.Schema


class Asked(NamedTuple):
    """What tasks share: the questions, and the decisions that stay in this process."""

    questions: tuple[Question, ...]
    kept: dict[Part, DecisionTable]


def ask(
    engine: Engine,
    parts: Sequence[Part],
    questions: Iterable[Question],
    kept: dict[Part, DecisionTable],
) -> list[pa.Table]:
    """Return all answers to each question, in one pass over the parts."""
    asked = Asked(tuple(questions), kept)
    found = [[each.schema.empty_table()] for each in asked.questions]
    for answers in engine.map(answer, parts, asked):
        for tables, table in zip(found, answers, strict=True):
            tables.append(table)
    return [pa.concat_tables(each) for each in found]


def answer(asked: Asked, part: Part) -> list[pa.Table]:
    """Return the answers about a part: the function of the tasks."""
    table = _table(asked.kept, part)
    return [
        question.function(question.shared, table).cast(question.schema)
        for question in asked.questions
    ]


def _table(kept: dict[Part, DecisionTable], part: Part) -> DecisionTable:
    """Return the decisions of a part, and keep them; the oldest go where all would be too large."""
    found = kept.pop(part, None)
    if found is None:
        rows = part.rows().drop("span", "bucket", strict=False).sort("principal")
        found = DecisionTable(plain(rows.to_arrow()))
    kept[part] = found
    while sum(each.rows.nbytes for each in kept.values()) > KEPT_BYTES:
        del kept[next(iter(kept))]
    return found
