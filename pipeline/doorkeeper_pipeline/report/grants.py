"""Every grant with its verdict, and grants that are wider than their use."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import polars as pl

from doorkeeper_pipeline.amounts import amount
from doorkeeper_pipeline.evaluation.severity import SEVERITIES
from doorkeeper_pipeline.jobs.causes import subject_of
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    Row,
    count_of,
    counts_by,
    first_of,
    names_of,
    resource_of,
    severity_of,
)
from doorkeeper_pipeline.report.model import (
    About,
    Column,
    Commands,
    Kind,
    Part,
    Section,
    Share,
    Statement,
    Table,
    Tag,
    Whole,
)
from doorkeeper_pipeline.tables.places import folder_of

NO_ACLS = "No set of ACLs was given, so nothing is known about grants. Name one with --acls."

_VERDICTS = {
    "REMOVE": Tag(
        "remove",
        "no decision needs it, and the evidence is sufficient; all of these can be removed"
        " together",
        strong=True,
    ),
    "ASK": Tag("ask", "kept until the question is answered"),
    "NOT_ENOUGH_EVIDENCE": Tag("not enough evidence", "not enough evidence; kept"),
    "KEEP": Tag("keep", "used, or kept instead of others that allow the same"),
}
_EXCESS = {
    "ALL_NAMES": Tag("all names", "It covers every name.", strong=True),
    "PREFIX": Tag("prefix", "It covers more names than were used."),
    "ALL_PRINCIPALS": Tag("everybody", "It is for User:*, which is every principal.", strong=True),
    "ALL_HOSTS": Tag("all hosts", "It is for every address."),
    "ALL_OPERATIONS": Tag("ALL", "It allows every operation.", strong=True),
}


def grants_of(frames: Frames, about: About) -> Section:
    """Return the section about every grant: its age, its use, and the verdict about it."""
    unused, usage = frames.get("unused_grants"), frames.get("grant_usage")
    section = partial(
        Section, id="grants", word="Grants", title="Every grant, its use, and the verdict"
    )
    if unused is None or usage is None:
        return section(missing=NO_ACLS)
    allows = usage.filter(pl.col("permission_type") == "ALLOW")
    state = whole_of(allows)
    grants = sum(part.size for part in state.parts)
    counts = counts_by(allows, "verdict")
    verdicts = [f"{tag.word} {counts[name]:,}" for name, tag in _VERDICTS.items() if name in counts]
    return section(
        lead=(f"{amount(grants, 'grant')} in force: {', '.join(verdicts)}.",),
        whole=state,
        tables=(_grants_table(allows, unused, grants, about),),
    )


def _grants_table(allows: pl.LazyFrame, unused: pl.LazyFrame, total: int, about: About) -> Table:
    named = allows.with_columns(subject_of(pl.col("pattern_type"), pl.col("host")))
    joined = named.join(
        unused.select("binding_id", "covered_by", "command"), on="binding_id", how="left"
    )
    order: Order = [_rank("verdict", _VERDICTS), _rank("severity", SEVERITIES), *_IDENTITY]
    rows = first_of(joined, order, about.rows_max)
    covering = {binding_id for row in rows for binding_id in row["covered_by"] or ()}
    texts = named.filter(pl.col("binding_id").is_in(sorted(covering)))
    names = dict(texts.select("binding_id", "subject").collect().iter_rows())
    return Table(
        id="all-grants",
        title="Grants",
        note="Since: when it was created, or the first listing with it. Days: days of history"
        " since then. Covered by: other ACLs that allow its uses; one of them is kept.",
        columns=(
            Column("Severity", Kind.TAG, _severity, choice=True),
            Column("Principal", Kind.NAME, "principal"),
            Column(
                "Grant",
                Kind.STATEMENT,
                lambda row: Statement(row["subject"], (row["opens"],) if row["opens"] else ()),
            ),
            Column("Verdict", Kind.TAG, lambda row: _VERDICTS.get(row["verdict"]), choice=True),
            Column("Reason", Kind.STATEMENT, lambda row: Statement(row["why"] or "")),
            Column("There since", Kind.DAY, "known_from"),
            Column("Days", Kind.NUMBER, "days_known"),
            Column("Last used", Kind.TIME, "last_used"),
            Column(
                "Covered by",
                Kind.NAMES,
                lambda row: names_of(
                    names.get(binding_id, binding_id) for binding_id in row["covered_by"] or ()
                ),
            ),
            Column(
                "Command",
                Kind.COMMANDS,
                lambda row: Commands("remove", (row["command"],)) if row["command"] else None,
            ),
        ),
        items=rows,
        total=total,
        whole=folder_of("grant_usage"),
        empty="No ACL allows anything.",
    )


def _rank(column: str, order: Iterable[str]) -> pl.Expr:
    places = {name: rank for rank, name in enumerate(order)}
    return pl.col(column).replace_strict(places, default=len(places), return_dtype=pl.Int8)


def overbroad_of(frames: Frames, about: About) -> Section:
    """Return the section about grants that cover far more than was used through them."""
    wide = frames.get("overbroad_grants")
    section = partial(Section, id="overbroad", word="Too wide", title="Grants that are too wide")
    if wide is None:
        return section(missing=NO_ACLS)
    total = count_of(wide)
    everybody = count_of(wide.filter(pl.col("excess").list.contains("ALL_PRINCIPALS")))
    lead = [
        f"{amount(total, 'grant')} {'allows' if total == 1 else 'allow'} far more than their use."
        " For each, the actual use and narrower alternatives are listed."
        if total
        else "No grant is far wider than its use."
    ]
    if everybody:
        lead.append(f"{amount(everybody, 'of them is', 'of them are')} for everybody.")
    order: Order = [
        _rank("severity", SEVERITIES),
        *(pl.col("excess").list.len() * -1, pl.col("uses") * -1, *_IDENTITY),
    ]
    return section(
        lead=tuple(lead),
        tables=(
            Table(
                id="overbroad-grants",
                title="Over-broad grants",
                note="Names used are of the names in the history that the grant covers.",
                columns=_OVERBROAD,
                items=first_of(wide, order, about.rows_max),
                total=total,
                whole=folder_of("overbroad_grants"),
            ),
        ),
    )


def whole_of(usage: pl.LazyFrame) -> Whole:
    """Return all grants, divided by their use."""
    counts = (
        usage.select(
            pl.col("decisive").sum().alias("needed"),
            (pl.col("used") & ~pl.col("decisive")).sum().alias("shared"),
            # The only ACL of a resource is needed unused, with allow.everyone.if.no.acl.found.
            (~pl.col("used") & ~pl.col("decisive")).sum().alias("unused"),
        )
        .collect()
        .to_dicts()[0]
    )
    return Whole(
        title="Grants by use",
        parts=(
            Part(
                "needed", counts["needed"], 1, "Without it, a decision would have been different."
            ),
            Part("used, never alone", counts["shared"], 0, "Other ACLs decide the same."),
            Part("never used", counts["unused"], 3, "It decided nothing."),
        ),
    )


_IDENTITY = (
    *("principal", "resource_type", "resource_name", "pattern_type", "operation", "host"),
    "permission_type",
)


def _severity(row: Row) -> Tag | None:
    return severity_of(row["severity"])


def _instead(row: Row) -> Commands | None:
    count = len(row["proposal"])
    if not count:
        return None
    return Commands(amount(count, "grant"), tuple(row["commands"]), "; ".join(row["proposal"]))


_OVERBROAD = (
    Column("Severity", Kind.TAG, _severity, choice=True),
    Column("Principal", Kind.NAME, "principal"),
    Column("Operation", Kind.TEXT, "operation", choice=True),
    Column("Resource", Kind.RESOURCE, resource_of),
    Column("Host", Kind.HOST, "host"),
    Column(
        "Too wide",
        Kind.TAGS,
        lambda row: tuple(_EXCESS.get(excess, Tag(excess)) for excess in row["excess"]),
        choice=True,
    ),
    Column("Uses", Kind.NUMBER, "uses"),
    Column(
        "Names used",
        Kind.SHARE,
        lambda row: Share(row["touched_resource_count"], row["covered_resource_count"]),
    ),
    Column("Used by", Kind.NAMES, lambda row: names_of(row["touched_principals"])),
    Column("Instead", Kind.COMMANDS, _instead),
)
"""The columns of a grant that is too wide."""
