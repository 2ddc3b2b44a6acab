"""Verification of the hash chain: modified, missing and inserted revisions are found.

The chain begins at the base, whose hash is that of the last pruned revision. Revisions that earlier
versions wrote have no hash: they are counted, and the first hash behind them begins the chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.history.revisions import revisions_of
from doorkeeper.storage.portable import LOG
from doorkeeper.storage.rows import revision_hash

if TYPE_CHECKING:
    from doorkeeper.history.revisions import Revision
    from doorkeeper.storage.portable import Portable, Row

FINDINGS_MAX: Final = 20


class Verification(NamedTuple):
    """The result: the verified revisions, the newest hash, and the faults.

    ``unchained`` is the number of revisions without a hash.
    """

    first: int
    last: int
    hash: str
    unchained: int
    findings: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {**self._asdict(), "findings": list(self.findings)}


async def verify(store: Portable, recorded: dict[int, str] | None = None) -> Verification:
    """Compute all hashes anew; ``recorded`` are hashes by revision that were kept elsewhere."""
    position = await store.position()
    check = _Chain(position.base.revision, position.base.hash, dict(recorded or {}))
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
        check.note(f"revision {number}, whose hash was recorded, is not in the log")
    return Verification(
        check.first, check.last, check.previous, check.unchained, tuple(check.findings)
    )


class _Chain:
    def __init__(self, base: int, hash_: str, recorded: dict[int, str]) -> None:
        self.first = self.last = 0
        self.previous = ""
        self.unchained = 0
        self.findings: list[str] = []
        self.recorded = recorded
        self._base = base
        self._base_hash = hash_

    def note(self, text: str) -> None:
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(text)

    def take(self, found: Revision) -> None:
        number = found.revision
        if not self.first:
            self.first = number
            # Earlier ones may be left of a store of an earlier version.
            if number == self._base + 1:
                self.previous = self._base_hash
            elif number > self._base:
                self.note(f"revisions {self._base + 1} to {number - 1} are missing")
        elif number != self.last + 1:
            self.note(f"revisions {self.last + 1} to {number - 1} are missing")
        self.last = number
        expected = self.recorded.pop(number, None)
        if expected is not None and expected != found.hash:
            self.note(f"revision {number} does not have the hash that was recorded for it")
        if found.hash is None:
            self.unchained += 1
            if self.previous:
                self.note(f"revision {number} has no hash, though the one before it has one")
            return
        rows = [
            (item, row.kind, row.key, row.value, None, int(row.deleted))
            for item, row in enumerate(found.rows)
        ]
        hash_ = revision_hash(self.previous, number, found.time_ms, found.author, rows)
        if hash_ != found.hash:
            self.note(
                f"revision {number} was modified, or one before it is missing or was inserted"
            )
        self.previous = found.hash
