"""What changed: findings since the last run, grants, and access that is new."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from doorkeeper_pipeline.report.amounts import amount, moment, number
from doorkeeper_pipeline.report.decisions import NEW, PAGE, Standing, rows_of
from doorkeeper_pipeline.report.frames import (
    Frames,
    Order,
    Row,
    count_of,
    counts_by,
    first_of,
    permission_of,
    place_of,
    resource_of,
)
from doorkeeper_pipeline.report.model import (
    About,
    Column,
    Kind,
    Resource,
    Section,
    Table,
    Tag,
    Value,
)

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
        sum(each.size for each in groups) for groups in (standing.came(), standing.went())
    )
    return f"Since the run of {moment(before)}: {amount(came, 'new finding')}, {number(went)} gone."


def _findings(standing: Standing, about: About) -> Table:
    rows = [*rows_of(standing.came(), NEW), *rows_of(standing.went(), _GONE)]
    return Table(
        id="findings-changed",
        title="New and resolved findings",
        columns=(
            Column(title="Change", kind=Kind.TAG, choice=True),
            Column(title="Severity", kind=Kind.TAG, choice=True),
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Finding", kind=Kind.STATEMENT),
        ),
        rows=tuple(rows[: about.rows_max]),
        total=len(rows),
        page=PAGE,
        whole=place_of("findings"),
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
            Column(title="New", kind=Kind.TAG, choice=True),
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Host", kind=Kind.HOST),
            Column(title="Resource", kind=Kind.RESOURCE),
            Column(title="Decisions", kind=Kind.NUMBER),
            Column(title="Refused", kind=Kind.NUMBER),
            Column(title="First", kind=Kind.TIME),
        ),
        rows=tuple(_new_row(row) for row in first_of(frame, order, about.rows_max)),
        total=count_of(frame),
        whole=place_of("new_access"),
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
            Column(title="Change", kind=Kind.TAG, choice=True),
            Column(title="Principal", kind=Kind.NAME),
            Column(title="Does", kind=Kind.TAG, choice=True),
            Column(title="Operation", kind=Kind.TEXT, choice=True),
            Column(title="Resource", kind=Kind.RESOURCE),
            Column(title="Host", kind=Kind.HOST),
            Column(title="When", kind=Kind.TIME),
            Column(title="By", kind=Kind.NAME),
        ),
        rows=tuple(_drift_row(row) for row in first_of(frame, order, about.rows_max)),
        total=count_of(frame),
        whole=place_of("drift"),
        empty="No grant changed.",
    )


def _new_row(row: Row) -> tuple[Value, ...]:
    resource = Resource(row["resource_type"], row["resource_name"])
    return (
        _KINDS.get(row["kind"], Tag(row["kind"])),
        row["principal"],
        row["host"] or None,
        resource if row["kind"] == "RESOURCE" else None,
        row["count"],
        row["denied"],
        row["first_ts"],
    )


def _drift_row(row: Row) -> tuple[Value, ...]:
    return (
        _CHANGES.get(row["change"], Tag(row["change"])),
        row["principal"],
        permission_of(row),
        row["operation"],
        resource_of(row),
        row["host"],
        row["at"],
        row["by"],
    )
