"""Grants that were not needed, and grants that are wider than their use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.report.amounts import amount, number, percent
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    Row,
    count_of,
    counts_by,
    first_of,
    names_of,
    permission_of,
    place_of,
    resource_of,
)
from doorkeeper_pipeline.report.model import (
    Column,
    Commands,
    Kind,
    Part,
    Section,
    Share,
    Table,
    Tag,
    Value,
    Whole,
)

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.model import About

NO_ACLS = "No set of ACLs was given, so nothing is known about grants. Name one with --acls."

_REASONS = {
    "NEVER_MATCHED": Tag("never matched", "Nothing in the history was about it."),
    "NEVER_USED": Tag("never decided", "It matched, but a DENY decided every time."),
    "COVERED": Tag("covered", "Other grants allow the same; without it nothing changes."),
}
_PROPOSALS = {
    "REMOVE": Tag("remove", strong=True),
    "KEEP": Tag("keep", "Others lean on it."),
    "NOT_ENOUGH_EVIDENCE": Tag(
        "not enough evidence", "The history says too little about this grant; it stays."
    ),
    "ASK": Tag("ask", "Somebody must answer the question first; until then it stays."),
}
_EXCESS = {
    "ALL_NAMES": Tag("all names", "It covers every name there is.", strong=True),
    "PREFIX": Tag("prefix", "It covers more names than were used."),
    "ALL_PRINCIPALS": Tag("everybody", "It is for User:*, which is every principal.", strong=True),
    "ALL_HOSTS": Tag("all hosts", "It is for every address."),
    "ALL_OPERATIONS": Tag("ALL", "It allows every operation.", strong=True),
}


def unused_section(frames: Frames, about: About) -> Section:
    """Return the section about grants without which nothing would have been decided otherwise."""
    unused, usage = frames.get("unused_grants"), frames.get("grant_usage")
    section_id, word, title = "unused", "Unused", "Grants that no decision needed"
    if unused is None or usage is None:
        return Section(id=section_id, word=word, title=title, missing=NO_ACLS)
    total, removable = count_of(unused), removable_of(unused)
    state = whole_of(usage)
    grants = sum(part.size for part in state.parts)
    difference = (
        f"Of {amount(grants, 'grant')} in force, {number(total)} ({percent(total, grants)}) made"
        f" no difference in the days observed. {number(removable)} of them are redundant together:"
        " with all of those removed, every decision of the history stays as it was."
    )
    lead = [difference]
    for verdict, text in (
        ("NOT_ENOUGH_EVIDENCE", "the evidence is not enough; the reason stands beside each"),
        ("ASK", "somebody must answer a question first; it stands beside each"),
    ):
        count = count_of(unused.filter(pl.col("proposal") == verdict))
        if count:
            lead.append(f"For {amount(count, 'grant')} {text}.")
    covered = counts_by(unused, "reason").get("COVERED", 0)
    if covered:
        lead.append(
            f"{amount(covered, 'grant')} did match, but others allow the same. Two grants that"
            " cover each other are both in that list; only one of them is redundant."
        )
    order: Order = [pl.col("proposal") != "REMOVE", *_IDENTITY]
    return Section(
        id=section_id,
        word=word,
        title=title,
        lead=tuple(lead),
        whole=state,
        tables=(
            Table(
                id="unused-grants",
                title="Unused grants",
                note="Those that can go come first. There since: the first listing, where nothing"
                " says when it was given.",
                columns=(
                    Column(title="Principal", kind=Kind.NAME),
                    Column(title="Does", kind=Kind.TAG, choice=True),
                    Column(title="Operation", kind=Kind.TEXT, choice=True),
                    Column(title="Resource", kind=Kind.RESOURCE),
                    Column(title="Host", kind=Kind.HOST),
                    Column(title="Why", kind=Kind.TAG, choice=True),
                    Column(title="Last used", kind=Kind.TIME),
                    Column(title="There since", kind=Kind.TIME),
                    Column(title="Proposal", kind=Kind.TAG, choice=True),
                    Column(title="Reason", kind=Kind.TEXT),
                    Column(title="Command", kind=Kind.COMMANDS),
                ),
                rows=tuple(_unused_row(row) for row in first_of(unused, order, about.rows_max)),
                total=total,
                whole=place_of("unused_grants"),
                empty="Every grant was needed.",
            ),
        ),
    )


def overbroad_of(frames: Frames, about: About) -> Section:
    """Return the section about grants that cover far more than was used through them."""
    wide = frames.get("overbroad_grants")
    section_id, word, title = "overbroad", "Too wide", "Grants that are too wide"
    if wide is None:
        return Section(id=section_id, word=word, title=title, missing=NO_ACLS)
    total = count_of(wide)
    everybody = count_of(wide.filter(pl.col("excess").list.contains("ALL_PRINCIPALS")))
    lead = [
        f"{amount(total, 'grant')} {'allows' if total == 1 else 'allow'} far more than was done"
        " through them. Beside each stands what was done, and narrower alternatives."
        if total
        else "No grant is far wider than its use."
    ]
    if everybody:
        lead.append(f"{amount(everybody, 'of them is', 'of them are')} for everybody.")
    order: Order = [pl.col("excess").list.len() * -1, pl.col("uses") * -1, *_IDENTITY]
    return Section(
        id=section_id,
        word=word,
        title=title,
        lead=tuple(lead),
        tables=(
            Table(
                id="overbroad-grants",
                title="Over-broad grants",
                note="Names used are of the names in the history that the grant covers.",
                columns=(
                    Column(title="Principal", kind=Kind.NAME),
                    Column(title="Operation", kind=Kind.TEXT, choice=True),
                    Column(title="Resource", kind=Kind.RESOURCE),
                    Column(title="Host", kind=Kind.HOST),
                    Column(title="Too wide", kind=Kind.TAGS, choice=True),
                    Column(title="Uses", kind=Kind.NUMBER),
                    Column(title="Names used", kind=Kind.SHARE),
                    Column(title="Used by", kind=Kind.NAMES),
                    Column(title="Instead", kind=Kind.COMMANDS),
                ),
                rows=tuple(_overbroad_row(row) for row in first_of(wide, order, about.rows_max)),
                total=total,
                whole=place_of("overbroad_grants"),
            ),
        ),
    )


def removable_of(unused: pl.LazyFrame) -> int:
    """Return how many grants are redundant together."""
    return count_of(unused.filter(pl.col("proposal") == "REMOVE"))


def whole_of(usage: pl.LazyFrame) -> Whole:
    """Return all grants, divided by their use."""
    counts = (
        usage.select(
            pl.col("decisive").sum().alias("needed"),
            (pl.col("used") & ~pl.col("decisive")).sum().alias("shared"),
            (~pl.col("used")).sum().alias("unused"),
        )
        .collect()
        .to_dicts()[0]
    )
    return Whole(
        title="Grants by what they were good for",
        parts=(
            Part("needed", counts["needed"], 1, "Without it, something would have gone otherwise."),
            Part("used, never alone", counts["shared"], 0, "Others decide the same."),
            Part("never used", counts["unused"], 3, "It decided nothing."),
        ),
    )


_IDENTITY = (
    *("principal", "resource_type", "resource_name", "pattern_type", "operation", "host"),
    "permission_type",
)


def _unused_row(row: Row) -> tuple[Value, ...]:
    return (
        row["principal"],
        permission_of(row),
        row["operation"],
        resource_of(row),
        row["host"],
        _REASONS.get(row["reason"], Tag(row["reason"])),
        row["last_used"],
        row["known_from"],
        _PROPOSALS.get(row["proposal"], Tag(row["proposal"])),
        row["why"],
        Commands("remove", (row["command"],)) if row["command"] else None,
    )


def _overbroad_row(row: Row) -> tuple[Value, ...]:
    count = len(row["proposal"])
    return (
        row["principal"],
        row["operation"],
        resource_of(row),
        row["host"],
        tuple(_EXCESS.get(each, Tag(each)) for each in row["excess"]),
        row["uses"],
        Share(row["touched_resource_count"], row["covered_resource_count"]),
        names_of(row["touched_principals"]),
        Commands(amount(count, "grant"), tuple(row["commands"]), "; ".join(row["proposal"]))
        if count
        else None,
    )
