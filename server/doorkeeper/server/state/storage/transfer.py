"""Verification of a copy between stores: read everything back and compare."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from hashlib import blake2b
from typing import Final

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


Sum = tuple[int, int]
"""Number of rows and the sum of their digests: the stores return items in different orders."""


def _digest(row: Row) -> int:
    hashed = blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
    return int.from_bytes(hashed.digest())


class Reader:
    """Read a store in chunks with checksums and progress."""

    def __init__(self, source: Portable, whole: int, progress: Progress | None) -> None:
        """``whole`` is the number of rows that the progress counts to."""
        self._source = source
        self._whole = whole
        self._progress = progress
        self._done = 0
        self.sums: dict[str, Sum] = dict.fromkeys(COLUMNS, (0, 0))

    async def rows(self, table: str) -> AsyncIterator[list[Row]]:
        """Read a table. The checksum leaves out the columns of shared stores."""
        async for chunk in self._source.rows(table):
            both = [row[:-ONLY_SHARED] for row in chunk] if table == LOG else chunk
            rows, digest = self.sums[table]
            self.sums[table] = rows + len(both), digest + sum(map(_digest, both))
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
                f"{target.name}: {table} has {after[0]} rows, but {source} has {before[0]};"
                " the contents differ"
            )
