"""What a store holds as rows that every store can read and take: the form between two stores.

A row is a tuple in the order of ``COLUMNS``. Texts are as clients gave them, secrets of
credentials are bytes. The embedded store knows of neither node nor batch: it reads them as None,
and leaves them out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

Cell = str | int | bytes | None
Row = tuple[Cell, ...]

LOG: Final = "change_log"

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "bindings": (
        "binding_id",
        "resource_type",
        "name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
        "revision",
    ),
    "topics": ("name", "topic", "revision"),
    "configs": ("broker", "key", "value", "revision"),
    "credentials": (
        "user",
        "mechanism",
        "salt",
        "stored_key",
        "server_key",
        "iterations",
        "revision",
    ),
    "tokens": ("token_id", "token", "revision"),
    LOG: (
        "revision",
        "item",
        "kind",
        "time_ms",
        "author_principal",
        "author_host",
        "author_listener",
        "author_client_id",
        "binding_id",
        "resource_type",
        "name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
        "topic",
        "config_key",
        "config_value",
        "mechanism",
        "record",
        "node_id",
        "batch",
    ),
}
"""All tables, in the order in which they are written, and their columns."""

ONLY_SHARED: Final = 2
"""The last columns of the log, which the embedded store does not have."""

ROWS_AT_ONCE: Final = 5_000


class Header(NamedTuple):
    """What a store is, besides its rows. ``rows`` says how many each table has."""

    cluster_id: str
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
        """Read a table in pieces; the log in its order, the others in any."""

    @abstractmethod
    async def findings(self) -> list[str]:
        """Return what is wrong with it below the rows: the file, the schema."""
