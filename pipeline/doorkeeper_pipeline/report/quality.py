"""The input, its unreadable parts, and the basis of the numbers."""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.amounts import amount
from doorkeeper_pipeline.report.basis import AGREEING, last_run, unread_of
from doorkeeper_pipeline.report.frames import Frames, count_of, first_of
from doorkeeper_pipeline.report.model import About, Column, Kind, Section, Table, Tag
from doorkeeper_pipeline.tables.places import folder_of

_USED = (
    "A grant was used when it matched a decision on the side that decided; it was needed when that"
    " decision would have been the other without it."
)
_DAYS = (
    "Days without a decision are days that were not observed, or on which nothing happened: the"
    " log does not tell them apart."
)
ASSUMPTIONS = (
    "All times are UTC.",
    _USED,
    "Denied probes, which only query permissions, are not counted as denied.",
    _DAYS,
)
_SOURCES = {
    "trail": "audit log",
    "authorizer-log": "kafka-authorizer.log",
    "ocsf": "OCSF",
    "cloudevents": "CloudEvents",
}


def quality_of(frames: Frames, about: About) -> Section:
    """Return the section about the basis of the report."""
    tables = tuple(
        make(frame, about)
        for name, make in (
            ("agreement", _agreement),
            ("quarantine", _quarantine),
            ("files", _files),
        )
        if (frame := frames.get(name)) is not None
    )
    notes = (*last_run(frames).get("warnings", ()), *ASSUMPTIONS)
    return Section(
        id="quality",
        word="Quality",
        title="What this rests on",
        lead=tuple(_lead(frames)),
        tables=tables,
        notes=notes,
    )


def _lead(frames: Frames) -> list[str]:
    files = frames.get("files")
    if files is None:
        return []
    sums = files.select(pl.col("lines").sum(), pl.col("quarantined").sum(), pl.len())
    lines, quarantined, count = sums.collect().row(0)
    read = f"{amount(lines, 'line')} of {amount(count, 'file')} were read;"
    if not quarantined:
        unread = unread_of(frames)
        if unread.torn or unread.lost_days:
            return [f"{read} every one was understood, but others are missing: see the notes."]
        return [f"{read} every one was understood."]
    what = amount(quarantined, "of them", "of them")
    return [f"{read} {what} could not be understood, and none of those counts above."]


def _agreement(frame: pl.LazyFrame, about: About) -> Table:
    different = frame.filter(pl.col("count") > AGREEING).with_columns(
        disagreeing=pl.col("count") - AGREEING
    )
    return Table(
        id="agreement",
        title="Recorded decisions that contradict the given ACLs",
        note="The outcome differs, or the deciding ACL is not among the given ones: the ACLs are"
        " from another cluster or time, super users are missing, or a log was modified."
        " Nothing is recommended for these principals.",
        columns=(
            Column("Decisions", Kind.NUMBER, "disagreeing"),
            Column("Principal", Kind.NAME, "principal"),
            Column("Recorded", Kind.TEXT, "outcome", choice=True),
            Column("Recorded rule", Kind.TEXT, "rule", choice=True),
            Column("By the ACLs", Kind.TEXT, "outcome_now", choice=True),
            Column("Rule", Kind.TEXT, "rule_now", choice=True),
            Column("From", Kind.TIME, "first_ts"),
            Column("To", Kind.TIME, "last_ts"),
        ),
        items=first_of(different, [-pl.col("disagreeing"), "principal"], about.rows_max),
        total=count_of(different),
        whole=folder_of("agreement"),
        empty="Every recorded decision follows from the ACLs.",
    )


def _quarantine(frame: pl.LazyFrame, about: About) -> Table:
    return Table(
        id="quarantine",
        title="What could not be read",
        columns=(
            Column("File", Kind.NAME, "file"),
            Column("At byte", Kind.NUMBER, "byte_offset"),
            Column("Reason", Kind.TEXT, "reason", choice=True),
            Column("Begins with", Kind.NAME, "text"),
        ),
        items=first_of(frame, ["file", "byte_offset"], about.rows_max),
        total=count_of(frame),
        whole=folder_of("quarantine"),
        empty="Everything was understood.",
    )


def _files(frame: pl.LazyFrame, about: About) -> Table:
    return Table(
        id="files",
        title="Files",
        columns=(
            Column("File", Kind.NAME, "path"),
            Column(
                "Read as",
                Kind.TAG,
                lambda row: Tag(_SOURCES.get(row["source"]) or row["source"]),
                choice=True,
            ),
            Column("Lines", Kind.NUMBER, "lines"),
            Column("Decisions", Kind.NUMBER, "decisions"),
            Column("No decision", Kind.NUMBER, "ignored"),
            Column("In quarantine", Kind.NUMBER, "quarantined"),
            Column("From", Kind.TIME, "first_ts"),
            Column("To", Kind.TIME, "last_ts"),
        ),
        items=first_of(frame, ["first_ts", "path"], about.rows_max),
        total=count_of(frame),
        whole=folder_of("files"),
        empty="0 files were read.",
    )
