"""``doorkeeper store``: ``backup`` and ``restore`` of the embedded store, and ``store_moves``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper.cli import store_moves
from doorkeeper.cli.failures import fail
from doorkeeper.cli.options import config_option, load_or_fail
from doorkeeper.cli.progress import progress
from doorkeeper.storage.backup import backup as back_up
from doorkeeper.storage.backup import restore as put_back
from doorkeeper.storage.contract import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

NS_PER_MS = 1_000_000

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
  doorkeeper store copy --from /var/lib/doorkeeper --to postgresql://owner@db1/acls
""",
)
def command() -> None:
    """Back up, restore, migrate, check and copy stores."""


for each in (store_moves.migrate, store_moves.check, store_moves.copy):
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
    folder = _folder(file, data_dir)
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
    folder = _folder(file, data_dir)
    aside = _or_fail(
        lambda: put_back(
            source,
            folder,
            now_ms=lambda: time.time_ns() // NS_PER_MS,
            progress=progress("restore"),
        )
    )
    kept = "" if aside is None else f"; the previous one is {aside}"
    click.echo(f"{folder}: the store is that of {source}{kept}")


def _folder(file: Path | None, data_dir: Path | None) -> Path:
    return data_dir if data_dir is not None else load_or_fail(file, ()).settings.data_dir


def _or_fail(work: Callable[[], Path | None]) -> Path | None:
    try:
        return work()
    except StorageError as error:
        fail([error])
