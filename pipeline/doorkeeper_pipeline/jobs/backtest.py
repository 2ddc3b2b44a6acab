"""The table ``backtest``: accesses that another set of ACLs would take or give.

Without a set in force the decisions that were recorded stand for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
import pyarrow as pa

from doorkeeper.acls.model import AclBinding
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.backtest import (
    CHANGED,
    Sets,
    changed_decisions,
    turned_from_record,
)
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import Index, compile_index, distinct
from doorkeeper_pipeline.evaluation.questions import QUESTION
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.distinct import plain
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.schemas import BACKTEST


def backtest(asked: GoldInput, proposed: Iterable[AclBinding]) -> pa.Table:
    """Return every distinct decision of the history that the proposed set turns, sorted."""
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
    """Return the decisions that another set changes, with numbers of bindings; see ``CHANGED``."""
    index = compile_index(after, asked.policy, networks=asked.networks)
    shared = Sets(asked.index(before), index) if before else index
    [found] = asked.ask(Question(changes_among, shared, CHANGED))
    frame = pl.from_arrow(found)
    assert isinstance(frame, pl.DataFrame)
    same = [
        name
        for name in CHANGED.names
        if name not in ("count", "first_ts", "last_ts", "rule_before")
    ]
    # Rules that were recorded differ where ACLs, or the release, changed in between: one row, with
    # a rule that some line had.
    summed = frame.group_by(same).agg(
        pl.col("count").sum(),
        pl.col("first_ts").min(),
        pl.col("last_ts").max(),
        pl.col("rule_before").max(),
    )
    return plain(summed.select(CHANGED.names).sort(same).to_arrow()).cast(CHANGED)


def changes_among(shared: Sets | Index, table: DecisionTable) -> pa.Table:
    """Return the changed decisions among distinct ones: the function of a ``Question``."""
    if isinstance(shared, Sets):
        return changed_decisions(shared, table)
    return turned_from_record(shared, table)


def _text(bindings: Sequence[AclBinding], number: int | None) -> str | None:
    return None if number is None else text_of(bindings[number])
