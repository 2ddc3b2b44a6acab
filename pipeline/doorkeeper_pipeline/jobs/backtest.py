"""The table ``backtest``: accesses that another set of ACLs would take or give.

Without a set in force the decisions that were recorded stand for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.engines.contract import DISTINCT
from doorkeeper_pipeline.engines.local import plain
from doorkeeper_pipeline.engines.tuples import distinct as distinct_in
from doorkeeper_pipeline.evaluation.backtest import (
    CHANGED,
    RECORDED,
    RULE_BEFORE,
    Sets,
    changed_decisions,
    turned_from_record,
)
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from doorkeeper_pipeline.evaluation.questions import COUNT, FIRST, LAST, QUESTION
from doorkeeper_pipeline.schemas import BACKTEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper_pipeline.evaluation.index import Index
    from doorkeeper_pipeline.jobs.gold import GoldInput


TASKS_MIN = 8
FILES_A_TASK = 4
"""Into how many tasks a backtest is cut: enough for a cluster, and each still folds much."""


def backtest(asked: GoldInput, proposed: Iterable[AclBinding]) -> pa.Table:
    """Return every distinct decision of the history that the proposed set turns, sorted.

    Raises:
        BadQuestions: the decisions hold words that are not Kafka's.

    """
    before = asked.acls.bindings
    after = distinct(proposed)
    found = changes_by(asked, before, after)
    return pa.Table.from_pylist(
        sorted(
            (
                {
                    **row,
                    "binding_before": _text(before, row["binding_before"]),
                    "binding_after": _text(after, row["binding_after"]),
                }
                for row in found.to_pylist()
            ),
            key=lambda row: tuple(row[name] for name in QUESTION),
        ),
        schema=arrow_schema(BACKTEST),
    )


def changes_by(
    asked: GoldInput, before: tuple[AclBinding, ...], after: tuple[AclBinding, ...]
) -> pa.Table:
    """Return the decisions that another set changes, with numbers of bindings; see ``CHANGED``.

    An answer costs less than bringing equal questions of several files together, so that each task
    of Spark reads its own files, decides the distinct questions there and returns the changed
    decisions. The local engine has them together already, for other jobs.
    """
    index = compile_index(after, asked.policy, networks=asked.networks)
    shared = Sets(asked.index(before), index) if before else index
    if asked.engine.name == "local":
        # Where nothing is summed up there are many more decisions than questions.
        by = DISTINCT if asked.sums else _columns_of(shared)
        parts = [asked.engine.over_tuples(asked.distinct, changes_among, shared, CHANGED, by)]
    else:
        parts = list(asked.engine.map(changes_in, _tasks(asked), shared))
    frame = pl.from_arrow(pa.concat_tables([CHANGED.empty_table(), *parts]))
    assert isinstance(frame, pl.DataFrame)
    same = [name for name in CHANGED.names if name not in (COUNT, FIRST, LAST, RULE_BEFORE)]
    # Rules that were recorded differ where ACLs, or the release, changed in between: one row, with
    # a rule that some line had.
    summed = frame.group_by(same).agg(
        pl.col(COUNT).sum(), pl.col(FIRST).min(), pl.col(LAST).max(), pl.col(RULE_BEFORE).max()
    )
    return plain(summed.select(CHANGED.names).sort(same).to_arrow()).cast(CHANGED)


def changes_in(shared: Sets | Index, files: tuple[str, ...]) -> pa.Table:
    """Return the changed decisions in some files: a task of ``Engine.map``.

    Raises:
        BadQuestions: the decisions hold words that are not Kafka's.

    """
    decisions = pl.scan_parquet(list(files), hive_partitioning=False, glob=False)
    found = plain(distinct_in(decisions, _columns_of(shared)).collect().to_arrow())
    return changes_among(shared, DecisionTable(found))


def changes_among(shared: Sets | Index, table: DecisionTable) -> pa.Table:
    """Return the changed decisions among distinct ones: a function for ``Engine.over_tuples``.

    Raises:
        BadQuestions: the decisions hold words that are not Kafka's.

    """
    if isinstance(shared, Sets):
        return changed_decisions(shared, table)
    return turned_from_record(shared, table)


def _columns_of(shared: Sets | Index) -> tuple[str, ...]:
    return QUESTION if isinstance(shared, Sets) else RECORDED


def _tasks(asked: GoldInput) -> list[tuple[str, ...]]:
    """Return the files of each task."""
    files = asked.distinct
    count = max(TASKS_MIN, len(files) // FILES_A_TASK)
    found = [files[number::count] for number in range(count)]
    return [each for each in found if each]


def _text(bindings: Sequence[AclBinding], number: int | None) -> str | None:
    return None if number is None else text_of(bindings[number])
