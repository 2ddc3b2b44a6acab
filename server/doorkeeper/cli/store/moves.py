"""``doorkeeper store migrate``, ``check`` and ``copy``: for either store."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from doorkeeper.cli.completion import files
from doorkeeper.cli.options import config_option, load_or_fail
from doorkeeper.cli.terminal import FAILED, fail, progress
from doorkeeper.config.errors import ConfigError
from doorkeeper.offline import store_moves
from doorkeeper.offline.stores import Place, place_named, place_of
from doorkeeper.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

Done = TypeVar("Done")

NS_PER_MS = 1_000_000

_store_option = click.option(
    "--store",
    metavar="STORE",
    shell_complete=files,
    help="A data folder, a postgresql:// URL, or a server.properties; else that of --config.",
)


def _now_ms() -> int:
    return time.time_ns() // NS_PER_MS


@click.command(
    epilog="""
\b
A shared store may have nodes of the version before: they go on. When all nodes are of this version,
--finish removes what only the older ones need. The embedded store is migrated by the server's start
too; a copy of the older one stays beside it.

\b
Exit statuses: 0 done, or nothing to do; 1 it cannot be done, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store migrate --config /etc/doorkeeper/server.properties --dry-run
  doorkeeper store migrate --store postgresql://owner@db1/acls
"""
)
@config_option
@_store_option
@click.option("--dry-run", is_flag=True, help="Print the SQL and change nothing.")
@click.option("--finish", is_flag=True, help="Remove what nodes of the version before need.")
def migrate(file: Path | None, store: str | None, *, dry_run: bool, finish: bool) -> None:
    """Make the tables of a store, or bring them up to date."""
    if dry_run and finish:
        raise click.UsageError("--finish has no --dry-run")
    place = _place(file, store)
    if finish:
        done_now = _run(lambda: store_moves.finish(place))
        what = "removed" if done_now else "nothing to do"
        click.echo(f"{place.display_name}: what the version before needs: {what}")
        return
    done = _run(lambda: store_moves.migrate(place, now_ms=_now_ms, dry_run=dry_run))
    if done.before == done.after:
        click.echo(f"{place.display_name}: schema version {done.after}: nothing to do")
        return
    if dry_run:
        click.echo(done.statements, nl=False)
    what = "would be made" if dry_run else "made"
    if done.before:
        what = (
            f"would be migrated from {done.before}" if dry_run else f"migrated from {done.before}"
        )
    click.echo(f"{place.display_name}: schema version {done.after}: {what}", err=dry_run)


@click.command(
    epilog="""
\b
Reads everything, as of one moment; servers may be running. The log must have no gap, and the
tables must be what the log says.

\b
Exit statuses: 0 sound; 1 not sound or not readable, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store check --config /etc/doorkeeper/server.properties
  doorkeeper store check --store postgresql://owner@db1/acls
"""
)
@config_option
@_store_option
def check(file: Path | None, store: str | None) -> None:
    """Check that a store is sound."""
    place = _place(file, store)
    header, findings = _run(lambda: store_moves.check(place))
    if findings:
        fail(findings, FAILED)
    rows = ", ".join(f"{name} {number}" for name, number in header.rows.items())
    click.echo(
        f"{place.display_name}: sound; cluster {header.cluster_id}, revision {header.revision}"
    )
    click.echo(f"rows: {rows}")


@click.command(
    epilog="""
\b
STORE is a data folder, a postgresql:// URL, or a server.properties. All servers of both must be
stopped. The cluster id, the log of changes and the revision come along. What was copied is read
back and compared. In PostgreSQL the role must own the tables.

\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store copy --from /var/lib/doorkeeper --to postgresql://owner@db1/acls
  doorkeeper store copy --from node1.properties --to ./data --overwrite
"""
)
@click.option(
    "--from",
    "source",
    metavar="STORE",
    required=True,
    shell_complete=files,
    help="Where to read.",
)
@click.option(
    "--to", "target", metavar="STORE", required=True, shell_complete=files, help="Where to write."
)
@click.option("--overwrite", is_flag=True, help="Replace a target with something in it.")
def copy(source: str, target: str, *, overwrite: bool) -> None:
    """Copy everything from one store to another."""
    places = _named(source), _named(target)
    header, aside = _run(
        lambda: store_moves.copy(*places, overwrite=overwrite, now_ms=_now_ms(), progress=progress)
    )
    kept = "" if aside is None else f"; the previous one is {aside}"
    click.echo(
        f"{places[1].display_name}: {sum(header.rows.values())} rows of {places[0].display_name},"
        f" revision {header.revision}; compared{kept}"
    )


def _place(file: Path | None, store: str | None) -> Place:
    if store is not None and file is not None:
        raise click.UsageError("--store and --config both name a store: give one of them")
    return place_of(load_or_fail(file, ()).settings) if store is None else _named(store)


def _named(text: str) -> Place:
    try:
        return place_named(text)
    except ConfigError as error:
        fail(error.problems)


def _run(work: Callable[[], Coroutine[Any, Any, Done]]) -> Done:
    try:
        return asyncio.run(work())
    except StorageError as error:
        fail([error])
