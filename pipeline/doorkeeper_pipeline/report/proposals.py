"""Least privilege for each principal, and the decisions that a proposed set would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.evaluation.evidence import NOTHING_ALLOWED
from doorkeeper_pipeline.report.amounts import amount, number
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    Row,
    count_of,
    first_of,
    names_of,
    place_of,
    resource_of,
)
from doorkeeper_pipeline.report.model import (
    Column,
    Commands,
    Kind,
    Resource,
    Section,
    Table,
    Tag,
    Value,
)

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.model import About
    from doorkeeper_pipeline.report.overview import History

NOT_MADE = "No proposal was made; doorkeeper-pipeline propose makes one."
NOT_TRIED = "No proposed set was tried; doorkeeper-pipeline backtest --proposal FILE tries one."

_UNKNOWN = f"{NOTHING_ALLOWED[0].upper()}{NOTHING_ALLOWED[1:]}."
_TURNS = {
    "ALLOW_TO_DENY": Tag("would be refused", "It was allowed.", strong=True),
    "DENY_TO_ALLOW": Tag("would be allowed", "It was refused."),
}
_KINDS = {
    "LITERAL": Tag("literal", "One name."),
    "PATTERN": Tag("pattern", "A grant in force whose names are generated, or too many to list."),
    "PREFIX": Tag("prefix", "Names that share a beginning, which no name of others has."),
}


def least_privilege_of(frames: Frames, history: History, about: About) -> Section:
    """Return the section with the smallest grants that allow all that was used."""
    frame = frames.get("least_privilege")
    section_id, word, title = (
        "least-privilege",
        "Least privilege",
        "Grants that allow what was used",
    )
    if frame is None:
        return Section(id=section_id, word=word, title=title, missing=NOT_MADE)
    totals = (
        frame.group_by("principal")
        .agg(pl.col("newly_allows").max(), pl.col("newly_forbids").max())
        .select(pl.len(), pl.col("newly_allows").sum(), pl.col("newly_forbids").sum())
        .collect()
        .row(0)
    )
    total = count_of(frame)
    order: Order = [
        *("principal", "resource_type", "resource_name", "pattern_type", "operation", "host"),
    ]
    return Section(
        id=section_id,
        word=word,
        title=title,
        lead=(_least_lead(total, *totals),) if history.allowed or total else (_UNKNOWN,),
        tables=(
            Table(
                id="least-privilege-grants",
                title="Least privilege",
                note="Needed by: decisions of the history. Also covers: names that the grant"
                " reaches and the principal did not use.",
                columns=(
                    Column(title="Principal", kind=Kind.NAME),
                    Column(title="Operation", kind=Kind.TEXT, choice=True),
                    Column(title="Resource", kind=Kind.RESOURCE),
                    Column(title="Host", kind=Kind.HOST),
                    Column(title="Kind", kind=Kind.TAG, choice=True),
                    Column(title="Needed by", kind=Kind.NUMBER),
                    Column(title="Names", kind=Kind.NAMES),
                    Column(title="Also covers", kind=Kind.NAMES),
                    Column(title="Command", kind=Kind.COMMANDS),
                ),
                rows=tuple(_least_row(row) for row in first_of(frame, order, about.rows_max)),
                total=total,
                whole=place_of("least_privilege"),
                empty="Nothing was allowed, so nothing is needed.",
            ),
        ),
    )


def backtest_of(frames: Frames, history: History, about: About) -> Section:
    """Return the section about the decisions that a proposed set would change."""
    frame = frames.get("backtest")
    if frame is None:
        return Section(
            id="backtest",
            word="Backtest",
            title="What the proposal would change",
            missing=NOT_TRIED,
        )
    sums = {
        row["turn"]: (row["rows"], row["decisions"])
        for row in frame.group_by("turn")
        .agg(pl.len().alias("rows"), pl.col("count").sum().alias("decisions"))
        .collect()
        .to_dicts()
    }
    lost, won = sums.get("ALLOW_TO_DENY", (0, 0)), sums.get("DENY_TO_ALLOW", (0, 0))
    who = frame.filter(pl.col("turn") == "ALLOW_TO_DENY").select(pl.col("principal").n_unique())
    losers = int(who.collect().item())
    order: Order = [
        *("turn", pl.col("count") * -1, "principal", "operation", "resource_type"),
        *("resource_name", "host"),
    ]
    lead = (
        f"{amount(losers, 'principal')} would lose access: {amount(lost[1], 'decision')} of the"
        " history would be denied in place of allowed"
        if lost[0]
        else "No principal would lose access"
    )
    if not history.allowed and not lost[0]:
        lead = _UNKNOWN.removesuffix(".")
    return Section(
        id="backtest",
        word="Backtest",
        title="What the proposal would change",
        lead=(f"{lead}. {_gain_text(won[1])}",),
        tables=(
            Table(
                id="backtest-turns",
                title="Decisions that would change",
                columns=(
                    Column(title="Change", kind=Kind.TAG, choice=True),
                    Column(title="Decisions", kind=Kind.NUMBER),
                    Column(title="Principal", kind=Kind.NAME),
                    Column(title="Operation", kind=Kind.TEXT, choice=True),
                    Column(title="Resource", kind=Kind.RESOURCE),
                    Column(title="Host", kind=Kind.HOST),
                    Column(title="Last", kind=Kind.TIME),
                    Column(title="Rule before", kind=Kind.COMMANDS),
                    Column(title="Rule after", kind=Kind.COMMANDS),
                ),
                rows=tuple(_turn_row(row) for row in first_of(frame, order, about.rows_max)),
                total=lost[0] + won[0],
                whole=place_of("backtest"),
                empty="No decision of the history would change.",
            ),
        ),
    )


def _least_lead(grants: int, principals: int, allows: int, forbids: int) -> str:
    return (
        f"{amount(grants, 'grant')} for {amount(principals, 'principal')} would allow all that"
        f" was used. Over the whole history they would change {_change_text(allows, forbids)}."
    )


def _change_text(allows: int, forbids: int) -> str:
    if not allows and not forbids:
        return "no decision"
    return f"{number(forbids)} from allowed to denied and {number(allows)} from denied to allowed"


def _gain_text(count: int) -> str:
    if not count:
        return "No denied one would be allowed."
    return f"{amount(count, 'decision')} would be allowed in place of denied."


def _rule(rule: str, binding: str | None) -> Commands:
    return Commands(rule, (), binding or "")


def _least_row(row: Row) -> tuple[Value, ...]:
    return (
        row["principal"],
        row["operation"],
        resource_of(row),
        row["host"],
        _KINDS.get(row["kind"], Tag(row["kind"])),
        row["support"],
        names_of(row["resources"], row["resource_count"]) if row["kind"] != "LITERAL" else None,
        names_of(row["covers"]),
        Commands("add", (row["command"],)) if row["command"] else None,
    )


def _turn_row(row: Row) -> tuple[Value, ...]:
    return (
        _TURNS.get(row["turn"], Tag(row["turn"])),
        row["count"],
        row["principal"],
        row["operation"],
        Resource(row["resource_type"], row["resource_name"]),
        row["host"],
        row["last_ts"],
        _rule(row["rule_before"], row["binding_before"]),
        _rule(row["rule_after"], row["binding_after"]),
    )
