"""``doorkeeper history``: list the changes of a store, show one, verify all.

Nothing is changed, and servers may be running: the store is read beside them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from msgspec.structs import asdict

from doorkeeper.cli.acls.addresses import moment
from doorkeeper.cli.addresses import AddressType
from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.json_records.stores import Revision as RevisionRecord
from doorkeeper.cli.json_records.stores import RevisionPage as RevisionPageRecord
from doorkeeper.cli.json_records.stores import Verification as VerificationRecord
from doorkeeper.cli.options import PATH, STATUSES, principal
from doorkeeper.cli.repositories.addresses import STORES, Address
from doorkeeper.cli.stores import STORE_ADDRESSES, open_history
from doorkeeper.cli.terminal import fail, paint, printable, say, show, show_json, show_result
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper.server.schema.declared import KINDS
from doorkeeper.server.state.history.moments import Moment, time_text
from doorkeeper.server.state.history.reading import revision_at
from doorkeeper.server.state.history.revisions import (
    Revision,
    RevisionFilter,
    RevisionPage,
    read_page,
    read_revisions,
)
from doorkeeper.server.state.history.verification import RecordedHash, Verification, recorded_hashes
from doorkeeper.server.state.history.verification import verify as verify_chain
from doorkeeper.server.state.storage.portable import Portable

Result = TypeVar("Result")

LIMIT: Final = 100
REVISION_MAX: Final = (1 << 63) - 1
"""What a store can number."""

ADDRESSES: Final = f"""{STORE_ADDRESSES.rstrip()}
  backup:acls.backup         a backup of an embedded store
