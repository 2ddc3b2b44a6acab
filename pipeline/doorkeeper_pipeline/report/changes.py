"""What changed: findings since the last run, grants, and access that is new."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from doorkeeper_pipeline.amounts import amount, moment
from doorkeeper_pipeline.report.decisions import COLUMNS, NEW, PAGE, Standing
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    count_of,
    counts_by,
    first_of,
    permission_of,
    resource_of,
)
from doorkeeper_pipeline.report.model import (
    About,
    Column,
    Kind,
    Section,
    Table,
    Tag,
)
from doorkeeper_pipeline.tables.places import folder_of

_GONE = Tag("gone", "not found by the last run")

_CHANGES = {"ADDED": Tag("added"), "REMOVED": Tag("removed", strong=True)}
_KINDS = {
    "PRINCIPAL": Tag("principal", "First seen.", strong=True),
    "HOST": Tag("host", "First seen from this address."),
    "RESOURCE": Tag("resource", "First used by this principal."),
}


def changes_of(frames: Frames, standing: Standing | None, about: About) -> Section:
    """Return the section about differences from before."""
    tables = [
        make(frame, about)
        for name, make in (("drift", _drift), ("new_access", _new_access))
        if (frame := frames.get(name)) is not None
    ]
    lead = [
        sentence
        for name, tell in (("drift", _drift_sentence), ("new_access", _new_sentence))
        if (frame := frames.get(name)) is not None and (sentence := tell(frame))
    ]
    if standing is not None and standing.before is not None:
        tables.insert(0, _findings(standing, about))
        lead.insert(0, _findings_sentence(standing, standing.before))
    missing = "" if tables else "There is no earlier run to compare with."
    return Section(
        id="changes",
        word="Changed",
        title="What changed",
        lead=tuple(lead),
        tables=tuple(tables),
        missing=missing,
    )


def _findings_sentence(standing: Standing, before: datetime) -> str:
    came, went = (
        sum(group.size for group in groups) for groups in (standing.came(), standing.went())
    )
    return f"Since the run of {moment(before)}: {amount(came, 'new finding')}, {went:,} gone."


def _findings(standing: Standing, about: About) -> Table:
    came = standing.came()
    new, groups = frozenset(came), [*came, *standing.went()]
    return Table(
        id="findings-changed",
        title="New and resolved findings",
        columns=(
            Column("Change", Kind.TAG, lambda group: NEW if group in new else _GONE, choice=True),
            *COLUMNS,
        ),
        items=groups[: about.rows_max],
        total=len(groups),
        page=PAGE,
        whole=folder_of("findings"),
        empty="No finding is new or resolved.",
    )


def _new_sentence(frame: pl.LazyFrame) -> str:
    counts = counts_by(frame, "kind")
    since = frame.select(pl.col("since").min()).collect().item()
    when = f" since {moment(since)}" if since is not None else ""
    return (
        f"First seen{when}: {amount(counts.get('PRINCIPAL', 0), 'principal')},"
        f" {amount(counts.get('HOST', 0), 'new address', 'new addresses')} and"
        f" {amount(counts.get('RESOURCE', 0), 'new resource')} of principals known before."
    )


def _drift_sentence(frame: pl.LazyFrame) -> str:
    counts = counts_by(frame, "change")
    if not counts:
        return "No ACL was added or removed."
    return (
        f"Of the ACLs, {amount(counts.get('ADDED', 0), 'was added', 'were added')} and"
        f" {amount(counts.get('REMOVED', 0), 'removed', 'removed')} between the two sets."
    )


def _new_access(frame: pl.LazyFrame, about: About) -> Table:
    rank = pl.col("kind").replace_strict(
        {"PRINCIPAL": 0, "HOST": 1, "RESOURCE": 2}, default=3, return_dtype=pl.Int8
    )
    order: Order = [
        *(rank, pl.col("count") * -1, "principal", "host", "resource_type", "resource_name"),
    ]
    return Table(
        id="new-access",
        title="Seen for the first time",
        columns=(
            Column(
                "New", Kind.TAG, lambda row: _KINDS.get(row["kind"], Tag(row["kind"])), choice=True
            ),
            Column("Principal", Kind.NAME, "principal"),
            Column("Host", Kind.HOST, lambda row: row["host"] or None),
            Column(
                "Resource",
                Kind.RESOURCE,
                lambda row: resource_of(row) if row["kind"] == "RESOURCE" else None,
            ),
            Column("Decisions", Kind.NUMBER, "count"),
            Column("Refused", Kind.NUMBER, "denied"),
            Column("First", Kind.TIME, "first_ts"),
        ),
        items=first_of(frame, order, about.rows_max),
        total=count_of(frame),
        whole=folder_of("new_access"),
        empty="No principal, address or resource was new.",
    )


def _drift(frame: pl.LazyFrame, about: About) -> Table:
    order: Order = [
        *(pl.col("at").is_null(), pl.col("at").dt.epoch("us") * -1, "change", "principal"),
        *("resource_type", "resource_name", "pattern_type", "operation", "host"),
    ]
    return Table(
        id="drift",
        title="Grants that changed",
        columns=(
            Column(
                "Change",
                Kind.TAG,
                lambda row: _CHANGES.get(row["change"], Tag(row["change"])),
                choice=True,
            ),
            Column("Principal", Kind.NAME, "principal"),
            Column("Does", Kind.TAG, permission_of, choice=True),
            Column("Operation", Kind.TEXT, "operation", choice=True),
            Column("Resource", Kind.RESOURCE, resource_of),
            Column("Host", Kind.HOST, "host"),
            Column("When", Kind.TIME, "at"),
            Column("By", Kind.NAME, "by"),
        ),
        items=first_of(frame, order, about.rows_max),
        total=count_of(frame),
        whole=folder_of("drift"),
        empty="No grant changed.",
    )
