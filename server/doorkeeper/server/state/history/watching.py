"""Every revision behind one, in order and exactly once, as it becomes durable.

The log is the queue: a watcher keeps the number and the hash of the last revision that it was
given, and asks for those behind it. So it can stop and go on at any revision that the log has kept,
on any node. By the hash it notices that a backup was restored, whose later revisions are others
with the same numbers.
"""

from __future__ import annotations

import re
from typing import Final

from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.revisions import Revision, read_revisions
from doorkeeper.server.state.history.verification import RecordedHash, hash_at
from doorkeeper.server.state.storage.portable import Portable

AT_ONCE: Final = 500
"""Revisions that are read at once: the bound of a watcher's memory."""

_LAST: Final = re.compile(r"([0-9]{1,18})(?::([0-9a-f]{64}))?")


def parse_last(text: str) -> RecordedHash:
    """Return the last revision of a watcher: ``REVISION:HASH``, or its number alone.

    Raises:
        ValueError: it is neither.
    """
    match = _LAST.fullmatch(text)
    if match is None:
        raise ValueError(f"found {text!r:.100}; expected: a revision, or REVISION:HASH")
    return RecordedHash(int(match[1]), match[2] or "")


async def next_revisions(
    store: Portable, last: RecordedHash | None
) -> tuple[RecordedHash, list[Revision]]:
    """Return the revisions behind one, at most ``AT_ONCE``, and what the next call begins with.

    None begins behind the newest. They end before a gap in the log, at which the next call raises.

    Raises:
        BeforeHistory: the next one is not in the log, or ``last`` does not exist, or not any more.
    """
    newest, base = await store.position()
    if last is None:
        last = RecordedHash(newest, "")
    after = last.revision
    if after > newest:
        raise BeforeHistory(
            f"{store.name}: revision {after + 1} does not exist yet; the newest is {newest}"
        )
    hash_ = base.hash if after == base.revision else await hash_at(store, after)
    if hash_ and last.hash not in ("", hash_):
        raise BeforeHistory(
            f"{store.name}: revision {after} is not the one that was watched: an older store was"
            " restored, and revisions from then on are others"
        )
    revisions = await read_revisions(store, after, min(newest, after + AT_ONCE))
    whole = [
        revision
        for number, revision in enumerate(revisions, after + 1)
        if revision.revision == number
    ]
    if whole:
        return RecordedHash(whole[-1].revision, whole[-1].hash), whole
    if after < newest:
        what = "is missing from the log; see doorkeeper history verify"
        if after < base.revision:
            oldest = revisions[0].revision if revisions else newest
            what = f"was pruned from the log; the oldest is {oldest}"
        raise BeforeHistory(f"{store.name}: revision {after + 1} {what}")
    return RecordedHash(after, hash_), []
