"""From the tables of an output folder to the report: its sections, its file, its tables as data."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl

from doorkeeper.acls.formats.csv import FORMULA
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.jobs.belonging import cluster_in
from doorkeeper_pipeline.report import findings
from doorkeeper_pipeline.report.basis import basis_of, last_run
from doorkeeper_pipeline.report.changes import changes_of
from doorkeeper_pipeline.report.decisions import decide_of, figures_of, safe_of, standing_of
from doorkeeper_pipeline.report.findings import Register
from doorkeeper_pipeline.report.frames import Frames
from doorkeeper_pipeline.report.grants import grants_of, overbroad_of
from doorkeeper_pipeline.report.model import About, Report
from doorkeeper_pipeline.report.overview import history_of, overview_of
from doorkeeper_pipeline.report.proposals import backtest_of
from doorkeeper_pipeline.report.quality import quality_of
from doorkeeper_pipeline.report.refusals import refusals_of
from doorkeeper_pipeline.report.rendering import html_parts
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents
from doorkeeper_pipeline.tables.delta import Tables

SHOWN = (
    *("findings", "decisions", "denied", "grant_usage", "unused_grants", "overbroad_grants"),
    *("least_privilege", "backtest", "drift", "new_access", "agreement", "quarantine", "files"),
    "runs",
)
"""The tables that a report shows."""

ABOUT_GRANTS = ("grant_usage", "unused_grants", "overbroad_grants", "drift", "agreement")
"""Those that say nothing where no set of ACLs was given: empty is not the same as unused."""


def write(
    tables: Path | str,
    target: Path,
    about: About,
    *,
    cluster: str = "",
    register: Path | None = None,
    data: Path | None = None,
) -> Report:
    """Write the report on the tables of an output folder to a file; return its content.

    The file is replaced when all of it is written. ``register`` is the file with what people say of
    findings, ``data`` a folder for the tables as CSV and JSON; ``cluster`` is empty
    for the only one.

    Raises:
        Conflicting: the tables are about several clusters, and none of them is given.
        PipelineError: there are no decisions in the folder.
        Unreadable: a table is damaged.
        OSError: the file cannot be written.

    """
    frames = frames_in(tables, cluster)
    if "decisions" not in frames and "runs" not in frames:
        raise PipelineError(
            f"{tables}: no tables here; doorkeeper-pipeline run --tables {tables} makes them"
        )
    try:
        shown = {"decisions": contents.empty("decisions").lazy(), **frames}
        about = replace(about, cluster=about.cluster or cluster_of(frames))
        before = findings.Register({}) if register is None else findings.read(register)
        today = about.made.date()
        accepted = findings.accepted(before, today, cluster_of(frames))
        about = replace(about, left_out=about.left_out._replace(accepted=accepted))
        report = report_of(shown, about, before if register else None)
        replace_file(target, (part.encode() for part in html_parts(report)))
        if register is not None:
            rows = shown["findings"].collect().to_dicts() if "findings" in shown else []
            now = findings.update(before, rows, today, cluster_of(frames))
            replace_file(register, [findings.text_of(now).encode()])
        if data is not None:
            export(shown, data)
    except pl.exceptions.PolarsError as error:
        raise Unreadable(f"{tables}: {str(error).splitlines()[0]}") from error
    return report


def frames_in(tables: Path | str, cluster: str = "") -> Frames:
    """Return the tables of an output folder that a report shows, none of them read yet.

    Those that are by cluster have the rows of one; ``cluster`` is empty for the only one. Input
    files and quarantine are shown of all.
    """
    opened = Tables(tables)
    chosen = cluster_in(opened, cluster)
    frames = {}
    for name in SHOWN:
        parts = opened.parts(name)
        if name == "decisions":
            parts = [part for part in parts if chosen.has_file(part.path)]
        if parts:
            frames[name] = contents.scan(name, [opened.place_of(part) for part in parts])
            if TABLES[name].by_cluster or name == "runs":
                frames[name] = chosen.own(frames[name])
            if name == "runs":
                frames[name] = frames[name].filter(pl.col("command") == "run")
    if chosen.own(opened.read("bindings")).is_empty():
        frames = {name: frame for name, frame in frames.items() if name not in ABOUT_GRANTS}
    return frames


def cluster_of(frames: Frames) -> str:
    """Return the name of the cluster that the last run knew; empty without one."""
    return last_run(frames).get("cluster") or ""


def replace_file(target: Path, parts: Iterable[bytes]) -> None:
    """Write a file beside its place, then put it there.

    Half a set of ACLs reads as a smaller one: applied, it would take away the other half.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as file:  # /dev/stdout, a pipe
            file.writelines(parts)
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def report_of(frames: Frames, about: About, register: Register | None = None) -> Report:
    """Return the report on some tables; ``decisions`` must be there, all others may be missing.

    ``register`` has what people said of findings, if that is kept.

    Raises:
        KeyError: there is no table of decisions.

    """
    decisions = frames["decisions"]
    history = history_of(decisions)
    standing = standing_of(frames, about, register)
    return Report(
        about=about,
        first_day=None if history.first is None else history.first.date(),
        last_day=None if history.last is None else history.last.date(),
        basis=basis_of(frames, history, about.cluster),
        figures=figures_of(frames, standing),
        sections=(
            decide_of(standing, about),
            safe_of(frames, standing, about),
            changes_of(frames, standing, about),
            overview_of(decisions, history),
            refusals_of(frames, about),
            grants_of(frames, about),
            overbroad_of(frames, about),
            backtest_of(frames, history, about),
            quality_of(frames, about),
        ),
    )


def export(frames: Frames, folder: Path) -> list[str]:
    """Write each table as ``<name>.csv`` and ``<name>.jsonl`` into a folder; return the names.

    In CSV lists are texts with semicolons, and a text that a spreadsheet would take for a formula
    begins with an apostrophe: names come from outside.

    Raises:
        OSError: a file cannot be written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, lazy in sorted(frames.items()):
        frame = lazy.collect()
        lists = [column for column, kind in frame.schema.items() if isinstance(kind, pl.List)]
        flat = frame.with_columns(
            pl.col(column).list.eval(pl.element().cast(pl.String)).list.join("; ")
            for column in lists
        )
        texts = [column for column, kind in flat.schema.items() if kind == pl.String]
        safe = flat.with_columns(
            pl.when(pl.col(column).str.contains(FORMULA))
            .then(pl.lit("'") + pl.col(column))
            .otherwise(pl.col(column))
            .alias(column)
            for column in texts
        )
        safe.write_csv(folder / f"{name}.csv", datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        frame.write_ndjson(folder / f"{name}.jsonl")
    return sorted(frames)
