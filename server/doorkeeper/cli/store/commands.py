"""``doorkeeper store``: create, accept, back up, restore, check and copy stores.

``create``, ``backup``, ``restore`` and ``accept`` work on the store of a configuration.
``check`` and ``copy`` take the address of any store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from msgspec import Struct

from doorkeeper.acls.model import AclBinding
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.addresses import address, complete_address
from doorkeeper.cli.interrupts import require_yes
from doorkeeper.cli.options import STATUSES, config_option, load_settings
from doorkeeper.cli.repositories.addresses import STORES, Address
from doorkeeper.cli.store import moves
from doorkeeper.cli.store.release import release
from doorkeeper.cli.stores import (
    STORE_ADDRESSES,
    Place,
    data_dir_option,
    place_of,
    settings_at,
    settings_of,
)
from doorkeeper.cli.terminal import fail, progress, say, show
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.app.stores import identity_file_of
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.state.storage.backup import backup as back_up
from doorkeeper.server.state.storage.backup import restore as put_back
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.reading import read_acls
from doorkeeper.server.state.store import StorageError

NS_PER_MS: Final = 1_000_000


class RestoredAcls(Struct, frozen=True):
    """The ACLs of a backup that the store lacks, and those of the store that the backup lacks."""

    back: tuple[AclBinding, ...]
    gone: tuple[AclBinding, ...]

    def __bool__(self) -> bool:
        """Say whether any ACL changes."""
        return bool(self.back or self.gone)


def lines_of(restored: RestoredAcls) -> list[str]:
    """Return a line for each ACL that a restore brings back or removes, and their numbers."""
    return [
        *(f"+ {row(binding)}" for binding in restored.back),
        *(f"- {row(binding)}" for binding in restored.gone),
        f"Restore: {len(restored.back)} ACLs come back, {len(restored.gone)} go.",
    ]


def _store_address(text: str) -> Address:
    """Return the address of a store; the type of options."""
    store = address(text)
    if store.is_store:
        return store
    raise click.BadParameter(f"found {text!r}; the address of a store is {STORES}")


def _store_option(
    name: str, dest: str, help_text: str, *, required: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        name,
        dest,
        metavar="ADDRESS",
        required=required,
        type=_store_address,
        shell_complete=complete_address,
        help=help_text,
    )


_any_store = _store_option(
    "--store", "store", "The address of the store.  [default: the store of --config]"
)


@click.group(
    cls=Group,
    name="store",
    epilog=f"""{STATUSES}
\b
Examples:
  doorkeeper store backup acls.backup --config server.properties
  doorkeeper store check --config server.properties
  doorkeeper store create --config server.properties
  doorkeeper store copy --from store:/var/lib/doorkeeper --to postgresql://owner@db1/acls
""",
)
def command() -> None:
    """Create, back up, restore, check and copy stores; choose Kafka's release."""


command.add_command(release)


@command.command(
    epilog="""
\b
The server may be running. The copy is one file, readable by its owner only.

\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store backup acls.backup
  doorkeeper store backup /backups/acls --config /etc/doorkeeper/server.properties
"""
)
@click.argument("target", type=click.Path(path_type=Path))
@config_option
@data_dir_option
@named_option("--overwrite", is_flag=True, default_text="refuse")
def backup(target: Path, file: Path | None, data_dir: Path | None, *, overwrite: bool) -> None:
    """Copy the store to the file TARGET."""
    # Of the embedded store, whatever the configuration names: a shared one is backed up with
    # PostgreSQL's tools (pg_dump).
    folder = settings_of(file, data_dir)[DATA_DIR]
    back_up(folder, target, overwrite=overwrite, progress=progress("backup"))
    click.echo(f"{target}: a backup of the store in {folder}")


@command.command(
    epilog="""
\b
The server must be stopped. The previous store is kept beside it. ACLs that were revoked or granted
since the backup are listed, and the command asks: the server applies those of the backup from its
next start on, also to the clusters of doorkeeper.clusters.file.

\b
Exit statuses: 0 done; 1 failed, or the answer was no, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store restore acls.backup --data-dir /var/lib/doorkeeper
  doorkeeper store restore /backups/acls --config /etc/doorkeeper/server.properties
"""
)
@click.argument("source", type=click.Path(path_type=Path))
@config_option
@data_dir_option
@named_option("--yes", is_flag=True)
def restore(source: Path, file: Path | None, data_dir: Path | None, *, yes: bool) -> None:
    """Replace the store by the backup SOURCE."""
    settings = settings_of(file, data_dir)
    restored = _difference(settings[DATA_DIR], source)
    if restored:
        show(lines_of(restored))
        if not yes:
            require_yes("Restore this backup?")
    aside = put_back(
        source,
        settings[DATA_DIR],
        now_ms=_now_ms,
        progress=progress("restore"),
        identity_file=identity_file_of(settings),
    )
    previous = "" if aside is None else f"; the previous one is {aside}"
    click.echo(f"{settings[DATA_DIR]}: the store is that of {source}{previous}")


