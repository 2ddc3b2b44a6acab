"""``doorkeeper store``: create, accept, back up, restore, check and copy stores.

Each takes the address of a store. ``backup`` and ``restore`` are for embedded ones.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
from msgspec import Struct

from doorkeeper.acls.formats.records import records
from doorkeeper.acls.model import AclBinding
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.interrupts import require_no_question, require_yes
from doorkeeper.cli.json_records.stores import (
    AcceptedStore,
    Backup,
    CreatedStore,
    Restore,
    StoreCheck,
    StoreCopy,
)
from doorkeeper.cli.options import CHANGE_STATUSES, PATH, STATUSES
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.store import moves
from doorkeeper.cli.store.release import release
from doorkeeper.cli.stores import STORE_ADDRESSES, settings_at, store_argument
from doorkeeper.cli.terminal import fail, printable, say, show, show_result
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper.server.app.stores import identity_file_of, location_of
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.state.history.revisions import RowChange
from doorkeeper.server.state.storage.backup import backup as back_up
from doorkeeper.server.state.storage.backup import restore as put_back
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.reading import read_acls, read_items
from doorkeeper.server.state.store import StorageError


class RestoredRows(Struct, frozen=True):
    """The ACLs of a backup that the store lacks, and those of the store that the backup lacks.

    ``others`` has a line for each changed user, token, quota, topic or setting.
    """

    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    others: tuple[str, ...]

    def __bool__(self) -> bool:
        """Say whether anything changes."""
        return bool(self.added or self.removed or self.others)


def lines_of(restored: RestoredRows) -> list[str]:
    """Return a line for each row that a restore brings back or removes, and their numbers."""
    others = f"; other changes: {len(restored.others)}" if restored.others else ""
    return [
        *(f"+ {row(binding)}" for binding in restored.added),
        *(f"- {row(binding)}" for binding in restored.removed),
        *map(printable, restored.others),
        f"The restore adds {len(restored.added)} ACLs and removes {len(restored.removed)}{others}.",
    ]


@click.group(
    cls=Group,
    name="store",
    epilog=f"""{STATUSES}
\b
Examples:
  doorkeeper store backup config:server.properties acls.backup
  doorkeeper store check config:server.properties
  doorkeeper store create config:server.properties
  doorkeeper store copy store:/var/lib/doorkeeper postgresql://owner@db1/acls
""",
)
def command() -> None:
    """Create, back up, restore, check and copy stores; choose Kafka's release."""


command.add_command(release)


@command.command(
    epilog=f"""
\b
The server may be running. The copy is one file, readable by its owner only.
{STATUSES}
\b
Examples:
  doorkeeper store backup store:data acls.backup
  doorkeeper store backup config:/etc/doorkeeper/server.properties /backups/acls
"""
)
@store_argument()
@click.argument("target", metavar="FILE", type=PATH)
@named_option("--overwrite", text="Replace FILE if it exists.", is_flag=True, default_text="refuse")
@json_output(Backup)
def backup(store: Address, target: Path, output: str, *, overwrite: bool) -> None:
    """Copy the store to FILE."""
    folder = _embedded(settings_at(store), "pg_dump backs it up")
    with progress("backup") as shown:
        back_up(folder, target, overwrite=overwrite, progress=shown.count)
    record = Backup(backup=str(target), store=str(folder))
    show_result(output, record, [f"{target}: backup of the store in {folder}"])


@command.command(
    epilog=f"""
\b
The server must be stopped. The previous store is kept next to the new one. ACLs, users and other
rows that were changed since the backup are listed, and the command asks for confirmation: from its
next start, the server accepts the passwords of the backup, and applies its ACLs, also to the
clusters of doorkeeper.clusters.file.
{CHANGE_STATUSES}
\b
Examples:
  doorkeeper store restore store:/var/lib/doorkeeper acls.backup
  doorkeeper store restore config:/etc/doorkeeper/server.properties /backups/acls
"""
)
@store_argument()
@click.argument("source", metavar="FILE", type=PATH)
@named_option("--yes", is_flag=True)
@json_output(Restore)
def restore(store: Address, source: Path, output: str, *, yes: bool) -> None:
    """Replace the store with the backup FILE."""
    settings = settings_at(store)
    require_no_question(output, asks=not yes)
    database = _embedded(settings, "pg_restore restores it") / DATABASE_NAME
    replaces = database.exists() and source.exists()
    restored = _difference(database, source) if replaces else None
    if restored and output != "json":
        show(lines_of(restored))
    # What a store that cannot be read loses is not known.
    if replaces and not yes and (restored is None or restored):
        require_yes("Restore this backup?")
    with progress("restore") as shown:
        aside = put_back(
            source,
            settings[DATA_DIR],
            now_ms=utc_ms,
            progress=shown.count,
            identity_file=identity_file_of(settings),
        )
    record = Restore(
        store=str(settings[DATA_DIR]),
        backup=str(source),
        previous=_text_of(aside),
        comesBack=None if restored is None else list(records(restored.added)),
        goes=None if restored is None else list(records(restored.removed)),
        others=None if restored is None else list(restored.others),
    )
    text = f"{settings[DATA_DIR]}: restored from {source}{_previous(aside)}"
    show_result(output, record, [text])


@command.command(
    epilog=f"""
\b
The first start of a server creates its store too, unless doorkeeper.store.create=false.
--overwrite replaces a lost store with a new one with a new cluster id. The files of an embedded
store are kept next to it; a shared database must be empty.
{STATUSES}
\b
Examples:
  doorkeeper store create config:/etc/doorkeeper/server.properties
  doorkeeper store create store:/var/lib/doorkeeper --overwrite
"""
)
@store_argument()
@named_option("--overwrite", text="Replace an existing store.", is_flag=True, default_text="refuse")
@json_output(CreatedStore)
def create(store: Address, output: str, *, overwrite: bool) -> None:
    """Create an empty store."""
    settings = settings_at(store)
    aside = asyncio.run(moves.create(settings, new=overwrite, now_ms=utc_ms))
    name = location_of(settings).display_name
    record = CreatedStore(store=name, previous=_text_of(aside))
    show_result(output, record, [f"{name}: created an empty store{_previous(aside)}"])


