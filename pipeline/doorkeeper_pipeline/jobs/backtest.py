"""Who breaks under another set of ACLs, and who gets in: the table ``backtest``.

Without a set in force the decisions that were recorded stand for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.acl_sets import in_force
from doorkeeper_pipeline.evaluation.backtest import (
    RECORDED,
    TURNED,
    Sets,
    turned,
    turned_from_record,
)
from doorkeeper_pipeline.evaluation.index import compiled, distinct
from doorkeeper_pipeline.evaluation.questions import QUESTION
from doorkeeper_pipeline.schemas import BACKTEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper_pipeline.jobs.gold import GoldInput


def backtest(asked: GoldInput, proposed: Iterable[AclBinding]) -> pa.Table:
    """Return every distinct decision of the history that the proposed set turns, sorted.

    Raises:
        BadQuestions: the decisions hold words that are not Kafka's.

    """
    before = in_force(asked.bindings).bindings
    after = distinct(proposed)
    found = turned_by(asked, before, after)
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


def turned_by(
    asked: GoldInput, before: Sequence[AclBinding], after: Sequence[AclBinding]
) -> pa.Table:
    """Return what another set turns, with numbers in place of bindings; see ``TURNED``."""
    index = compiled(after, asked.policy)
    if not before:
        return asked.engine.over_tuples(
            asked.decisions, turned_from_record, index, TURNED, RECORDED
        )
    sets = Sets(compiled(before, asked.policy), index)
    return asked.engine.over_tuples(asked.decisions, turned, sets, TURNED, QUESTION)


def _text(bindings: Sequence[AclBinding], number: int | None) -> str | None:
    return None if number is None else text_of(bindings[number])
