"""From the tables of an output folder to a file with the report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.errors import Missing, Unreadable
from doorkeeper_pipeline.report.content import report_of
from doorkeeper_pipeline.report.rendering import html_parts
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import Tables

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.report.frames import Frames
    from doorkeeper_pipeline.report.model import About, Report

SHOWN = (
    *("decisions", "denied", "grant_usage", "unused_grants", "overbroad_grants"),
    *("least_privilege", "backtest", "drift", "new_access", "agreement", "quarantine", "files"),
    "runs",
)
"""The tables that a report shows."""

ABOUT_GRANTS = ("grant_usage", "unused_grants", "overbroad_grants", "drift", "agreement")
"""Those that say nothing where no set of ACLs was given: empty is not the same as unused."""


def write(tables: Path, target: Path, about: About) -> Report:
    """Write the report on the tables of an output folder to a file; return its content.

    The file is replaced when all of it is written.

    Raises:
        Missing: there are no decisions in the folder.
        Unreadable: a table is damaged.
        OSError: the file cannot be written.

    """
    frames = frames_in(tables)
    if "decisions" not in frames and "runs" not in frames:
        raise Missing(
            f"{tables}: no tables here; doorkeeper-pipeline run --out {tables} makes them"
        )
    try:
        report = report_of({"decisions": empty_decisions(), **frames}, about)
        _replace(target, report)
    except pl.exceptions.PolarsError as error:
        raise Unreadable(f"{tables}: {str(error).splitlines()[0]}") from error
    return report


def frames_in(tables: Path) -> Frames:
    """Return the tables of an output folder that a report shows, none of them read yet."""
    opened = Tables(tables)
    found = {}
    for name in SHOWN:
        files = opened.files(name)
        if files:
            found[name] = contents.scan(name, files)
    if not any(part.rows for part in opened.parts("bindings")):
        found = {name: each for name, each in found.items() if name not in ABOUT_GRANTS}
    return found


def empty_decisions() -> pl.LazyFrame:
    """Return the table of decisions where nothing was decided."""
    return contents.empty("decisions").lazy()


def _replace(target: Path, report: Report) -> None:
    """Write a report beside its file, then put it in its place."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(html_parts(report))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
