"""``doorkeeper-pipeline migrate``: tables of an earlier release get versions."""

from __future__ import annotations

from pathlib import Path

import click

from doorkeeper_pipeline.cli import options
from doorkeeper_pipeline.cli.failures import HELP, STATUSES, show


@click.command("migrate", epilog=STATUSES, context_settings=HELP)
@click.option(
    "--out",
    required=True,
    type=options.LocalPath(exists=True, file_okay=False, path_type=Path),
    help="The folder of the tables, made by run of an earlier release.",
)
def command(*, out: Path) -> None:
    """Convert the tables of an earlier release to the format Delta, in their folder.

    No rows are written anew, and no log is read. Killed at any moment, it can be started again.

    \b
    Examples:
      doorkeeper-pipeline migrate --out access
    """  # noqa: D301  \b is Click's mark of a paragraph that is not wrapped
    from doorkeeper_pipeline.tables.locking import lock  # noqa: PLC0415  Polars is heavy
    from doorkeeper_pipeline.tables.migration import migrate  # noqa: PLC0415  as above

    with lock(out):
        rows = migrate(out)
    show("\n".join([f"converted in {out}:", *(f"  {name:<18} {rows[name]:>12,}" for name in rows)]))
