"""Every revision behind one, in order and exactly once, as it becomes durable.

The log is the queue: a watcher keeps the number of the last revision that it was given, and asks
for those behind it. So it can stop and go on at any revision that the log has kept, on any node.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from doorkeeper.history.reading import BeforeHistory
from doorkeeper.history.revisions import read_revisions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from doorkeeper.history.revisions import Revision
    from doorkeeper.storage.portable import Portable

    ReadStore = Callable[
        [Callable[[Portable], Awaitable[list[Revision]]]], Awaitable[list[Revision]]
    ]

AT_ONCE: Final = 500
"""Revisions that are read at once: the bound of a watcher's memory."""


async def next_revisions(store: Portable, after: int) -> list[Revision]:
    """Return the revisions behind one, at most ``AT_ONCE``; none if it is the newest.

    Raises:
        BeforeHistory: the next one is not in the log any more, or ``after`` does not exist yet.

    """
    newest = (await store.position()).revision
    if after > newest:
        raise BeforeHistory(f"{store.name}: there is no revision {after}: the newest is {newest}")
    found = await read_revisions(store, after, min(newest, after + AT_ONCE))
    if after < newest and (not found or found[0].revision != after + 1):
        first = found[0].revision if found else newest
        raise BeforeHistory(
            f"{store.name}: revision {after + 1} is not in the log any more: the oldest is {first}"
        )
    return found


async def watch(
    read: ReadStore, after: int, wait: Callable[[int], Awaitable[None]]
) -> AsyncIterator[Revision]:
    """Yield the revisions behind one, without end.

    ``read`` calls a function with the open store. ``wait`` returns when there may be a revision
    behind the given one.

    Raises:
        BeforeHistory: as for ``next_revisions``.
        StorageError: the store cannot be read; go on behind the last revision later.

    """
    while True:
        found = await read(partial(next_revisions, after=after))
        for revision in found:
            after = revision.revision
            yield revision
        if not found:
            await wait(after)
