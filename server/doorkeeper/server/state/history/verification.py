"""Verification of the hash chain: modified, missing and inserted revisions are found.

The chain begins at the base, whose hash is that of the last pruned revision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec import Struct

from doorkeeper.server.schema.kind import Item
from doorkeeper.server.state.history.revisions import Revision, revisions_of
from doorkeeper.server.state.storage.portable import LOG, Base, Portable, Row
from doorkeeper.server.state.storage.rows import revision_hash

FINDINGS_MAX: Final = 20


class RecordedHash(NamedTuple):
    """The hash of a revision, kept outside the store. Its text is ``REVISION:HASH``.

    The hash is empty of revision 0, and where only the number was kept.
    """

    revision: int
    hash: str

    def __str__(self) -> str:
        return f"{self.revision}:{self.hash}" if self.hash else str(self.revision)


_RECORDED = re.compile(r"(?<![0-9A-Za-z])([0-9]{1,18}):([0-9a-f]{64})(?![0-9A-Za-z])")


def recorded_hashes(text: str) -> list[RecordedHash]:
    """Return all recorded hashes in a text, such as a server's log."""
    return [RecordedHash(int(number), hash_) for number, hash_ in _RECORDED.findall(text)]


async def newest_hash(store: Portable) -> RecordedHash | None:
    """Return the newest revision with its hash; None without one."""
    newest = (await store.position()).revision
    hash_ = await hash_at(store, newest)
    return RecordedHash(newest, hash_) if hash_ else None


async def hash_at(store: Portable, revision: int) -> str:
    """Return the hash of a revision; empty where the log does not have it."""
    async for rows in store.rows(LOG, ("hash",), after=revision - 1, until=revision):
        for (hash_,) in rows:
            if hash_ is not None:
                return str(hash_)
    return ""


class Verification(Struct, frozen=True):
    """The result: the verified revisions, the newest hash, and the faults.

    ``pruned`` is the number of recorded hashes of revisions that are not kept any more, and cannot
    be compared.
    """

    first: int
    last: int
    hash: str
    pruned: int
    findings: tuple[str, ...]

    @property
    def examined(self) -> int:
        return self.last - self.first + 1 if self.last else 0


async def verify(store: Portable, recorded: Iterable[RecordedHash] = ()) -> Verification:
    """Compute all hashes anew; ``recorded`` are hashes that were kept elsewhere."""
    position = await store.position()
    check = _Chain(position.base, recorded)
    rest: list[Row] = []
    async for rows in store.rows(LOG):
        # The last revision of a chunk may go on in the next one.
        rest += rows
        last = rest[-1][0]
        for revision in revisions_of([row for row in rest if row[0] != last]):
            check.take(revision)
        rest = [row for row in rest if row[0] == last]
    for revision in revisions_of(rest):
        check.take(revision)
    if position.revision != check.last and check.last:
        check.note(f"the newest revision is {position.revision}; the log ends with {check.last}")
    for number in sorted(check.recorded):
        check.note(f"revision {number} has a recorded hash but is not in the log")
    return Verification(
        check.first,
        check.last,
        check.previous,
        check.pruned,
        tuple(check.findings),
    )


class _Chain:
    def __init__(self, base: Base, recorded: Iterable[RecordedHash]) -> None:
        self.first = self.last = 0
        self.previous = ""
        self.findings: list[str] = []
        self._base = base
        self.pruned = 0
        # More than one for a revision: a log that was written anew has other hashes later.
        self.recorded: dict[int, set[str]] = {}
        for number, recorded_hash in recorded:
            if number >= base.revision:
                self.recorded.setdefault(number, set()).add(recorded_hash)
            else:
                self.pruned += 1
        self._compare(base.revision, base.hash)

    def note(self, text: str) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(text)

    def _compare(self, number: int, hash_: str) -> None:
        if self.recorded.pop(number, set()) - {hash_}:
            self.note(f"revision {number} does not match its recorded hash")

    def take(self, revision: Revision) -> None:
        number = revision.revision
        if not self.first:
            self.first, self.last, self.previous = number, self._base.revision, self._base.hash
        if number > self.last + 1:
            self.note(f"revisions {self.last + 1} to {number - 1} are missing")
        self.last = number
        self._compare(number, revision.hash)
        runs = [(row.kind, int(row.deleted), [Item(row.key, row.value)]) for row in revision.rows]
        hash_ = revision_hash(self.previous, number, revision.time_ms, revision.author, runs)
        if hash_ != revision.hash:
            self.note(
                f"revision {number} was modified, or an earlier one is missing or was inserted"
            )
        self.previous = revision.hash
