"""The table agreement, and whether the evidence is enough to recommend anything.

Recorded outcomes are compared with those that a set of ACLs leads to. A log and ACLs that belong
together agree. Where they do not, super users are missing, the ACLs are of another cluster or
another time, or the log was changed: recommendations would be wrong.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from functools import partial

import numpy as np
import polars as pl

from doorkeeper.acls.decision import RuleKind
from doorkeeper.acls.model import WILDCARD_PRINCIPAL
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.evidence import BrokerLog, Evidence, Thresholds
from doorkeeper_pipeline.evaluation.index import Index, compile_index
from doorkeeper_pipeline.evaluation.literals import bindings_of, text
from doorkeeper_pipeline.evaluation.questions import COUNTS, QUESTION, SUMMED
from doorkeeper_pipeline.jobs.asking import Part, Question, ask
from doorkeeper_pipeline.jobs.clients import clients
from doorkeeper_pipeline.jobs.gold import GoldInput
from doorkeeper_pipeline.jobs.observed import days, evidence_in
from doorkeeper_pipeline.tables import contents

SKEW = dt.timedelta(minutes=1)
"""How far the time of a decision may be from that of the change of ACLs that it already knew.

Brokers' clocks differ, and a change reaches each of them later.
"""

GROUP = ("principal", "outcome", "rule", "outcome_now", "rule_now")
"""The columns that make a row of the table agreement."""

PARTS = {
    **dict.fromkeys(GROUP, pl.String()),
    **COUNTS,
    "agreeing": pl.Int64(),
    "unlisted": pl.Int64(),
}
DISAGREEING = {
    **dict.fromkeys((*QUESTION, "outcome", "rule", "outcome_now", "rule_now"), pl.String()),
    **COUNTS,
}


def agreement(asked: GoldInput) -> dict[str, pl.DataFrame]:
    """Return the table; it is empty where no ACLs are given.

    Decisions that the ACLs in force at the end do not lead to are compared again, with those of
    their minute, where the times of changes are known.
    """
    current = asked.acls.bindings
    parts = asked.answer(outcomes) if current else pl.DataFrame(schema=PARTS)
    corrections = pl.DataFrame(schema=PARTS)
    if _times(asked.bindings) and not (parts["count"] == parts["agreeing"]).all():
        by = (*QUESTION, "outcome", "rule", "minute")
        by_minute = [Part((file,), by) for file in asked.decisions]
        again = Question(partial(disagreeing, asked.index), DISAGREEING)
        [left] = ask(asked.engine, by_minute, [again], {})
        corrections = _agreeing_then(asked, left)
    more = corrections.group_by(GROUP).agg(pl.col("agreeing").sum().alias("more"))
    frame = (
        parts.group_by(GROUP)
        .agg(*SUMMED, pl.col("agreeing", "unlisted").sum())
        .join(more, on=GROUP, how="left")
        .with_columns(pl.col("agreeing") + pl.col("more").fill_null(0))
    )
    return {"agreement": contents.of_job("agreement", frame.sort(GROUP))}


def outcomes(asked: GoldInput) -> Question:
    """Ask for recorded outcomes beside those that the ACLs in force at the end lead to."""
    texts = asked.bindings.select(text()).to_series().unique()
    return Question(partial(compare, asked.index, texts), PARTS)


def compare(index: Index, texts: pl.Series, table: DecisionTable) -> pl.DataFrame:
    """Return rows of the table agreement, by the ACLs in force at the end only.

    ``texts`` are those of all ACLs that ever were.
    """
    frame = _recompute(index, table)
    names_acl = pl.col("rule") == RuleKind.MATCHING_ACL.value
    named = frame.filter(names_acl, pl.col("rule_binding") != "").select("rule_binding").unique()
    unlisted = named.join(texts.to_frame("rule_binding"), on="rule_binding", how="anti")
    is_unlisted = names_acl & pl.col("rule_binding").is_in(unlisted["rule_binding"].to_list())
    is_same = pl.col("outcome") == pl.col("outcome_now")
    return frame.group_by(GROUP).agg(
        *SUMMED,
        pl.col("count").filter(is_same).sum().alias("agreeing"),
        pl.col("count").filter(is_unlisted).sum().alias("unlisted"),
    )


def disagreeing(index: Index, table: DecisionTable) -> pl.DataFrame:
    """Return decisions whose recorded outcome the index does not lead to."""
    return _recompute(index, table).filter(pl.col("outcome") != pl.col("outcome_now"))


def _recompute(index: Index, table: DecisionTable) -> pl.DataFrame:
    """Return the decisions with the outcome and the rule of an index."""
    frame = table.evaluate(index).decisions.frame()
    outcome = pl.when(frame["allowed"]).then(pl.lit("ALLOWED")).otherwise(pl.lit("DENIED"))
    return table.rows.with_columns(outcome.alias("outcome_now"), rule_now=frame["rule"])


def evidence(
    asked: GoldInput,
    thresholds: Thresholds,
    now: dt.datetime | None = None,
    logs: tuple[BrokerLog, ...] | None = None,
) -> Evidence:
    """Return the evidence in a history, of which the tables days, clients and agreement are made.

    Decisions later than ``now`` make it worthless; None if times are not to be checked. ``logs``
    are those of brokers, where there are such.
    """
    return evidence_in(
        {**days(asked), **clients(asked), **agreement(asked)},
        asked.policy,
        thresholds,
        has_acls=asked.bindings["valid_to"].null_count() > 0,
        logs=logs,
        now=now,
        unread=asked.unread,
    )


def _times(bindings: pl.DataFrame) -> list[dt.datetime]:
    """Return the times at which the ACLs changed, sorted."""
    return sorted({*bindings["valid_from"].drop_nulls(), *bindings["valid_to"].drop_nulls()})


def _agreeing_then(asked: GoldInput, left: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions of a table like DISAGREEING that agree with the ACLs of their time."""
    times = _times(asked.bindings)
    principals = {*left["principal"].to_list(), WILDCARD_PRINCIPAL}
    # Without an ACL on a resource, allow.everyone decides: then ACLs of others matter too.
    matters = pl.lit(asked.policy.allow_everyone) | pl.col("principal").is_in(sorted(principals))
    of_them = asked.bindings.filter(matters)
    rows = list(zip(of_them["valid_from"], of_them["valid_to"], bindings_of(of_them), strict=True))
    epochs: dict[int, list[int]] = {}
    for number, (first, last) in enumerate(left.select("first_ts", "last_ts").iter_rows()):
        for epoch in {bisect_right(times, at) for at in (first - SKEW, first, last, last + SKEW)}:
            epochs.setdefault(epoch, []).append(number)
    recorded = (left["outcome"] == "ALLOWED").to_numpy()
    agrees = np.zeros(len(left), np.bool_)
    for epoch, numbers in sorted(epochs.items()):
        # The ACLs between two changes: those that came by the first, and did not go by it.
        begin = times[epoch - 1] if epoch else None
        bindings = sorted(
            {
                binding
                for came, went, binding in rows
                if (came is None or (begin is not None and came <= begin))
                and (went is None or begin is None or went > begin)
            }
        )
        index = compile_index(tuple(bindings), asked.policy, networks=asked.networks)
        decisions = DecisionTable(left[numbers]).evaluate(index).decisions
        agrees[numbers] |= decisions.allowed == recorded[numbers]
    return left.filter(pl.Series(agrees)).select(*GROUP, pl.col("count").alias("agreeing"))
