"""Verification of a copy between stores: read everything back and compare."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from doorkeeper.server.state.storage.portable import (
    COLUMNS,
    LOG,
    ONLY_SHARED,
    Header,
    Portable,
    Row,
)
from doorkeeper.server.state.store import StorageError

Progress = Callable[[int, int], None]

_DIGEST_BYTES: Final = 32


class Sum(Struct, frozen=True):
    """Number of rows and the sum of their digests, which does not depend on their order."""

    rows: int = 0
    digest: int = 0

    def plus(self, chunk: list[Row]) -> Sum:
        digest = self.digest
        for row in chunk:
            hashed = blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
            # A sum, because the stores return items in different orders.
            digest += int.from_bytes(hashed.digest())
        return Sum(self.rows + len(chunk), digest)


class Reader:
    """Read a store in chunks with checksums and progress."""

    def __init__(self, source: Portable, whole: int, progress: Progress | None) -> None:
        """``whole`` is the number of rows that the progress counts to."""
        self._source = source
        self._whole = whole
        self._progress = progress
        self._done = 0
        self.sums = dict.fromkeys(COLUMNS, Sum())

    async def rows(self, table: str) -> AsyncIterator[list[Row]]:
        """Read a table. The checksum leaves out the columns of shared stores."""
        async for chunk in self._source.rows(table):
            both = [row[:-ONLY_SHARED] for row in chunk] if table == LOG else chunk
            self.sums[table] = self.sums[table].plus(both)
            self._done += len(chunk)
            if self._progress is not None:
                self._progress(self._done, self._whole)
            yield chunk

    async def read_all(self) -> None:
        for table in COLUMNS:
            async for _ in self.rows(table):
                pass


async def compare(
    source: str, sums: dict[str, Sum], header: Header, target: Portable, progress: Progress | None
) -> None:
    """Compare a store with the checksums of another one."""
    copied = await target.header()
    for what in ("cluster_id", "salt_key", "revision", "base"):
        if getattr(copied, what) != getattr(header, what):
            raise StorageError(f"{target.name}: its {what} differs from that of {source}")
    reader = Reader(target, sum(header.rows.values()), progress)
    await reader.read_all()
    for table, before in sums.items():
        after = reader.sums[table]
        if after != before:
            raise StorageError(
                f"{target.name}: {table} has {after.rows} rows, but {source} has {before.rows};"
                " the contents differ"
            )
