"""``doorkeeper-pipeline report``: one HTML file for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper_pipeline.cli import json_records, options, starting
from doorkeeper_pipeline.cli.failures import (
    CONTRADICTED,
    HELP,
    STATUSES,
    printable,
    say,
    show,
)
from doorkeeper_pipeline.cli.json_records import show_record

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from doorkeeper_pipeline.report.model import Report

ROWS_MAX = 20_000
"""Rows of a table that may be asked for: more make a page that browsers take minutes to read."""


@click.command("report", cls=Command, epilog=STATUSES, context_settings=HELP)
@options.out
@named_option("--out", "target", type=click.Path(dir_okay=False, path_type=Path))
@named_option("--ocsf", "events", type=click.Path(dir_okay=False, path_type=Path))
@named_option(
    "--since",
    text="Only events since this time, such as 2026-11-26T14:30Z; requires --ocsf.",
    type=options.moment,
    default_text="all",
)
@options.cluster
@named_option("--title", default="", default_text="the cluster")
@named_option("--limit", "rows", type=click.IntRange(1, ROWS_MAX), default=2_000, show_default=True)
@named_option(
    "--findings",
    "register",
    text="Write the findings to this JSON file, and keep those that it marks as accepted"
    " (accepted_until today or later).",
    type=click.Path(dir_okay=False, path_type=Path),
)
@named_option("--data", type=click.Path(file_okay=False, path_type=Path))
@json_output(json_records.Report)
def command(
    *,
    out: Path | str,
    target: Path | None,
    events: Path | None,
    since: dt.datetime | None,
    cluster: str,
    title: str,
    rows: int,
    register: Path | None,
    data: Path | None,
    output: str,
) -> None:
    """Write a report on the tables as one self-contained HTML file, or events for a SIEM (--ocsf).

    The first page says what changed since the last run, what to decide, and what is safe to do.
    Then come causes of refusals, every grant with its verdict, the last proposal and backtest, and
    unreadable input. See docs/reference/pipeline-reference.md.

    \b
    Examples:
      doorkeeper-pipeline report --tables access --out report.html
      doorkeeper-pipeline report --tables access --out report.html --title payments-prod
      doorkeeper-pipeline report --tables access --out report.html --findings f.json --data csv
      doorkeeper-pipeline report --tables access --ocsf events.jsonl --since 2026-11-28
    """
    if target is None and events is None:
        raise click.UsageError("found neither --out nor --ocsf; expected: one or both")
    if since is not None and events is None:
        raise click.UsageError("--since requires --ocsf")
    options.check_targets(target, events)
    written = None if events is None else _write_events(out, events, cluster, since)
    if written is not None and output == "text":
        counts = f"{written['decisions']:,} decisions (6003), {written['changes']:,} changes (3005)"
        show(f"{printable(written['file'])}: {counts}")
    if target is None:
        if output == "json":
            show_record({"report": None, "figures": [], "events": written})
        return
    from doorkeeper_pipeline.jobs.causes import LeftOut
    from doorkeeper_pipeline.jobs.request import last_options
    from doorkeeper_pipeline.report.model import About
    from doorkeeper_pipeline.report.writing import write

    about = About(
        cluster=title,
        made=starting.now(),
        version=starting.version(),
        rows_max=rows,
        left_out=LeftOut(last_options(out, cluster).excluded),
    )
    with progress(f"writing {target}"):
        report = write(out, target, about, cluster=cluster, register=register, data=data)
    if output == "json":
        figures = [
            {"what": figure.what, "number": figure.exact or figure.number, "remark": figure.remark}
            for figure in report.figures
        ]
        show_record({"report": str(target), "figures": figures, "events": written})
    else:
        show(as_text(report, target))
    if report.first_day is None:
        say(f"{out}: found no decisions; nothing to report")
        raise SystemExit(CONTRADICTED)


def _write_events(
    out: Path | str, target: Path, cluster: str, since: dt.datetime | None
) -> json_records.Events:
    from doorkeeper_pipeline.report import ocsf
    from doorkeeper_pipeline.report.writing import replace_file

    counts = dict.fromkeys((ocsf.API_ACTIVITY, ocsf.USER_ACCESS), 0)

    def counted() -> Iterator[ocsf.Event]:
        for event in ocsf.events_of(out, starting.version(), cluster=cluster, since=since):
            counts[event["class_uid"]] += 1
            yield event

    replace_file(target, ocsf.lines_of(counted()))
    decisions, changes = counts.values()
    return {"file": str(target), "decisions": decisions, "changes": changes}


def as_text(report: Report, target: Path) -> str:
    """Return the figures of a report, and where it is."""
    lines = [
        f"{figure.exact or figure.number:>15}  {figure.what}, {figure.remark}"
        for figure in report.figures
    ]
    size = target.stat().st_size
    return "\n".join([*lines, f"{printable(str(target))}: {size / 1e6:.1f} MB"])