@command.command(
    epilog=f"""
\b
A server rejects a store that is not the one in its identity file, or that lacks changes the server
has acknowledged. This command writes the identity of the present store to the file; the missing
changes are lost. With a shared store, run it for each node.
{STATUSES}
\b
Examples:
  doorkeeper store accept config:/etc/doorkeeper/server.properties
  doorkeeper store accept store:/var/lib/doorkeeper
"""
)
@store_argument()
@json_output(AcceptedStore)
def accept(store: Address, output: str) -> None:
    """Accept a store that is not the one that the server knows, or an older one."""
    settings = settings_at(store)
    name = location_of(settings).display_name
    accepted = asyncio.run(moves.accept(settings))
    record = AcceptedStore(
        store=name,
        clusterId=accepted.cluster_id,
        storeId=accepted.store_id,
        revision=accepted.revision,
    )
    show_result(output, record, [f"{name}: accepted: {accepted}"])


@command.command(
    epilog=f"""
\b
Reads the whole store in one snapshot; servers may be running. In a sound store, the change log has
no gaps and produces exactly the rows of the tables, and each revision has its recorded hash.
{STORE_ADDRESSES}
\b
Exit statuses: 0 sound; 1 not sound, or not readable, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper store check config:/etc/doorkeeper/server.properties
  doorkeeper store check postgresql://owner@db1/acls
"""
)
@store_argument()
@json_output(StoreCheck)
def check(store: Address, output: str) -> None:
    """Check that a store is sound."""
    location = location_of(settings_at(store))
    with progress(f"checking {location.display_name}"):
        header, findings = asyncio.run(moves.check(location))
    record = StoreCheck(
        store=location.display_name,
        clusterId=header.cluster_id,
        storeId=header.store_id,
        revision=header.revision,
        rows=dict(header.rows),
        problems=list(map(str, findings)),
    )
    rows = ", ".join(f"{name} {number}" for name, number in header.rows.items())
    sound = (
        f"{location.display_name}: sound; cluster {header.cluster_id}, store {header.store_id},"
        f" revision {header.revision}"
    )
    show_result(output, record, [] if findings else [sound, f"rows: {rows}"])
    if findings:
        fail(findings)


@command.command(
    epilog=f"""
\b
All servers of both stores must be stopped. The cluster id, the change log and the revision are
copied too. The copy is read back and compared. In PostgreSQL the role must own the tables. The
copy has a store id of its own: a node that knows another store there refuses to start until
doorkeeper store accept is run.
{STORE_ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper store copy store:/var/lib/doorkeeper postgresql://owner@db1/acls
  doorkeeper store copy config:node1.properties store:data --overwrite
"""
)
@store_argument("source", "SOURCE")
@store_argument("target", "TARGET")
@named_option("--overwrite", text="Replace an existing store.", is_flag=True, default_text="refuse")
@json_output(StoreCopy)
def copy(source: Address, target: Address, output: str, *, overwrite: bool) -> None:
    """Copy everything from the store SOURCE to the store TARGET, which are addresses."""
    locations = location_of(settings_at(source)), location_of(settings_at(target))
    with progress("copy") as shown:
        header, aside = asyncio.run(
            moves.copy(*locations, overwrite=overwrite, now_ms=utc_ms(), progress=shown.counter)
        )
    record = StoreCopy(
        source=locations[0].display_name,
        target=locations[1].display_name,
        revision=header.revision,
        rows=dict(header.rows),
        previous=_text_of(aside),
    )
    text = (
        f"{locations[1].display_name}: copied and verified {sum(header.rows.values())} rows of"
        f" {locations[0].display_name}, revision {header.revision}{_previous(aside)}"
    )
    show_result(output, record, [text])


def _previous(aside: Path | str | None) -> str:
    return "" if aside is None else f"; the previous store is in {aside}"


def _text_of(aside: Path | str | None) -> str | None:
    return None if aside is None else str(aside)


def _embedded(settings: Settings, instead: str) -> Path:
    """Return the data folder of an embedded store; a shared one ends the process."""
    if settings.store is not None:
        fail([f"{settings.store.display_name}: found a shared store; {instead}"])
    return settings[DATA_DIR]


def _difference(database: Path, source: Path) -> RestoredRows | None:
    """Return the rows that a restore changes; None if they cannot be compared.

    A store that cannot be read is the usual reason for a restore, and a backup that cannot be read
    is reported by the restore.
    """
    try:
        stored, backed_up = read_acls(database), read_acls(source)
        now, then = read_items(database), read_items(source)
    except StorageError as error:
        say(f"warning: cannot determine what changes: {error}")
        return None
    present, restored = (
        frozenset(row.binding for row in rows.bindings) for rows in (stored, backed_up)
    )
    ids = stored.cluster_id, backed_up.cluster_id
    others = [
        *([] if ids[0] == ids[1] else [f"- cluster id {ids[0]}", f"+ cluster id {ids[1]}"]),
        *(
            RowChange(*key, then[key][0], deleted=False).text()
            for key in sorted(then)
            if then[key] != now.get(key)
        ),
        *(RowChange(*key, now[key][0], deleted=True).text() for key in sorted(now.keys() - then)),
    ]
    return RestoredRows(
        tuple(sorted(restored - present)), tuple(sorted(present - restored)), tuple(others)
    )
