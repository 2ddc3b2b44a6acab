"""Denied accesses, their numbers, and the smallest grant that would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.jobs.findings import effects_of_removal
from doorkeeper_pipeline.report.amounts import amount, percent
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    Row,
    count_of,
    first_of,
    names_of,
    place_of,
)
from doorkeeper_pipeline.report.model import (
    Column,
    Commands,
    Kind,
    Resource,
    Section,
    Share,
    Table,
    Tag,
    Value,
)

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.model import About
    from doorkeeper_pipeline.report.overview import History

_REASONS = {
    "NO_ACL": Tag("no grant", "No binding allows it."),
    "DENY": Tag("a DENY", "A binding denies it.", strong=True),
    "ALLOWED_NOW": Tag("allowed now", "The set of ACLs in force allows it."),
    "UNKNOWN": Tag("unknown", "The log does not say, and no set of ACLs was given."),
}


def refusals_of(frames: Frames, history: History, about: About) -> Section:
    """Return the section about denied accesses."""
    denied = frames.get("denied")
    if denied is None:
        return Section(
            id="refused", word="Refused", title="Who was refused what", missing="Not computed."
        )
    real = denied.filter(~pl.col("probe"))
    total = count_of(real)
    order: Order = [
        pl.col("count") * -1,
        "principal",
        "operation",
        "resource_type",
        "resource_name",
    ]
    rows = first_of(real, order, about.rows_max)
    return Section(
        id="refused",
        word="Refused",
        title="Who was refused what",
        lead=_lead(history, total, rows),
        tables=(
            _causes(real, frames, about),
            Table(
                id="denied-hot-spots",
                title="Refused, the most frequent first",
                note="The grant is the smallest that would have let the request through."
                " Whether it should is for you to say.",
                columns=(
                    Column(title="Refused", kind=Kind.NUMBER),
                    Column(title="Principal", kind=Kind.NAME),
                    Column(title="Operation", kind=Kind.TEXT, choice=True),
                    Column(title="Resource", kind=Kind.RESOURCE),
                    Column(title="Why", kind=Kind.TAG, choice=True),
                    Column(title="By request", kind=Kind.NAMES),
                    Column(title="From", kind=Kind.NAMES),
                    Column(title="Last", kind=Kind.TIME),
                    Column(title="What would help", kind=Kind.COMMANDS),
                ),
                rows=tuple(_row(row) for row in rows),
                total=total,
                whole=place_of("denied"),
                empty="Nothing was refused.",
            ),
        ),
    )


def _causes(real: pl.LazyFrame, frames: Frames, about: About) -> Table:
    """Return the refusals by cause: one DENY, or one principal that lacks ALLOWs."""
    is_deny = pl.col("reason") == "DENY"
    found = (
        real.with_columns(
            deny=pl.when(is_deny).then("denied_by"), who=pl.when(~is_deny).then("principal")
        )
        .group_by("reason", "deny", "who")
        .agg(
            pl.col("count").sum(),
            pl.col("principal").unique().sort().alias("principals"),
            pl.struct("resource_type", "resource_name").n_unique().alias("resources"),
            pl.col("last_ts").max(),
        )
    )
    order: Order = [pl.col("count") * -1, "reason", "deny", "who"]
    total = int(real.select(pl.col("count").sum()).collect().item() or 0)
    opens = _effects(frames)
    rows = tuple(
        (
            Share(row["count"], total),
            _REASONS.get(row["reason"], Tag(row["reason"])),
            Commands("the DENY", (), row["deny"]) if row["deny"] else None,
            names_of(row["principals"]),
            row["resources"],
            opens.get(row["deny"]) if row["deny"] else None,
            row["last_ts"],
        )
        for row in first_of(found, order, about.rows_max)
    )
    return Table(
        id="refusal-causes",
        title="Causes of refusals",
        note="Without the DENY alone so many decisions of this history would be allowed; more that"
        " did not happen in it may be.",
        columns=(
            Column(title="Refused", kind=Kind.SHARE),
            Column(title="Why", kind=Kind.TAG, choice=True),
            Column(title="By", kind=Kind.COMMANDS),
            Column(title="Principals", kind=Kind.NAMES),
            Column(title="Resources", kind=Kind.NUMBER),
            Column(title="Allowed without it", kind=Kind.NUMBER),
            Column(title="Last", kind=Kind.TIME),
        ),
        rows=rows,
        total=count_of(found),
        whole=place_of("denied"),
        empty="Nothing was refused.",
    )


def _effects(frames: Frames) -> dict[str, int]:
    usage = frames.get("grant_usage")
    return {} if usage is None else effects_of_removal(usage.collect())


def _lead(history: History, total: int, rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ("No request was refused.",)
    lead = (
        f"{amount(history.refused, 'refusal')} come down to"
        f" {amount(total, 'combination')} of principal, operation and resource."
    )
    top = sum(row["count"] for row in rows[:10])
    if total > 10 and history.refused:
        lead += (
            f" The ten most frequent make {percent(min(top, history.refused), history.refused)} of"
            f" them; the first alone makes"
            f" {percent(min(rows[0]['count'], history.refused), history.refused)}."
        )
    return (lead,)


def _row(row: Row) -> tuple[Value, ...]:
    return (
        row["count"],
        row["principal"],
        row["operation"],
        Resource(row["resource_type"], row["resource_name"]),
        _REASONS.get(row["reason"], Tag(row["reason"])),
        names_of(row["apis"]),
        names_of(row["hosts"], row["host_count"]),
        row["last_ts"],
        _help(row),
    )


def _help(row: Row) -> Commands | None:
    if row["reason"] == "DENY":
        return Commands("a DENY decides", (), row["denied_by"]) if row["denied_by"] else None
    word, note = "grant", row["grant_text"]
    if not row["command"]:
        return Commands("no command can name it", (), note) if note else None
    return Commands(word, (row["command"],), note)
