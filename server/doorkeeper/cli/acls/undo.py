"""``doorkeeper acls undo``: take back changes of ACLs, as a plan that is shown first."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import click
from msgspec import structs

from doorkeeper.acls.live_changes import Rule
from doorkeeper.acls.plan import Plan
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    Location,
    location_options,
    past_moment,
    refuse_file,
    take_location,
)
from doorkeeper.cli.acls.change_rules import Acceptance, accept_option
from doorkeeper.cli.acls.plans import apply_plan, record_of
from doorkeeper.cli.addresses import ADDRESS
from doorkeeper.cli.completion import files
from doorkeeper.cli.history.commands import HISTORY_ADDRESS, line_of, read_history
from doorkeeper.cli.interrupts import require_no_question
from doorkeeper.cli.json_records.sets import Applied
from doorkeeper.cli.options import CHANGE_STATUSES
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.terminal import say, show_json
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.state.history.moments import Moment
from doorkeeper.server.state.history.reading import revision_at
from doorkeeper.server.state.history.undoing import Undo, read_undo
from doorkeeper.server.state.storage.portable import Portable
from doorkeeper.server.state.store import StorageError

_RANGE = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")


def _revisions(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 0 < first <= last:
        raise click.BadParameter(
            f"found {text!r}; allowed: a revision, FIRST..LAST, or --since MOMENT",
            param_hint="'REVISION'",
        )
    return first, last


def _take_revisions(
    word: str | None, since: Moment | None, options: dict[str, Any]
) -> tuple[int, int] | None:
    """Return the first and the last revision of the first word; None with ``--since``.

    Raises:
        click.UsageError: both are given, or none.
    """
    # The only word is ADDRESS then.
    if since is not None and word is not None and options["address"] is None:
        options["address"], word = ADDRESS.convert(word, None, None), None
    if since is not None and word is not None:
        raise click.UsageError("give REVISION or --since")
    if since is None and word is None:
        raise click.UsageError("give the changes to undo: REVISION, FIRST..LAST, or --since MOMENT")
    return None if word is None else _revisions(word)


def _history_of(target: Address) -> Address:
    if target.is_store:
        return target
    raise click.UsageError(
        f"the history of {target} is not available. For a Doorkeeper server, give its store with"
        " --history. A Kafka cluster keeps no history: apply earlier ACLs, such as an export or a"
        " file in Git, with doorkeeper acls apply FILE ADDRESS"
    )


@click.command(
    cls=Command,
    epilog=f"""
The plan removes the ACLs that the revisions added, and adds those that they removed. ACLs that
later changes removed or added too are left out; later changes of the same patterns and principals
are listed. Other kinds of changes (topics, users, ...) are listed but not undone.
The plan is applied by CreateAcls and DeleteAcls, with the usual authorization, and is a change of
its own in the history.

A live cluster does not expose its history: for a Doorkeeper server, give its store with --history.
Kafka clusters keep no history: apply earlier ACLs with doorkeeper acls apply.
{ADDRESSES}{CHANGE_STATUSES}
\b
Examples:
  doorkeeper acls undo 1042 config:server.properties --dry-run
  doorkeeper acls undo config:server.properties --since '2 hours ago'
  doorkeeper acls undo 1042..1050 kafka://localhost:9092 --history config:server.properties
""",
)
@click.argument("revisions", metavar="[REVISION[..REVISION]]", required=False)
@named_option("--since", type=past_moment)
@named_option("--history", type=HISTORY_ADDRESS, shell_complete=files, default_text="ADDRESS")
@named_option("--dry-run", is_flag=True)
@named_option("--yes", is_flag=True)
@accept_option()
@json_output(Applied)
@location_options()
def undo(
    revisions: str | None,
    since: Moment | None,
    history: Address | None,
    output: str,
    *,
    dry_run: bool,
    yes: bool,
    accepted: frozenset[Rule],
    **options: Any,
) -> None:
    """Undo the ACL changes of a revision, of a range of revisions, or since a moment."""
    require_no_question(output, asks=not (yes or dry_run))
    named = _take_revisions(revisions, since, options)
    location = take_location(options)
    refuse_file(location.address)
    source = history or _history_of(location.address)
    cluster_id = "" if history is None else _cluster_of(location)

    async def read(store: Portable) -> Undo | None:
        own = await _id_of(store) if cluster_id else ""
        if own != cluster_id:
            raise StorageError(
                f"{store.name} is the store of cluster {own}, but {location.address} is cluster"
                f" {cluster_id}; give the store of that cluster with --history"
            )
        first, last = named or await _since(store, since)
        return await read_undo(store, first, last) if first <= last else None

    changes = read_history(source, read, location.overrides if history is None else ())
    if changes is None:
        say(f"nothing to undo: no change since {since}")
        if output == "json":
            show_json(record_of(Plan((), (), 0, 0), dry_run=dry_run))
        return
    if source.kind is AddressKind.BACKUP:
        say(f"note: changes that were made after {source} are not known, and may be undone too")
    for kind in changes.other_kinds:
        say(f"note: changes of kind {kind} are not undone")
    for revision in changes.overlaps:
        say(f"note: a later change overlaps: {line_of(revision)}")
    # A broker that lags may not list what a revision has added.
    unlisted = changes.added if location.address.is_live else ()

    def make_plan(contents: AclContents) -> Plan:
        bindings = [*dict.fromkeys([*contents.bindings, *unlisted])]
        return structs.replace(contents, bindings=bindings).plan(changes.plan)

    apply_plan(
        location.repository(),
        make_plan,
        Acceptance(accepted),
        dry_run=dry_run,
        asks=not yes,
        output=output,
    )


def _cluster_of(location: Location) -> str:
    """Return the id of the cluster at a location; empty if it does not tell."""
    if location.address.is_store:
        return read_history(location.address, _id_of, location.overrides)

    async def ask() -> str:
        async with location.repository().change() as session:
            return await session.cluster_id()

    return asyncio.run(ask())


async def _id_of(store: Portable) -> str:
    return (await store.header()).cluster_id


async def _since(store: Portable, moment: Moment | None) -> tuple[int, int]:
    """Return the first revision after a moment, and the newest one."""
    assert moment is not None
    return await revision_at(store, moment) + 1, (await store.position()).revision
