"""``doorkeeper-pipeline report``: one HTML file for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper_pipeline.cli import options, starting
from doorkeeper_pipeline.cli.failures import (
    CONTRADICTED,
    HELP,
    STATUSES,
    inspects,
    printable,
    say,
    show,
)
from doorkeeper_pipeline.errors import PipelineError

if TYPE_CHECKING:
    from doorkeeper_pipeline.report.model import Report

ROWS_MAX = 20_000
"""Rows of a table that may be asked for: more make a page that browsers take minutes to read."""


@click.command("report", cls=Command, epilog=STATUSES, context_settings=HELP)
@click.option(
    "--out",
    required=True,
    type=options.TablesPlace(exists=True, file_okay=False, path_type=Path),
    help="The folder of the tables, as given to run.",
)
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The HTML file; one that is there is replaced.",
)
@options.cluster
@named_option("--title", default="", default_text="the cluster")
@click.option(
    "--rows",
    type=click.IntRange(1, ROWS_MAX),
    default=2_000,
    show_default=True,
    help="Rows of a table on the page. The tables themselves have all of them.",
)
@named_option("--findings", "register", type=click.Path(dir_okay=False, path_type=Path))
@options.last_excluded
@named_option("--data", type=click.Path(file_okay=False, path_type=Path))
@inspects
def command(
    *,
    out: Path | str,
    target: Path,
    cluster: str,
    title: str,
    rows: int,
    register: Path | None,
    excluded: tuple[str, ...],
    data: Path | None,
) -> None:
    """Write the report on the tables: one self-contained HTML file.

    The first page says what changed since the last run, what to decide, and what is safe to do.
    Then come causes of refusals, every grant with its verdict, the last proposal and backtest, and
    unreadable input. See docs/reference/report.md.

    \b
    Examples:
      doorkeeper-pipeline report --out access --to report.html
      doorkeeper-pipeline report --out access --to report.html --title payments-prod
      doorkeeper-pipeline report --out access --to report.html --findings findings.json --data csv
    """
    from doorkeeper_pipeline.jobs.left_out import LeftOut
    from doorkeeper_pipeline.jobs.options import last_options
    from doorkeeper_pipeline.report.model import About
    from doorkeeper_pipeline.report.writing import write

    if not target.parent.is_dir():
        raise PipelineError(f"{target}: there is no folder {target.parent}")
    about = About(
        cluster=title,
        made=starting.now(),
        version=starting.version(),
        rows_max=rows,
        left_out=LeftOut(excluded or last_options(out, cluster).excluded),
    )
    report = write(out, target, about, cluster=cluster, register=register, data=data)
    show(as_text(report, target))
    if report.first_day is None:
        say(f"{out}: no decisions here: the report has no ground for any of its numbers")
        raise SystemExit(CONTRADICTED)


def as_text(report: Report, target: Path) -> str:
    """Return the figures of a report, and where it is."""
    lines = [
        f"{figure.exact or figure.number:>15}  {figure.what}, {figure.remark}"
        for figure in report.figures
    ]
    size = target.stat().st_size
    return "\n".join([*lines, f"{printable(str(target))}: {size / 1e6:.1f} MB"])
