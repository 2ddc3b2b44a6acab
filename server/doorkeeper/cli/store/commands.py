"""``doorkeeper store``: ``create``, ``accept``, ``backup``, ``restore``, and those of others."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from doorkeeper.app.stores import identity_file_of
from doorkeeper.cli.options import config_option, load_or_fail
from doorkeeper.cli.store import moves as store_moves
from doorkeeper.cli.store.release import release
from doorkeeper.cli.terminal import fail, progress
from doorkeeper.offline.store_moves import accept as accept_store
from doorkeeper.offline.store_moves import create as create_store
from doorkeeper.state.store import StorageError
from doorkeeper.storage.backup import backup as back_up
from doorkeeper.storage.backup import restore as put_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.config.settings import Settings

NS_PER_MS = 1_000_000

Done = TypeVar("Done")

_data_dir_option = click.option(
    "--data-dir",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="The folder of the store; else doorkeeper.data.dir of --config, else ./data.",
)


@click.group(
    name="store",
    epilog="""
\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper store backup acls.backup --config server.properties
  doorkeeper store check --config server.properties
  doorkeeper store create --config server.properties
  doorkeeper store copy --from /var/lib/doorkeeper --to postgresql://owner@db1/acls
""",
)
def command() -> None:
    """Create, back up, restore, migrate, check and copy stores; choose Kafka's release."""


for each in (store_moves.migrate, store_moves.check, store_moves.copy, release):
    command.add_command(each)


@command.command(
    epilog="""
\b
The server may be running. The copy is one file, readable by its owner only.

\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store backup acls.backup
  doorkeeper store backup /backups/acls --config /etc/doorkeeper/server.properties
"""
)
@click.argument("target", type=click.Path(path_type=Path))
@config_option
@_data_dir_option
@click.option("--overwrite", is_flag=True, help="Replace TARGET where it exists.")
def backup(target: Path, file: Path | None, data_dir: Path | None, *, overwrite: bool) -> None:
    """Copy the store to the file TARGET."""
    folder = _settings(file, data_dir).data_dir
    _or_fail(lambda: back_up(folder, target, overwrite=overwrite, progress=progress("backup")))
    click.echo(f"{target}: a backup of the store in {folder}")


@command.command(
    epilog="""
\b
The server must be stopped. What was in the folder is kept beside it.

\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store restore acls.backup --data-dir /var/lib/doorkeeper
  doorkeeper store restore /backups/acls --config /etc/doorkeeper/server.properties
"""
)
@click.argument("source", type=click.Path(path_type=Path))
@config_option
@_data_dir_option
def restore(source: Path, file: Path | None, data_dir: Path | None) -> None:
    """Put the backup SOURCE in the place of the store."""
    settings = _settings(file, data_dir)
    aside = _or_fail(
        lambda: put_back(
            source,
            settings.data_dir,
            now_ms=_now_ms,
            progress=progress("restore"),
            identity_file=identity_file_of(settings),
        )
    )
    kept = "" if aside is None else f"; the previous one is {aside}"
    click.echo(f"{settings.data_dir}: the store is that of {source}{kept}")


@command.command(
    epilog="""
\b
The first start of a server creates its store too, unless doorkeeper.store.create=false. --new
begins an empty cluster in the place of a store that was lost: what is left of an embedded one is
kept beside it; a shared database must be empty.

\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store create --config /etc/doorkeeper/server.properties
  doorkeeper store create --new --data-dir /var/lib/doorkeeper
"""
)
@config_option
@_data_dir_option
@click.option("--new", is_flag=True, help="Begin an empty cluster, whatever was there before.")
def create(file: Path | None, data_dir: Path | None, *, new: bool) -> None:
    """Create an empty store."""
    settings = _settings(file, data_dir)
    aside = _or_fail(lambda: asyncio.run(create_store(settings, new=new, now_ms=_now_ms)))
    kept = "" if aside is None else f"; the previous one is {aside}"
    click.echo(f"{_shown(settings)}: an empty store{kept}")


@command.command(
    epilog="""
\b
A server refuses a store that is not the one in its identity file, or is behind what the server
acknowledged. This makes the identity file that of the store as it is now: changes that are not in
it are given up. Of a shared store it is to be done for each node.

\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store accept --config /etc/doorkeeper/server.properties
  doorkeeper store accept --data-dir /var/lib/doorkeeper
"""
)
@config_option
@_data_dir_option
def accept(file: Path | None, data_dir: Path | None) -> None:
    """Use the store as it is, though it is not the one that the server knew."""
    settings = _settings(file, data_dir)
    pin = _or_fail(lambda: asyncio.run(accept_store(settings, now_ms=_now_ms)))
    click.echo(f"{_shown(settings)}: accepted: {pin}")


def _settings(file: Path | None, data_dir: Path | None) -> Settings:
    """Return the configuration; a data folder counts instead of what that says of the store."""
    if data_dir is None:
        return load_or_fail(file, ()).settings
    places = (f"doorkeeper.data.dir={data_dir}", "doorkeeper.store=embedded")
    return load_or_fail(None, places).settings


def _shown(settings: Settings) -> str:
    return str(settings.data_dir) if settings.store is None else settings.store.display_name


def _now_ms() -> int:
    return time.time_ns() // NS_PER_MS


def _or_fail(work: Callable[[], Done]) -> Done:
    try:
        return work()
    except StorageError as error:
        fail([error])
