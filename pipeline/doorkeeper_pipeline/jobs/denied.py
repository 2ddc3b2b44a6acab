"""Denied accesses, and the smallest grant that would help.

Refusals of all addresses and requests are one row. Probes, which only
ask for permitted operations, are apart from real denials. The reason is that of the ACLs in force
today, or the recorded one without ACLs:

    DENY         a binding denies it, and no grant helps
    NO_ACL       no binding allows it
    ALLOWED_NOW  the set in force allows it: granted since
    UNKNOWN      nothing was recorded, and no set of ACLs is given

Its cause, and whether a grant may be offered, is for ``refusals`` to say.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from doorkeeper.acls.decision import RuleKind
from doorkeeper.acls.model import WILDCARD, AclBinding
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.literals import (
    allow_literally,
    commands_of,
    is_grantable,
    text,
)
from doorkeeper_pipeline.evaluation.questions import COUNTS, SUMMED
from doorkeeper_pipeline.evaluation.refusals import CAUSES, with_causes
from doorkeeper_pipeline.evaluation.usage import LISTED_MAX
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.tables import contents

REFUSAL = ("principal", "operation", "resource_type", "resource_name", "probe")
"""The columns that identify a row."""

REASONS = ("DENY", "NO_ACL", "ALLOWED_NOW", "UNKNOWN")
"""The first that holds for any address is the reason of the row."""

_DENY, _NO_ACL, _ALLOWED_NOW, _UNKNOWN = range(len(REASONS))

REFUSALS = {
    **dict.fromkeys(REFUSAL, pl.String()),
    "probe": pl.Boolean(),
    **COUNTS,
    "rounds": pl.Int64(),
    "hosts": pl.List(pl.String()),
    "host_count": pl.Int64(),
    "apis": pl.List(pl.String()),
    "reason": pl.Int32(),
    "binding": pl.Int32(),
    "rule_binding": pl.String(),
}
"""A refusal before it is put in words; ``reason`` is a place in ``REASONS``."""


def denied_accesses(asked: GoldInput) -> dict[str, pl.DataFrame]:
    return {"denied": denied_table(asked.answer(refusals), asked.acls.bindings)}


def refusals(asked: GoldInput) -> Question:
    """Ask for the refusals; without a set of ACLs for those that were recorded."""
    index = asked.index if asked.acls.bindings else None
    return Question(partial(refusals_of, index), REFUSALS)


def refusals_of(acls: Index | None, table: DecisionTable) -> pl.DataFrame:
    """Return the refusals among decisions; all of a principal and a name must be in one table."""
    reasons = _recorded_reasons(table) if acls is None else _current_reasons(acls, table)
    frame = pl.concat([table.rows, reasons], how="horizontal")
    frame = frame.filter(pl.col("outcome") == "DENIED")
    return frame.group_by(REFUSAL).agg(
        *SUMMED,
        pl.col("count").max().alias("rounds"),
        pl.col("host").unique().sort().head(LISTED_MAX).alias("hosts"),
        pl.col("host").n_unique().cast(pl.Int64).alias("host_count"),
        pl.col("api").filter(pl.col("api") != "").unique().sort().alias("apis"),
        pl.col("reason").min(),
        pl.col("binding").min(),
        pl.col("rule_binding").filter(pl.col("reason") == _DENY).min().fill_null(""),
    )


def denied_table(refusals: pl.DataFrame, bindings: tuple[AclBinding, ...]) -> pl.DataFrame:
    """Return the table ``denied``, sorted; bindings are those of the index."""
    denying = refusals["binding"].drop_nulls().unique().to_list()
    texts = {number: text_of(bindings[number]) for number in denying}
    denied_by = pl.col("binding").replace_strict(texts, default=None, return_dtype=pl.String)
    reasons = pl.col("reason").replace_strict(dict(enumerate(REASONS)), return_dtype=pl.String)
    frame = refusals.sort(REFUSAL).with_columns(
        reasons,
        denied_by.fill_null(pl.col("rule_binding")).alias("denied_by"),
        *allow_literally(WILDCARD),
    )
    frame = with_causes(frame, bindings)
    offered = frame.filter(pl.col("cause").is_in([cause.name for cause in CAUSES if cause.helps]))
    offered = offered.filter(is_grantable(offered))
    grants = offered.select(*REFUSAL, commands_of(offered), text().alias("grant_text"))
    table = frame.join(grants, on=REFUSAL, how="left", maintain_order="left").with_columns(
        pl.col("grant_text", "command").fill_null("")
    )
    return contents.of_job("denied", table)


def _current_reasons(index: Index, table: DecisionTable) -> pl.DataFrame:
    allowed, binding = pl.col("allowed"), pl.col("binding")
    unbound = pl.when(binding.is_null()).then(_NO_ACL).otherwise(_DENY)
    return (
        table.evaluate(index)
        .decisions.frame()
        .select(
            pl.when(allowed).then(_ALLOWED_NOW).otherwise(unbound).alias("reason"),
            pl.when(~allowed).then(binding),
        )
    )


def _recorded_reasons(table: DecisionTable) -> pl.DataFrame:
    reasons = {RuleKind.MATCHING_ACL.value: _DENY, RuleKind.DEFAULT_DENY.value: _NO_ACL}
    return table.rows.select(
        pl.col("rule").replace_strict(reasons, default=_UNKNOWN).alias("reason"),
        pl.lit(None, pl.Int32).alias("binding"),
    )
