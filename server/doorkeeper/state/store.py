"""What a durable store offers to the log, whichever database it is.

A store keeps two things: the *log of changes*, one revision for each change, numbered without a
gap, and the *items*, the state that the log leads to. The log of changes is append-only; the store
carries each row that is written to it into the items, in the same transaction.

The store does not know about requests, plans or states. ``StateLog`` asks for the lease, reads
what other nodes wrote, plans, and commits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.kinds.change import Edit

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from uuid import UUID

    from doorkeeper.kinds.change import Author, Change
    from doorkeeper.kinds.kind import Kind


class StorageError(Exception):
    """A change was not stored; the text says why and names the store."""


class StoreInUse(StorageError):
    """Another process has the store, most likely its server."""


class StoreAway(StorageError):
    """A shared store could not be reached in time. The change was withdrawn."""


class StoreReplaced(StorageError):
    """The store is not the one that this node knows, or has lost what this node acknowledged.

    It is unavailable until an operator decides: decisions go on from the known state.
    """


class OutcomeUnknown(StorageError):
    """A shared store went away while it committed: the change may have become durable, or not."""


class Identity(NamedTuple):
    """What tells one store from another.

    ``cluster_id`` (22 characters) is what clients see, and survives a copy to another database;
    ``store_id`` is that of the database. ``salt_key`` are 32 secret bytes, from which salts of
    unknown users are derived.
    """

    cluster_id: str
    store_id: str
    salt_key: bytes

    def __repr__(self) -> str:
        """Leave out the secret."""
        return f"Identity({self.cluster_id}, {self.store_id})"


class Entry(NamedTuple):
    """A revision to be written. Its change is not empty."""

    revision: int
    author: Author
    change: Change


class Logged(NamedTuple):
    """A revision as the log of changes has it.

    ``batch`` identifies the commit that wrote it; None where the store is not shared, or the row
    was copied from one. Kinds that this version does not know are left out of ``change``.
    """

    revision: int
    time_ms: int
    node_id: int | None
    batch: UUID | None
    author: Author
    change: Change


class StoredState(NamedTuple):
    """All rows of a store at one revision, by the name of the kind."""

    revision: int
    batch: UUID | None
    rows: Mapping[str, Sequence[Any]]


class LogReader(ABC):
    """A connection over which a shared store is read."""

    is_checked: bool = True
    """False on a new connection, until its history was compared with that of the node."""

    @abstractmethod
    async def head(self) -> int:
        """Return the newest revision."""

    @abstractmethod
    async def batch_of(self, revision: int) -> tuple[UUID | None] | None:
        """Return which commit wrote a revision, by itself; None alone: the log was pruned."""

    @abstractmethod
    async def changes(self, after: int, rows_max: int) -> list[Logged]:
        """Return the revisions beyond ``after``, in order, about ``rows_max`` rows of them.

        The last one is whole. Where the log was pruned, the first is not the one after ``after``.
        """

    @abstractmethod
    async def load(self) -> StoredState:
        """Read all rows, as of one moment."""


class Lease(LogReader):
    """The right to write, until its context ends. Nobody else writes meanwhile."""

    @abstractmethod
    def commit(self, entries: Sequence[Entry], batch: UUID | None) -> Awaitable[None]:
        """Write revisions, which follow the head without a gap, in one transaction.

        ``batch`` identifies the commit in the log of a shared store; None where it is not shared.
        A store with a thread begins before the awaitable is awaited. To be called once.

        Raises (the awaitable):
            OutcomeUnknown: the store went away while it committed.
            StoreAway: it went away before; nothing is stored.
            StorageError: nothing is stored, and trying again would not help.

        """


class Store(ABC):
    """A durable store. For the loop's thread, but for ``rows``."""

    is_shared: bool = False
    """Whether other nodes write to it."""

    timeout_s: float | None = None
    """For how long a change waits for a store that is away; None: it is never away."""

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """Return what the store is."""

    @property
    @abstractmethod
    def revision(self) -> int:
        """Return the revision of the rows that ``rows`` returns: the newest at the opening."""

    @property
    def batch(self) -> UUID | None:
        """Return which commit wrote that revision; None where the store is not shared."""
        return None

    @property
    def unavailable(self) -> str | None:
        """Return why the store cannot be used at the moment; None where it can."""
        return None

    @property
    def is_lost(self) -> bool:
        """Say whether an operator has to act: the store was removed, replaced or set back."""
        return self.unavailable is not None

    @abstractmethod
    def rows(self, kind: Kind) -> Iterator[Any]:
        """Read the rows of a kind, as of ``revision``; in any thread, before the first lease."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:  # noqa: B027 - a hook
        """Prepare to write."""

    @abstractmethod
    def lease(self) -> AbstractAsyncContextManager[Lease]:
        """Wait for the right to write.

        Raises:
            StoreAway: the store cannot be reached; ask again later.
            StoreReplaced: it is not the store that this node knows.

        """

    async def follow(  # noqa: B027 - a store that is not shared has nothing to follow
        self, catch_up: Callable[[LogReader], Awaitable[None]]
    ) -> None:
        """Call ``catch_up`` whenever there may be something new, until cancelled.

        What it raises counts as the store's failure: it is logged, and tried again.
        """

    async def aclose(self) -> None:  # noqa: B027 - a hook
        """Release the database; may be called twice."""


def change_from(rows: Iterable[tuple[Kind, bool, Any]]) -> Change:
    """Return the change of decoded rows of one revision: kind, whether it is deleted, row."""
    parts: dict[Kind, tuple[list[Any], list[Any]]] = {}
    for kind, deleted, row in rows:
        parts.setdefault(kind, ([], []))[deleted].append(row)
    return {kind: Edit(tuple(set_), tuple(gone)) for kind, (set_, gone) in parts.items()}
