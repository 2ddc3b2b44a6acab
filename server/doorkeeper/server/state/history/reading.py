"""The state of a store as of a moment: the base, and the log up to there.

It costs one pass over the log, and the memory of the state. Secrets are empty: the log lacks them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from doorkeeper.server.schema.acls import bindings_from
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.schema.kind import Item, Kind
from doorkeeper.server.state.history.moments import Moment, time_text
from doorkeeper.server.state.state import State, load_snapshot, state_without_acls, with_acls
from doorkeeper.server.state.storage.portable import BASE, LOG, Portable
from doorkeeper.server.state.store import StorageError

WINDOW: Final = 1_000
"""Revisions that are read at once on the way back from the newest one."""

CHANGE: Final = ("revision", "item", "kind", "key", "value", "deleted")
"""The columns of the log that lead to a state."""

Rows = dict[str, dict[str, str]]
"""Values by kind and key."""


class BeforeHistory(StorageError):
    """A moment is before the oldest state that is known, or after the newest."""


async def revision_at(store: Portable, moment: Moment) -> int:
    """Return the newest revision of a moment.

    Raises:
        BeforeHistory: the state was not kept, or does not exist yet.
    """
    position = await store.position()
    base = position.base
    earliest = f"the earliest is revision {base.revision}, of {time_text(base.time_ms)}"
    if moment.revision is not None:
        if moment.revision < base.revision:
            raise BeforeHistory(
                f"{store.name}: {moment} is before the start of the history: {earliest}"
            )
        if moment.revision > position.revision:
            raise BeforeHistory(
                f"{store.name}: {moment} does not exist; the newest is {position.revision}"
            )
        return moment.revision
    assert moment.time_ms is not None
    until = position.revision
    while until > base.revision:
        after = max(base.revision, until - WINDOW)
        newest = 0
        async for rows in store.rows(LOG, ("revision", "time_ms"), after=after, until=until):
            for revision, time_ms in rows:
                # Not the first later one: a clock that was set back must not hide revisions.
                if time_ms <= moment.time_ms:
                    newest = revision
        if newest:
            return newest
        until = after
    if moment.time_ms < base.time_ms:
        raise BeforeHistory(
            f"{store.name}: {moment} is before the start of the history: {earliest}"
        )
    return base.revision


async def rows_at(store: Portable, revision: int) -> Rows:
    """Return the values of all rows after a revision that was kept, also of unknown kinds."""
    base = (await store.position()).base
    values: Rows = defaultdict(dict)
    async for rows in store.rows(BASE, ("kind", "key", "value")):
        for kind, key, value in rows:
            values[kind][key] = value
    # The next row is the next item of the last revision, or the first one of the next revision.
    last, next_item = base.revision, 0
    async for rows in store.rows(LOG, CHANGE, after=base.revision, until=revision):
        for number, item, kind, key, value, deleted in rows:
            if number != last or item != next_item:
                if number != last + 1 or item:
                    raise _incomplete(store, last, number, revision)
                last, next_item = number, 0
            next_item += 1
            if deleted:
                values[kind].pop(key, None)
            else:
                values[kind][key] = value
    if last != revision:
        raise _incomplete(store, last, revision + 1, revision)
    return values


def _incomplete(store: Portable, last: int, number: int, until: int) -> StorageError:
    """Return the error for a row of a revision that does not follow the last row."""
    if number <= last + 1:
        what = f"revision {number} is incomplete in"
    elif number == last + 2:
        what = f"revision {last + 1} is missing from"
    else:
        what = f"revisions {last + 1} to {number - 1} are missing from"
    return StorageError(
        f"{store.name}: {what} the log, so the state as of revision {until} is not known; see"
        " doorkeeper history verify"
    )


async def state_at(store: Portable, moment: Moment) -> State:
    """Return the state as of a moment; secrets are empty, and local parts too."""
    revision = await revision_at(store, moment)
    return state_of(await rows_at(store, revision), revision)


def state_of(rows: Rows, revision: int) -> State:
    def decode(kind: Kind) -> Iterator[Any]:
        values = rows.get(kind.name, {})
        if kind is ACL:
            return bindings_from(values.items())
        return (kind.decode(Item(key, value)) for key, value in values.items())

    try:
        state = state_without_acls(revision, decode)
        return with_acls(state, load_snapshot(decode(ACL), lambda: False))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"the history contains data that this version cannot read: {error}"
        ) from error
