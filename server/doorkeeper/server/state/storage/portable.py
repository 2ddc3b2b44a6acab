"""The exchange format between stores: rows that every store can read and write.

A row is a tuple in the order of ``COLUMNS``. The embedded store has no node and batch: it reads
them as None and does not write them. Rows of kinds that this version does not know are copied too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

Cell = str | int | None
Row = tuple[Any, ...]
"""Cells, in the order of ``COLUMNS``, or of the columns that were asked for."""

ITEM: Final = "item"
LOG: Final = "change_log"
BASE: Final = "base"

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    ITEM: ("kind", "key", "value", "secret", "revision"),
    LOG: (
        "revision",
        "item",
        "kind",
        "key",
        "value",
        "deleted",
        "time_ms",
        "author_principal",
        "author_host",
        "author_listener",
        "author_client_id",
        "author_software",
        "author_correlation_id",
        "hash",
        "node_id",
        "batch",
    ),
    BASE: ("kind", "key", "value", "revision"),
}
"""The tables and their columns, in the order of writing.

``secret`` is null for a row without secret columns, and in the log. ``deleted`` is 0 or 1.
``value`` is the same text in all stores. ``batch`` is the text of a uuid. ``hash`` is null but in
the first row of a revision: see ``rows``.
"""

ONLY_SHARED: Final = 2
"""Number of columns at the end of the log that the embedded store does not have."""

ROWS_AT_ONCE: Final = 5_000


BASE_KEYS: Final = ("base_revision", "base_hash", "base_ms")
"""The keys of ``Base`` in the metadata of both stores."""


class Base(NamedTuple):
    """The revision after which the rows of ``BASE`` are the state; see ``storage.upkeep``."""

    revision: int
    hash: str
    time_ms: int


class Position(NamedTuple):
    """The newest revision of a store, and the base of its history."""

    revision: int
    base: Base


class Header(Struct, frozen=True):
    """Identity of a store, and its number of rows by table.

    A copy keeps the cluster id and the salt key; the target has its own store id.
    """

    cluster_id: str
    store_id: str
    salt_key: bytes
    revision: int
    base: Base
    rows: Mapping[str, int]

    @property
    def empty(self) -> bool:
        """Return whether the store was never changed; it may have rows of revision 0."""
        return self.revision == 0 and not self.rows.get(LOG)

    def __repr__(self) -> str:
        return f"Header({self.cluster_id}, revision {self.revision})"


class Portable(ABC):
    """A store that is read in one consistent snapshot."""

    name: str
    """Name of the store in errors, without secrets."""

    @abstractmethod
    async def header(self) -> Header:
        """Return the identity and the numbers of rows, which are counted."""

    @abstractmethod
    async def position(self) -> Position: ...

    @abstractmethod
    def rows(
        self,
        table: str,
        columns: Sequence[str] = (),
        *,
        after: int = -1,
        until: int | None = None,
    ) -> AsyncIterator[list[Row]]:
        """Read a table in chunks; the log in its order, others in any.

        Read only ``columns``, in their order, if some are given; and rows of the revisions behind
        ``after``, up to ``until``.
        """

    @abstractmethod
    async def findings(self) -> list[str]:
        """Return the faults below the rows: of the file and the schema."""
