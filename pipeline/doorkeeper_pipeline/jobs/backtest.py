"""The table ``backtest``: accesses that another set of ACLs would take or give.

Both sets decide every distinct question; those with two answers are the rows. Only they leave a
worker, so that the history may be large: the answer is as small as the change. Without a set in
force the decisions that were recorded stand for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper.acls.model import WILDCARD_PRINCIPAL, AclBinding, AclPermissionType
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable, accesses
from doorkeeper_pipeline.evaluation.index import Index, compile_index, distinct
from doorkeeper_pipeline.evaluation.questions import COUNTS, QUESTION, SUMMED
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.tables import contents

ALLOW_TO_DENY = "ALLOW_TO_DENY"
DENY_TO_ALLOW = "DENY_TO_ALLOW"

CHANGED = {
    **dict.fromkeys((*QUESTION, "turn"), pl.String()),
    **COUNTS,
    "rule_before": pl.String(),
    "binding_before": pl.Int32(),
    "rule_after": pl.String(),
    "binding_after": pl.Int32(),
}
"""The columns of changed decisions; bindings are numbers, each in its own set."""


def backtest(asked: GoldInput, proposed: Iterable[AclBinding]) -> pl.DataFrame:
    """Return every distinct decision of the history that the proposed set turns, sorted."""
    before, after = asked.acls.bindings, distinct(proposed)
    changed = changes_by(asked, after).with_columns(
        _texts(before, "binding_before"), _texts(after, "binding_after")
    )
    return contents.of_job("backtest", changed.sort(QUESTION))


def unread_losses(asked: GoldInput, proposed: Iterable[AclBinding]) -> frozenset[str]:
    """Return principals of lines that could not be read from whom the proposed set takes ACLs.

    Such are all of them where User:* loses one, and where no set is in force.
    """
    before = frozenset(asked.acls.bindings)
    taken = {
        binding.entry.principal
        for binding in before.symmetric_difference(proposed)
        # An ALLOW that goes, or a DENY that comes.
        if (binding.entry.permission_type is AclPermissionType.ALLOW) == (binding in before)
    }
    is_anybody = not before or WILDCARD_PRINCIPAL in taken
    return asked.unread.principals if is_anybody else asked.unread.principals & taken


def changes_by(asked: GoldInput, after: tuple[AclBinding, ...]) -> pl.DataFrame:
    """Return the decisions that another set changes, with numbers of bindings; see ``CHANGED``."""
    index = compile_index(after, asked.policy, networks=asked.networks)
    question = Question(partial(turned_from_record, index), CHANGED)
    if asked.acls.bindings:
        question = Question(partial(changed_decisions, asked.index, index), CHANGED)
    [changed] = asked.ask(question)
    same = [name for name in CHANGED if name not in (*COUNTS, "rule_before")]
    # Rules that were recorded differ where ACLs, or the release, changed in between: one row, with
    # a rule that some line had.
    summed = changed.group_by(same).agg(*SUMMED, pl.col("rule_before").max())
    return summed.select(list(CHANGED)).sort(same)


def changed_decisions(now: Index, then: Index, table: DecisionTable) -> pl.DataFrame:
    """Return the questions that two sets of ACLs answer differently, in the order of the table."""
    before, after = table.evaluate(now).decisions, table.evaluate(then).decisions
    which = np.flatnonzero((before.allowed != after.allowed) & accesses(table.rows))
    return _rows(table.rows, which, before.part(which).frame(), after.part(which).frame())


def turned_from_record(after: Index, table: DecisionTable) -> pl.DataFrame:
    """Return the questions that a set answers otherwise than it was recorded, in their order.

    A recorded rule has no binding here: it may be of no set that is known.
    """
    decisions = table.evaluate(after).decisions
    was = table.rows.select(
        "rule", allowed=pl.col("outcome") == "ALLOWED", binding=pl.lit(None, pl.Int32)
    )
    turned = was["allowed"].to_numpy() != decisions.allowed
    which = np.flatnonzero(turned & accesses(table.rows))
    return _rows(table.rows, which, was[which], decisions.part(which).frame())


def _rows(
    rows: pl.DataFrame, which: NDArray[np.int64], was: pl.DataFrame, becomes: pl.DataFrame
) -> pl.DataFrame:
    turn = pl.when("allowed").then(pl.lit(ALLOW_TO_DENY)).otherwise(pl.lit(DENY_TO_ALLOW))
    parts = [
        rows[which].select(*QUESTION, *COUNTS),
        was.select(turn.alias("turn"), rule_before="rule", binding_before="binding"),
        becomes.select(rule_after="rule", binding_after="binding"),
    ]
    return pl.concat(parts, how="horizontal").select(list(CHANGED))


def _texts(bindings: Sequence[AclBinding], column: str) -> pl.Expr:
    """Return an expression for the texts of the bindings whose numbers a column has."""
    return pl.col(column).map_elements(
        lambda number: text_of(bindings[number]), return_dtype=pl.String
    )
