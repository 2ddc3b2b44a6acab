"""``doorkeeper acls undo``: take back changes of ACLs, as a plan that is shown first."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import click

from doorkeeper.cli.acls.addresses import ADDRESSES, location_options, refuse_file, take_location
from doorkeeper.cli.acls.plans import apply_plan
from doorkeeper.cli.completion import files
from doorkeeper.cli.history.commands import history_address, line_of, read_history
from doorkeeper.cli.terminal import fail, say
from doorkeeper.history.undoing import read_undo
from doorkeeper.repositories.clusters import ClusterRepository
from doorkeeper.repositories.errors import RepositoryError
from doorkeeper.state.store import StorageError

if TYPE_CHECKING:
    from doorkeeper.history.undoing import Undo
    from doorkeeper.repositories.addresses import Address
    from doorkeeper.storage.portable import Portable

_RANGE = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")


def _revisions(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(text)
    first = int(found[1]) if found else 0
    last = int(found[2] or first) if found else 0
    if not 0 < first <= last:
        raise click.BadParameter(f"found {text!r}; allowed: a revision, or FIRST..LAST")
    return first, last


@click.command(
    epilog=f"""
The plan removes the ACLs that the revisions added, and adds those that they removed. ACLs that
later changes have already removed or added again are left out; later changes of the same patterns
and principals are listed. Other kinds of changes (topics, users, ...) are named and stay.
The plan is applied by CreateAcls and DeleteAcls, with the usual authorization, and is a change of
its own in the history.

A live cluster does not tell its history: --history names its store, which is read beside it.
{ADDRESSES}
\b
Exit statuses: 0 done, or nothing to do; 1 failed, or the answer was no, with the reason on
stderr; 2 wrong usage; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls undo 1042 config:server.properties --dry-run
  doorkeeper acls undo 1042..1050 kafka://localhost:9092 --history config:server.properties
"""
)
@click.argument("revisions", metavar="REVISION[..REVISION]", callback=_revisions)
@click.option(
    "--history",
    metavar="ADDRESS",
    type=history_address,
    shell_complete=files,
    help="The store with the history.  [default: ADDRESS]",
)
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before the changes.")
@location_options()
def undo(
    revisions: tuple[int, int],
    history: Address | None,
    *,
    dry_run: bool,
    yes: bool,
    **options: Any,  # noqa: ANN401  those above
) -> None:
    """Take back the changes of ACLs by REVISION, or by a range of revisions."""
    location = take_location(options)
    refuse_file(location.address)
    if history is None:
        if not location.address.is_store:
            raise click.UsageError(f"{location.address} has no history; name its store: --history")
        history = location.address

    try:
        repository = location.repository()
        cluster_id = ""
        if isinstance(repository, ClusterRepository):
            cluster_id = asyncio.run(repository.cluster_id())
    except RepositoryError as error:
        fail(error.problems)

    async def read(store: Portable) -> Undo:
        own = (await store.header()).cluster_id if cluster_id else ""
        if own != cluster_id:
            raise StorageError(
                f"{store.name} is the store of the cluster {own}, but {location.address} is the"
                f" cluster {cluster_id}: give --history its store"
            )
        return await read_undo(store, *revisions)

    found = read_history(history, read)
    for kind in found.other_kinds:
        say(f"note: changes of the kind {kind} are not undone")
    for each in found.overlaps:
        say(f"note: a later change overlaps: {line_of(each)}")
    apply_plan(repository, found.plan, dry_run=dry_run, asks=not yes)
