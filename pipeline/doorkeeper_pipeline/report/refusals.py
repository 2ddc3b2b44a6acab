"""Denied accesses, their numbers, and the smallest grant that would help."""

from __future__ import annotations

from datetime import date
from functools import partial

import polars as pl

from doorkeeper_pipeline.amounts import amount, day, percent
from doorkeeper_pipeline.evaluation.refusals import CAUSES
from doorkeeper_pipeline.jobs.causes import REFUSAL_ID
from doorkeeper_pipeline.jobs.findings import effects_of_removal
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    Row,
    count_of,
    first_of,
    names_of,
    resource_of,
)
from doorkeeper_pipeline.report.model import (
    About,
    Column,
    Commands,
    Kind,
    Section,
    Share,
    Table,
    Tag,
)
from doorkeeper_pipeline.tables.places import folder_of

_CAUSES = {
    cause.name: Tag(cause.word, cause.advice, strong=cause.name == "NO_LOGIN") for cause in CAUSES
}
_PLACES = {cause.name: rank for rank, cause in enumerate(CAUSES)}


def refusals_of(frames: Frames, about: About) -> Section:
    denied = frames.get("denied")
    section = partial(Section, id="refused", word="Refused", title="Who was refused what")
    if denied is None:
        return section(missing="Not computed.")
    excluded = about.left_out.principals
    every = denied.filter(~pl.col("probe"))
    real = every.filter(~pl.col("principal").is_in(excluded))
    total = count_of(real)
    order: Order = [
        pl.col("count") * -1,
        "principal",
        "operation",
        "resource_type",
        "resource_name",
    ]
    rows = first_of(real, order, about.rows_max)
    return section(
        lead=(*_lead(real, total, rows), *_left_out(every, excluded)),
        tables=(
            _causes(real, frames, about),
            Table(
                id="denied-hot-spots",
                title="Refused, the most frequent first",
                note="A grant is the smallest that would have let the request through; whether it"
                " should is for you to say. Where the cause is another one, no grant is offered.",
                columns=(
                    Column("Refused", Kind.NUMBER, "count"),
                    Column("Principal", Kind.NAME, "principal"),
                    Column("Operation", Kind.TEXT, "operation", choice=True),
                    Column("Resource", Kind.RESOURCE, resource_of),
                    Column("Why", Kind.TAG, _cause, choice=True),
                    Column("By request", Kind.NAMES, lambda row: names_of(row["apis"])),
                    Column(
                        "From", Kind.NAMES, lambda row: names_of(row["hosts"], row["host_count"])
                    ),
                    Column("Last", Kind.TIME, "last_ts"),
                    Column("What would help", Kind.COMMANDS, _help),
                ),
                items=rows,
                total=total,
                whole=folder_of("denied"),
                empty="Nothing was refused.",
            ),
        ),
    )


def _causes(real: pl.LazyFrame, frames: Frames, about: About) -> Table:
    """Return the refusals by cause, and within a cause by principal, or by DENY.

    Shares are those of one cause, so that few refusals of one stand beside many of another.
    """
    is_deny = pl.col("cause") == "DENY"
    rank = pl.col("cause").replace_strict(_PLACES, default=len(CAUSES), return_dtype=pl.Int64)
    causes = (
        real.with_columns(
            rank=rank,
            deny=pl.when(is_deny).then("denied_by"),
            who=pl.when(~is_deny).then("principal"),
        )
        .group_by("rank", "cause", "deny", "who")
        .agg(
            pl.col("count").sum(),
            pl.col("principal").unique().sort().alias("principals"),
            pl.struct("resource_type", "resource_name").n_unique().alias("resources"),
            pl.col("denied_by", "advice", "rhythm").first(),
            pl.col("last_ts").max(),
            REFUSAL_ID.first().alias("id"),
        )
        .with_columns(of_cause=pl.col("count").sum().over("rank"))
    )
    order: Order = ["rank", pl.col("count") * -1, "cause", "deny", "who"]
    opens, accepted = _effects(frames), about.left_out.accepted
    return Table(
        id="refusal-causes",
        title="Causes of refusals",
        note="The share is that of the cause. Without the DENY alone so many decisions of this"
        " history would be allowed; more that did not happen in it may be.",
        columns=(
            Column("Why", Kind.TAG, _cause, choice=True),
            Column("Refused", Kind.SHARE, lambda row: Share(row["count"], row["of_cause"])),
            Column("Principals", Kind.NAMES, lambda row: names_of(row["principals"])),
            Column("Resources", Kind.NUMBER, "resources"),
            Column("What to do", Kind.COMMANDS, lambda row: _advice(row, accepted.get(row["id"]))),
            Column("Allowed without it", Kind.NUMBER, lambda row: opens.get(row["deny"] or "")),
            Column("Last", Kind.TIME, "last_ts"),
        ),
        items=first_of(causes, order, about.rows_max),
        total=count_of(causes),
        whole=folder_of("denied"),
        empty="Nothing was refused.",
    )


def _cause(row: Row) -> Tag:
    """Return the cause of a row; tables of an earlier release have none."""
    return _CAUSES.get(row["cause"], Tag(row["cause"] or "unknown"))


def _advice(row: Row, accepted_until: date | None = None) -> Commands | None:
    """Return the advice of a row, after the DENY or the rhythm that it is about."""
    if row["advice"] is None:
        return None
    parts = (row["denied_by"], row["rhythm"], row["advice"])
    word = "advice" if accepted_until is None else f"accepted until {day(accepted_until)}"
    return Commands(word, (), ". ".join(filter(None, parts)))


def _effects(frames: Frames) -> dict[str, int]:
    usage = frames.get("grant_usage")
    return {} if usage is None else effects_of_removal(usage.collect())


def _lead(real: pl.LazyFrame, total: int, rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ("No request was refused.",)
    refused = _sum(real)
    lead = (
        f"{amount(refused, 'refusal')} come down to"
        f" {amount(total, 'combination')} of principal, operation and resource."
    )
    top = sum(row["count"] for row in rows[:10])
    if total > 10:
        lead += (
            f" The ten most frequent make {percent(top, refused)} of them; the first alone makes"
            f" {percent(rows[0]['count'], refused)}."
        )
    return (lead,)


def _left_out(every: pl.LazyFrame, excluded: tuple[str, ...]) -> tuple[str, ...]:
    """Say which principals are left out, and with how many refusals."""
    return tuple(
        f"Left out, as asked: {name}, with"
        f" {amount(_sum(every.filter(pl.col('principal') == name)), 'refusal')}."
        for name in excluded
    )


def _sum(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.col("count").sum()).collect().item())


def _help(row: Row) -> Commands | None:
    if row["command"]:
        return Commands("grant", (row["command"],), row["grant_text"])
    if row["grant_text"]:
        return Commands("no command can name it", (), row["grant_text"])
    return _advice(row)
