"""What a store holds as rows that every store can read and take: the form between two stores.

A row is a tuple in the order of ``COLUMNS``. The embedded store knows neither node nor batch: it
reads them as None, and leaves them out. Rows of kinds that this version does not know are copied
like all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

Cell = str | int | None
Row = tuple[Cell, ...]

ITEM: Final = "item"
LOG: Final = "change_log"

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
        "node_id",
        "batch",
    ),
}
"""The tables, in the order in which they are written, and their columns.

``secret`` is null for a row without secret columns; the log has none. ``deleted`` is 0 or 1.
``value`` is text: two stores give the same characters. ``batch`` is the text of a uuid.
"""

ONLY_SHARED: Final = 2
"""The last columns of the log, which the embedded store does not have."""

ROWS_AT_ONCE: Final = 5_000


class Header(NamedTuple):
    """What a store is, besides its rows. ``rows`` says how many each table has.

    A copy keeps the cluster id and the salt key; the target has a store id of its own.
    """

    cluster_id: str
    store_id: str
    salt_key: bytes
    revision: int
    rows: Mapping[str, int]

    @property
    def empty(self) -> bool:
        """Say whether nothing was ever changed."""
        return self.revision == 0 and not any(self.rows.values())

    def __repr__(self) -> str:
        """Leave out the secret."""
        return f"Header({self.cluster_id}, revision {self.revision})"


class Portable(ABC):
    """A store that is being read, as of one moment."""

    name: str
    """What an error calls it: no secret."""

    @abstractmethod
    async def header(self) -> Header:
        """Return what the store is."""

    @abstractmethod
    def rows(self, table: str) -> AsyncIterator[list[Row]]:
        """Read a table in pieces; the log in its order, the items in any."""

    @abstractmethod
    async def findings(self) -> list[str]:
        """Return what is wrong with it below the rows: the file, the schema."""
