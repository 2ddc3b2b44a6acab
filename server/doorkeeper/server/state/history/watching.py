"""Every revision behind one, in order and exactly once, as it becomes durable.

The log is the queue: a watcher keeps the number of the last revision that it was given, and asks
for those behind it. So it can stop and go on at any revision that the log has kept, on any node.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.revisions import Revision, read_revisions
from doorkeeper.server.state.storage.portable import Portable

AT_ONCE: Final = 500
"""Revisions that are read at once: the bound of a watcher's memory."""


async def next_revisions(store: Portable, after: int) -> list[Revision]:
    """Return the revisions behind one, at most ``AT_ONCE``; none if it is the newest.

    They end before a gap in the log, at which the next call raises.

    Raises:
        BeforeHistory: the next one is not in the log, or ``after`` does not exist yet.
    """
    position = await store.position()
    newest = position.revision
    if after > newest:
        raise BeforeHistory(
            f"{store.name}: revision {after + 1} does not exist yet; the newest is {newest}"
        )
    revisions = await read_revisions(store, after, min(newest, after + AT_ONCE))
    whole = [
        revision
        for number, revision in enumerate(revisions, after + 1)
        if revision.revision == number
    ]
    if after < newest and not whole:
        first = revisions[0].revision if revisions else newest
        what = (
            f"was pruned from the log; the oldest is {first}"
            if after < position.base.revision
            else "is missing from the log; see doorkeeper history verify"
        )
        raise BeforeHistory(f"{store.name}: revision {after + 1} {what}")
    return whole
