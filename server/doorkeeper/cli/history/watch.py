"""``doorkeeper watch``: print every change of a store as it is made."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Final

import click

from doorkeeper.cli.history.commands import (
    ADDRESSES,
    history_argument,
    line_of,
)
from doorkeeper.cli.interrupts import INTERRUPTED
from doorkeeper.cli.json_records.stores import Revision as RevisionRecord
from doorkeeper.cli.options import principal
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.stores import open_history
from doorkeeper.cli.terminal import retry_reporter, show, show_json
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.revisions import Revision, RevisionFilter
from doorkeeper.server.state.history.verification import RecordedHash
from doorkeeper.server.state.history.watching import next_revisions, parse_last
from doorkeeper.server.state.store import StorageError

POLL_S: Final = 0.2
"""Interval of looks for new changes."""

AWAY_S: Final = 1.0
"""Interval of attempts to reach a store that cannot be read."""


def _last(text: str) -> RecordedHash:
    """Return the revision that a word is: a watcher goes on after the one that it printed."""
    try:
        return parse_last(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(
    cls=Command,
    name="watch",
    epilog=f"""
Changes are printed in order, each once. To resume after a stop, give --since with the last
revision printed. With its hash, as REVISION:HASH, the command also fails if an older store was
restored meanwhile; the JSON has it. While the store is unavailable, the command waits.
{ADDRESSES}
\b
Exit statuses: 0 done, with --limit; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper watch config:server.properties
  doorkeeper watch postgresql://doorkeeper@db1/acls --since 1041 --output json
""",
)
@history_argument
@named_option("--since", text="Only changes after this revision.", type=_last, default_text="now")
@named_option("--principal", "principals", multiple=True, type=principal)
@named_option("--limit", type=click.IntRange(1), default_text="no limit")
@json_output(RevisionRecord)
def command(
    store: Address,
    since: RecordedHash | None,
    principals: tuple[str, ...],
    limit: int | None,
    output: str,
) -> None:
    """Print every change of a store, and wait for new ones."""
    filter = RevisionFilter(principals=frozenset(principals))

    async def run() -> None:
        left = limit
        async for revision in _watch(store, since):
            if not filter.matches(revision):
                continue
            left = None if left is None else left - 1
            if output == "json":
                show_json(revision.record(), indent=None)
            else:
                show([line_of(revision)])
            # For a reader behind a pipe: no change waits in a buffer for the next ones.
            sys.stdout.flush()
            if left == 0:
                return

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        # The usual end: no message.
        raise SystemExit(INTERRUPTED) from None


async def _watch(store: Address, last: RecordedHash | None) -> AsyncIterator[Revision]:
    """Yield the revisions behind one, or behind the newest.

    While the store is away, wait.

    Raises:
        StorageError: the store cannot be read at first, or lacks the next revision.
    """
    report_retry = retry_reporter()
    is_known = False
    while True:
        try:
            async with open_history(store) as portable:
                last, changes = await next_revisions(portable, last)
        except StorageError as error:
            # The first look shows a wrong address; later ones an outage.
            if not is_known or isinstance(error, BeforeHistory):
                raise
            report_retry(error)
            await asyncio.sleep(AWAY_S)
            continue
        is_known = True
        for revision in changes:
            yield revision
        if not changes:
            await asyncio.sleep(POLL_S)