"""


HISTORY_ADDRESS: Final = AddressType(
    lambda store: store.has_history, f"expected: {STORES}, or backup:FILE"
)
history_argument = click.argument("store", metavar="ADDRESS", type=HISTORY_ADDRESS)


def read_history(
    store: Address,
    work: Callable[[Portable], Awaitable[Result]],
    overrides: Sequence[str] = (),
) -> Result:

    async def read() -> Result:
        async with open_history(store, overrides) as portable:
            return await work(portable)

    with progress(f"reading {store}"):
        return asyncio.run(read())


@click.group(
    cls=Group,
    name="history",
    epilog=f"""{ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper history list config:server.properties
  doorkeeper history show config:server.properties 1042
  doorkeeper history verify config:server.properties
""",
)
def command() -> None:
    """List and show the changes of a store, and verify their integrity."""


@command.command(
    name="list",
    epilog=f"""
A line has the revision, its time, the author, the address and the software of the client, the
correlation id, which is also in the audit log, and what was changed. A MOMENT may be a revision
too: --since 1042 begins with the change after it, --until 1042 ends with it.
{ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper history list config:server.properties
  doorkeeper history list store:data --since '2 days ago' --resource orders
  doorkeeper history list backup:acls.backup --principal User:alice --output json
""",
)
@history_argument
@named_option("--since", type=moment)
@named_option("--until", type=moment)
@named_option("--principal", "principals", multiple=True, type=principal)
@named_option("--resource", "resources", multiple=True)
@named_option("--author", "authors", multiple=True, type=principal)
@named_option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)))
@named_option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True)
@json_output(RevisionPageRecord)
def list_changes(store: Address, limit: int, output: str, **options: Any) -> None:
    """List the changes of a store, the newest first."""

    async def read(portable: Portable) -> RevisionPage:
        since, until = options["since"], options["until"]
        filter = RevisionFilter(
            since_ms=_time_of(since),
            until_ms=_time_of(until),
            after=await _revision_of(portable, since),
            principals=frozenset(options["principals"]),
            resources=frozenset(options["resources"]),
            authors=frozenset(options["authors"]),
            kinds=frozenset(options["kinds"]),
        )
        last = await _revision_of(portable, until)
        return await read_page(portable, filter, limit, None if last is None else last + 1)

    page = read_history(store, read)
    if output == "json":
        show_json(page.record())
        return
    show([*map(line_of, page.revisions)] or ["no changes"])
    for first, last in page.missing:
        say(f"revisions {first} to {last} are missing from the log; see doorkeeper history verify")
    if page.before is not None:
        say(f"there are older changes; for these add --until {page.before - 1}")


def _time_of(when: Moment | None) -> int | None:
    return None if when is None else when.time_ms


async def _revision_of(store: Portable, when: Moment | None) -> int | None:
    """Return the revision that a moment is; None for a time.

    Raises:
        StorageError: the log has no such revision.
    """
    return None if when is None or when.revision is None else await revision_at(store, when)


def line_of(revision: Revision) -> str:
    author = revision.author
    origin = [printable(author.principal)]
    if author.host:
        origin.append(printable(author.host))
    if author.software or author.client_id:
        origin.append(printable(author.software or author.client_id))
    if author.correlation_id is not None:
        origin.append(f"#{author.correlation_id}")
    head = f"{revision.revision}  {time_text(revision.time_ms)}"
    return f"{paint(head, 'cyan')}  {' '.join(origin)}  {printable(revision.summary())}"


@command.command(
    name="show",
    epilog=f"""{ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper history show config:server.properties 1042
  doorkeeper history show store:data 1042 --output json
""",
)
@history_argument
@click.argument("revision", type=click.IntRange(1, REVISION_MAX))
@json_output(RevisionRecord)
def show_revision(store: Address, revision: int, output: str) -> None:
    """Show the changes of REVISION."""

    async def read(portable: Portable) -> Revision | None:
        revisions = await read_revisions(portable, revision - 1, revision)
        return revisions[0] if revisions else None

    recorded = read_history(store, read)
    if recorded is None:
        fail([f"{store}: revision {revision} is not in the log"])
    author = recorded.author
    facts = {
        "revision": recorded.revision,
        "time": time_text(recorded.time_ms),
        "author": author.principal,
        "address": author.host,
        "listener": author.listener,
        "client id": author.client_id,
        "software": author.software,
        "correlation id": author.correlation_id,
        "node": recorded.node_id,
        "hash": recorded.hash,
    }
    lines = [
        f"{name}: {printable(str(value))}"
        for name, value in facts.items()
        if value not in (None, "")
    ]
    changes = [
        paint(printable(row.text()), "red" if row.deleted else "green") for row in recorded.rows
    ]
    show_result(output, recorded.record(), [*lines, *changes])


def _take_hashes(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> list[RecordedHash]:
    recorded = []
    for value in values:
        hashes = recorded_hashes(value)
        if [str(recorded_hash) for recorded_hash in hashes] != [value]:
            raise click.BadParameter(
                f"found {value!r}; expected: REVISION:HASH, as printed by verify"
            )
        recorded += hashes
    return recorded


def _take_files(
    _context: click.Context, _parameter: click.Parameter, values: tuple[Path, ...]
) -> list[RecordedHash]:
    recorded = []
    for file in values:
        try:
            hashes = recorded_hashes(file.read_text("utf-8", "replace"))
        except OSError as error:
            raise click.BadParameter(f"{file}: {error.strerror}") from None
        # A wrong file would look like one whose hashes are all right.
        if not hashes:
            raise click.BadParameter(f"{file}: found no REVISION:HASH; expected: a server's log")
        recorded += hashes
    return recorded


@command.command(
    epilog=f"""
Each change has a hash of itself and of the change before it, so a change that was modified, removed
or inserted with other tools is detected. To detect a log that was rewritten as a whole, keep the
printed hash in another place and pass it with --recorded. A server logs the newest hash every five
minutes; --recorded-in reads all hashes in such a log file.
{ADDRESSES}
\b
Exit statuses: 0 the log is as it was written; 1 it is not, is not readable, or has nothing to
verify; 2 wrong usage.

\b
Examples:
  doorkeeper history verify config:server.properties
  doorkeeper history verify store:data --recorded 1042:8f14e45f...
  doorkeeper history verify config:server.properties --recorded-in doorkeeper.log
"""
)
@history_argument
@named_option("--recorded", multiple=True, callback=_take_hashes)
@named_option("--recorded-in", multiple=True, type=PATH, callback=_take_files)
@json_output(VerificationRecord)
def verify(
    store: Address,
    recorded: list[RecordedHash],
    recorded_in: list[RecordedHash],
    output: str,
) -> None:
    """Verify the hash chain of the changes."""

    async def read(portable: Portable) -> Verification:
        return await verify_chain(portable, [*recorded, *recorded_in])

    verification = read_history(store, read)
    examined = Examined(verification.examined, f"{store}: nothing was verified: the log is empty")
    if output == "json":
        show_json({**asdict(verification), "examined": examined.number})
    elif examined.number and not verification.findings:
        verified = f"revisions {verification.first} to {verification.last}"
        lines = [paint(f"{verified}: unmodified", "green")]
        if verification.pruned:
            lines.append(
                f"note: {verification.pruned} recorded hashes are of revisions that were pruned"
            )
        if verification.hash:
            lines.append(f"recorded: {RecordedHash(verification.last, verification.hash)}")
        show(lines)
    if verification.findings:
        fail(verification.findings)
    examined.fail_if_nothing()
