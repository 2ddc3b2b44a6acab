"""Recorded outcomes compared with those that a set of ACLs leads to.

A log and ACLs that belong together agree. Where they do not, super users are missing, the ACLs are
of another cluster or another time, or the log was changed: recommendations would be wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
import pyarrow as pa

from doorkeeper.acls.decision import RuleKind
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import QUESTION, TIME
from doorkeeper_pipeline.schemas import AGREEMENT

DISAGREEING_BY = (*QUESTION, "outcome", "rule", "minute")
"""The columns of decisions that are compared again, with the ACLs of their minute."""

GROUP = ("principal", "outcome", "rule", "outcome_now", "rule_now")
"""The columns that make a row of the table agreement."""

PARTS = arrow_schema(AGREEMENT)

DISAGREEING = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in (*QUESTION, "outcome", "rule")),
        pa.field("outcome_now", pa.string(), nullable=False),
        pa.field("rule_now", pa.string(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("first_ts", TIME, nullable=False),
        pa.field("last_ts", TIME, nullable=False),
    ]
)


class Given(NamedTuple):
    """The ACLs in force at the end, compiled, and the texts of all that ever were."""

    acls: Index
    texts: pl.Series


def compare(given: Given, table: DecisionTable) -> pa.Table:
    """Return rows of the table agreement, by the ACLs in force at the end only."""
    frame = _recompute(given.acls, table)
    names_acl = pl.col("rule") == RuleKind.MATCHING_ACL.value
    named = frame.filter(names_acl, pl.col("rule_binding") != "").select("rule_binding").unique()
    unlisted = named.join(given.texts.to_frame("rule_binding"), on="rule_binding", how="anti")
    is_unlisted = names_acl & pl.col("rule_binding").is_in(unlisted["rule_binding"].to_list())
    found = frame.group_by(GROUP).agg(
        pl.col("count").sum(),
        pl.col("count").filter(pl.col("outcome") == pl.col("outcome_now")).sum().alias("agreeing"),
        pl.col("count").filter(is_unlisted).sum().alias("unlisted"),
        pl.col("first_ts").min(),
        pl.col("last_ts").max(),
    )
    return found.select(PARTS.names).to_arrow().cast(PARTS)


def disagreeing(index: Index, table: DecisionTable) -> pa.Table:
    """Return decisions whose recorded outcome the index does not lead to.

    The table has the columns ``DISAGREEING_BY``, ``count``, ``first_ts`` and ``last_ts``.
    """
    frame = _recompute(index, table).filter(pl.col("outcome") != pl.col("outcome_now"))
    return frame.select(DISAGREEING.names).to_arrow().cast(DISAGREEING)


def sum_outcomes(parts: pa.Table, corrections: pl.DataFrame) -> pa.Table:
    """Return the table agreement, sorted.

    ``corrections`` has the columns ``GROUP`` and ``agreeing``: decisions that agree with the ACLs
    of their time, but not with those of the end.
    """
    frame = pl.from_arrow(parts)
    assert isinstance(frame, pl.DataFrame)
    more = corrections.group_by(GROUP).agg(pl.col("agreeing").sum().alias("more"))
    found = (
        frame.group_by(GROUP)
        .agg(
            *(pl.col(name).sum() for name in ("count", "agreeing", "unlisted")),
            pl.col("first_ts").min(),
            pl.col("last_ts").max(),
        )
        .join(more, on=GROUP, how="left")
        .with_columns(pl.col("agreeing") + pl.col("more").fill_null(0))
        .sort(GROUP)
    )
    return found.select(PARTS.names).to_arrow().cast(PARTS)


def _recompute(index: Index, table: DecisionTable) -> pl.DataFrame:
    """Return the decisions with the outcome and the rule of an index."""
    found = table.evaluate(index).decisions.columns()
    allowed = pl.Series(found["allowed"])
    return table.frame.with_columns(
        pl.when(allowed).then(pl.lit("ALLOWED")).otherwise(pl.lit("DENIED")).alias("outcome_now"),
        pl.Series("rule_now", found["rule"]),
    )
