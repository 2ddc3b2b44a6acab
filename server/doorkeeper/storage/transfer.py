"""From one store to another: everything is written, read back and compared."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.state.store import StorageError
from doorkeeper.storage.portable import COLUMNS, LOG, ONLY_SHARED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from doorkeeper.storage.portable import Header, Portable, Row

    Progress = Callable[[int, int], None]

_DIGEST_BYTES: Final = 32


class Sum(NamedTuple):
    """How many rows there are, and the sum of their digests: the same in whatever order."""

    rows: int = 0
    digest: int = 0

    def plus(self, piece: list[Row]) -> Sum:
        """Return the sum with more rows."""
        digest = self.digest
        for row in piece:
            hashed = blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
            digest += int.from_bytes(hashed.digest())
        return Sum(self.rows + len(piece), digest)


class Reader:
    """Reads a store piece by piece, adds up what it reads and tells how far it is."""

    def __init__(self, source: Portable, whole: int, progress: Progress | None) -> None:
        """Begin; ``whole`` is how many rows the progress counts to."""
        self._source = source
        self._whole = whole
        self._progress = progress
        self._done = 0
        self.sums = dict.fromkeys(COLUMNS, Sum())

    async def rows(self, table: str) -> AsyncIterator[list[Row]]:
        """Read a table. What only shared stores know is not added up."""
        async for piece in self._source.rows(table):
            both = [row[:-ONLY_SHARED] for row in piece] if table == LOG else piece
            self.sums[table] = self.sums[table].plus(both)
            self._done += len(piece)
            if self._progress is not None:
                self._progress(self._done, self._whole)
            yield piece

    async def read_all(self) -> None:
        """Read all tables for their sums."""
        for table in COLUMNS:
            async for _ in self.rows(table):
                pass


async def compare(
    source: str, sums: dict[str, Sum], header: Header, target: Portable, progress: Progress | None
) -> None:
    """Read a store and compare it with what another one had.

    Raises:
        StorageError: they differ; the text says where.

    """
    found = await target.header()
    for what in ("cluster_id", "salt_key", "revision"):
        if getattr(found, what) != getattr(header, what):
            raise StorageError(f"{target.name}: its {what} is not that of {source}")
    reader = Reader(target, sum(header.rows.values()), progress)
    await reader.read_all()
    for table, before in sums.items():
        after = reader.sums[table]
        if after != before:
            raise StorageError(
                f"{target.name}: {table} has {after.rows} rows, {source} has {before.rows};"
                " they are not the same"
            )
