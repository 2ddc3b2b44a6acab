"""``doorkeeper-pipeline maintain``: old days, forgotten names and unused files go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper_pipeline.cli import options, starting
from doorkeeper_pipeline.cli.engine import ChosenEngine, engine_options
from doorkeeper_pipeline.cli.failures import HELP, STATUSES, printable, show
from doorkeeper_pipeline.cli.json_records import show_record
from doorkeeper_pipeline.jobs.request import Maintained
from doorkeeper_pipeline.tables.places import is_address

if TYPE_CHECKING:
    from collections.abc import Mapping

VACUUM_HOURS = 168
VACUUM_HOURS_MIN = 24
"""In an object store no lock keeps a run from writing files that no version has yet."""


def _names(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    from doorkeeper_pipeline.jobs.maintain import is_name

    for value in map(options.utf8, values):
        if not is_name(value):
            raise click.BadParameter(
                f"found {value!r}; expected: a principal such as User:alice, or an address such"
                " as 10.0.0.7"
            )
    return tuple(dict.fromkeys(values))


@click.command("maintain", cls=Command, epilog=STATUSES, context_settings=HELP)
@options.out
@named_option(
    "--keep", "keep_days", type=click.IntRange(1, options.DAYS_MAX), default_text="keep all"
)
@named_option("--forget", multiple=True, callback=_names)
@named_option(
    "--vacuum-hours",
    type=click.IntRange(0, 24 * options.DAYS_MAX),
    default=VACUUM_HOURS,
    show_default=True,
)
@engine_options
@json_output(Maintained)
def command(
    *,
    out: Path | str,
    keep_days: int | None,
    forget: tuple[str, ...],
    vacuum_hours: int,
    chosen: ChosenEngine,
    output: str,
) -> None:
    """Remove old days and the names of --forget, merge small files, and delete unused files.

    Run it daily. It waits for a concurrent run; the next run rebuilds the summaries. Removed rows
    remain in the files of older versions until these are deleted. After --forget the evidence about
    grants begins anew, because uses that are gone are no longer known.

    \b
    Examples:
      doorkeeper-pipeline maintain --tables access --keep 400
      doorkeeper-pipeline maintain --tables access --forget User:alice --vacuum-hours 0
    """
    from doorkeeper_pipeline.jobs.maintain import MaintainRequest, maintain

    if is_address(out) and vacuum_hours < VACUUM_HOURS_MIN:
        raise click.UsageError(
            f"--vacuum-hours: found {vacuum_hours}; allowed in an object store:"
            f" {VACUUM_HOURS_MIN} or more, because runs there are not locked"
        )
    with chosen.started() as (shown, engine):
        done = maintain(
            MaintainRequest(out=out, keep_days=keep_days, forget=forget, vacuum_hours=vacuum_hours),
            starting.surroundings(engine, shown.tell),
        )
    if output == "json":
        show_record(vars(done))
    else:
        show(as_text(done, vacuum_hours))


def as_text(done: Maintained, vacuum_hours: int) -> str:
    lines = []
    if done.before is not None:
        lines.append(f"before {done.before}: {_rows(done.expired)} removed")
    for name, counts in done.forgotten.items():
        lines.append(f"{printable(name)}: {_rows(counts)} removed")
    lines += [
        f"warning: ACLs name {printable(name)}; it reappears with their next listing"
        for name in done.listed
    ]
    if done.merged_files:
        lines.append(
            f"{done.merged_files:,} small files of lines merged into {done.written_files:,}"
        )
    lines.append(f"{done.deleted_files:,} unused files deleted")
    if done.waiting_files:
        lines.append(
            f"{done.waiting_files:,} files of earlier versions still contain the removed rows;"
            f" maintain deletes them {vacuum_hours} hours after they were replaced (--vacuum-hours)"
        )
    if any(done.expired.values()) or done.forgotten:
        lines.append("the next run rebuilds the summaries")
    if done.forgotten:
        lines.append("the logs are unchanged: reading a log again restores its rows")
    return "\n".join(lines)


def _rows(counts: Mapping[str, int]) -> str:
    texts = [f"{table} {count:,}" for table, count in counts.items() if count]
    return f"{sum(counts.values()):,} rows ({', '.join(texts)})" if texts else "no rows"
