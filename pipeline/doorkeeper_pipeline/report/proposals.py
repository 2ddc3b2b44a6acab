"""The decisions that a proposed set would change."""

from __future__ import annotations

from functools import partial

import polars as pl

from doorkeeper_pipeline.amounts import amount
from doorkeeper_pipeline.evaluation.evidence import NOTHING_ALLOWED
from doorkeeper_pipeline.report.frames import Frames, Order, first_of, resource_of
from doorkeeper_pipeline.report.model import (
    About,
    Column,
    Commands,
    Kind,
    Section,
    Table,
    Tag,
)
from doorkeeper_pipeline.report.overview import History
from doorkeeper_pipeline.tables.places import folder_of

NOT_TRIED = "No proposal was tested; test one with doorkeeper-pipeline backtest --proposal FILE."

OF_LAST = (
    "This is the result of the last backtest or propose for this cluster: decisions of later runs"
    " are not in it, and without either nothing was tested."
)

_UNKNOWN = f"{NOTHING_ALLOWED[0].upper()}{NOTHING_ALLOWED[1:]}."
_TURNS = {
    "ALLOW_TO_DENY": Tag("would be refused", "It was allowed.", strong=True),
    "DENY_TO_ALLOW": Tag("would be allowed", "It was refused."),
}


def backtest_of(frames: Frames, history: History, about: About) -> Section:
    """Return the section about the decisions that a proposed set would change."""
    frame = frames.get("backtest")
    section = partial(
        Section, id="backtest", word="Backtest", title="What the proposal would change"
    )
    if frame is None:
        return section(missing=NOT_TRIED)
    turns = frame.group_by("turn").agg(
        pl.len(), pl.col("count").sum(), pl.col("principal").n_unique()
    )
    sums = {turn: tuple(counts) for turn, *counts in turns.collect().iter_rows()}
    lost, won = (sums.get(turn, (0, 0, 0)) for turn in ("ALLOW_TO_DENY", "DENY_TO_ALLOW"))
    order: Order = [
        *("turn", pl.col("count") * -1, "principal", "operation", "resource_type"),
        *("resource_name", "host"),
    ]
    lead = (
        f"{amount(lost[2], 'principal')} would lose access: {amount(lost[1], 'decision')} of the"
        " history would be denied in place of allowed"
        if lost[0]
        else "No principal would lose access"
    )
    if not history.allowed and not lost[0]:
        lead = _UNKNOWN.removesuffix(".")
    gain = "No denied request would be allowed."
    if won[1]:
        gain = f"{amount(won[1], 'decision')} would be allowed in place of denied."
    return section(
        lead=(f"{lead}. {gain}", OF_LAST),
        tables=(
            Table(
                id="backtest-turns",
                title="Decisions that would change",
                columns=_COLUMNS,
                items=first_of(frame, order, about.rows_max),
                total=lost[0] + won[0],
                whole=folder_of("backtest"),
                empty="No decision of the history would change.",
            ),
        ),
    )


_COLUMNS = (
    Column("Change", Kind.TAG, lambda row: _TURNS.get(row["turn"], Tag(row["turn"])), choice=True),
    Column("Decisions", Kind.NUMBER, "count"),
    Column("Principal", Kind.NAME, "principal"),
    Column("Operation", Kind.TEXT, "operation", choice=True),
    Column("Resource", Kind.RESOURCE, resource_of),
    Column("Host", Kind.HOST, "host"),
    Column("Last", Kind.TIME, "last_ts"),
    Column(
        "Rule before",
        Kind.COMMANDS,
        lambda row: Commands(row["rule_before"], (), row["binding_before"] or ""),
    ),
    Column(
        "Rule after",
        Kind.COMMANDS,
        lambda row: Commands(row["rule_after"], (), row["binding_after"] or ""),
    ),
)
"""The columns of a decision that would change."""