@command.command(
    epilog="""
\b
The first start of a server creates its store too, unless doorkeeper.store.create=false. --new
creates a store with a new cluster id in the place of a lost one: the remains of an embedded
store are kept beside it; a shared database must be empty.

\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store create --config /etc/doorkeeper/server.properties
  doorkeeper store create --new --data-dir /var/lib/doorkeeper
"""
)
@config_option
@data_dir_option
@click.option(
    "--new",
    is_flag=True,
    help="Create a new cluster in the place of a lost store.  [default: refuse]",
)
def create(file: Path | None, data_dir: Path | None, *, new: bool) -> None:
    """Create an empty store."""
    settings = settings_of(file, data_dir)
    aside = asyncio.run(moves.create(settings, new=new, now_ms=_now_ms))
    previous = "" if aside is None else f"; the previous one is {aside}"
    click.echo(f"{_store_name(settings)}: an empty store{previous}")


@command.command(
    epilog="""
\b
A server refuses a store that is not the one in its identity file, or is behind what the server
acknowledged. This command writes the identity of the present store to the file: acknowledged
changes that the store lacks are lost. With a shared store, run it for each node.

\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store accept --config /etc/doorkeeper/server.properties
  doorkeeper store accept --data-dir /var/lib/doorkeeper
"""
)
@config_option
@data_dir_option
def accept(file: Path | None, data_dir: Path | None) -> None:
    """Accept a store that is not the one that the server knows, or an older one."""
    settings = settings_of(file, data_dir)
    accepted = asyncio.run(moves.accept(settings, now_ms=_now_ms))
    click.echo(f"{_store_name(settings)}: accepted: {accepted}")


@command.command(
    epilog=f"""
\b
Reads everything, as of one moment; servers may be running. In a sound store the change log has no
gap and leads to the rows of the tables, and each revision has the hash that it was written with.
{STORE_ADDRESSES}
\b
Exit statuses: 0 sound; 1 not sound, or not readable, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store check --config /etc/doorkeeper/server.properties
  doorkeeper store check --store postgresql://owner@db1/acls
"""
)
@config_option
@_any_store
def check(file: Path | None, store: Address | None) -> None:
    """Check that a store is sound."""
    location = _place(file, store)
    header, findings = asyncio.run(moves.check(location))
    if findings:
        fail(findings)
    rows = ", ".join(f"{name} {number}" for name, number in header.rows.items())
    click.echo(
        f"{location.display_name}: sound; cluster {header.cluster_id}, store {header.store_id},"
        f" revision {header.revision}"
    )
    click.echo(f"rows: {rows}")


@command.command(
    epilog=f"""
\b
All servers of both must be stopped. The cluster id, the change log and the revision are copied too.
The copy is read back and compared. In PostgreSQL the role must own the tables. The copy has a
store id of its own: a node that knows another store there refuses to start until
doorkeeper store accept is run.
{STORE_ADDRESSES}
\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store copy --from store:/var/lib/doorkeeper --to postgresql://owner@db1/acls
  doorkeeper store copy --from config:node1.properties --to store:data --overwrite
"""
)
@_store_option("--from", "source", "The store to read.", required=True)
@_store_option("--to", "target", "The store to write.", required=True)
@named_option("--overwrite", is_flag=True, default_text="refuse")
def copy(source: Address, target: Address, *, overwrite: bool) -> None:
    """Copy everything from one store to another."""
    places = place_of(settings_at(source)), place_of(settings_at(target))
    header, aside = asyncio.run(
        moves.copy(*places, overwrite=overwrite, now_ms=_now_ms(), progress=progress)
    )
    previous = "" if aside is None else f"; the previous one is {aside}"
    click.echo(
        f"{places[1].display_name}: {sum(header.rows.values())} rows of"
        f" {places[0].display_name}, revision {header.revision}; compared{previous}"
    )


def _difference(data_dir: Path, source: Path) -> RestoredAcls | None:
    """Return the ACLs that a restore changes; None if they cannot be compared.

    A store that cannot be read is the usual reason for a restore, and a backup that cannot be read
    is reported by the restore.
    """
    if not (data_dir / DATABASE_NAME).exists() or not source.exists():
        return None
    sides = []
    for path in (data_dir / DATABASE_NAME, source):
        try:
            sides.append(frozenset(row.binding for row in read_acls(path).bindings))
        except StorageError as error:
            say(f"warning: the ACLs that change are not known: {error}")
            return None
    present, restored = sides
    return RestoredAcls(tuple(sorted(restored - present)), tuple(sorted(present - restored)))


def _store_name(settings: Settings) -> str:
    return str(settings[DATA_DIR]) if settings.store is None else settings.store.display_name


def _place(file: Path | None, store: Address | None) -> Place:
    if store is not None and file is not None:
        raise click.UsageError("--store and --config both name a store: give one of them")
    return place_of(load_settings(file, ()) if store is None else settings_at(store))


def _now_ms() -> int:
    return time.time_ns() // NS_PER_MS
