"""The interface between the state log and durable stores of any database.

A store has two parts: the *change log*, one revision for each change, numbered without gaps, and
the *items*, the state after all these changes. The change log is append-only; the store applies
each row that it appends to the items in the same transaction.

A store knows no requests, plans or states. ``StateLog`` takes the lease, reads the revisions of
other nodes, plans, and commits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from doorkeeper.base.uuids import random_uuid
from doorkeeper.server.schema.change import Author, Change, Edit
from doorkeeper.server.schema.kind import Kind

if TYPE_CHECKING:
    import asyncio
    from uuid import UUID

    from doorkeeper.base.slices import Slices


class StorageError(Exception):
    """A change was not stored; the text names the store and the reason."""


class StoreInUse(StorageError):
    """Another process has locked the store, most likely its server."""


class StoreUnavailable(StorageError):
    """A shared store was unavailable until the deadline. The change was withdrawn."""


class StoreReplaced(StorageError):
    """The store is not the one that this node used before, or lost acknowledged revisions.

    It stays unavailable until an operator acts; the node keeps serving its last state.
    """


class StateDiffers(StoreReplaced):
    """The rows of a store are not those that it wrote: see ``storage.digest``."""


class OutcomeUnknown(StorageError):
    """A shared store became unavailable during a commit: the change may be durable or not."""


class StoreIdentity(NamedTuple):
    """The identity of a store.

    Clients see ``cluster_id`` (22 characters), which copies to other databases keep; ``store_id``
    names the database. ``salt_key`` is 32 secret bytes, from which SCRAM salts of unknown users are
    derived.
    """

    cluster_id: str
    store_id: str
    salt_key: bytes

    def __repr__(self) -> str:
        return f"StoreIdentity({self.cluster_id}, {self.store_id})"


def new_identity(random_bytes: Callable[[int], bytes]) -> StoreIdentity:
    return StoreIdentity(random_uuid(random_bytes), random_uuid(random_bytes), random_bytes(32))


class LogEntry(NamedTuple):
    """A revision to write. Its change is not empty."""

    revision: int
    author: Author
    change: Change


class Logged(Struct, frozen=True):
    """A revision from the change log of a shared store.

    ``batch`` identifies the commit that wrote it; None where the row was copied from a store that
    is not shared. ``change`` lacks kinds that this version does not know.
    """

    revision: int
    batch: UUID | None
    change: Change


class StoredState(Struct, frozen=True):
    """All rows of a store at one revision, by the name of the kind."""

    revision: int
    batch: UUID | None
    rows: Mapping[str, Sequence[Any]]


class LogReader:
    """A connection that reads a shared store; a lease of any other one is not read from."""

    is_checked: bool = True
    """False on a new connection until its history was compared with the node's."""

    async def head(self) -> int:
        """Return the newest revision."""
        raise NotImplementedError

    async def batch_of(self, revision: int) -> tuple[UUID | None] | None:
        """Return a tuple with the id of the commit that wrote a revision; None if it was pruned."""
        del revision  # of this process, which has no id
        return (None,)

    async def changes(self, after: int, rows_max: int) -> list[Logged]:
        """Return about ``rows_max`` rows of the revisions after ``after``, in order.

        The last revision is complete. If the log was pruned, the first is not ``after`` + 1.
        """
        raise NotImplementedError

    async def load(self) -> StoredState:
        """Read all rows in one consistent snapshot."""
        raise NotImplementedError


class Lease(LogReader, ABC):
    """The exclusive right to write, until its context ends."""

    def encode(self, entries: Sequence[LogEntry]) -> Any | Slices[Any]:  # noqa: ANN401 - a store's own type
        """Convert revisions to what ``commit`` takes; many rows in slices.

        Here and not in a thread of the store: two threads that run Python code wait for each
        other's global lock, up to 5 ms each time.
        """
        return entries

    @abstractmethod
    def commit(self, encoded: Any, batch: UUID | None) -> Awaitable[None]:  # noqa: ANN401 - as above
        """Write encoded revisions in one transaction; they follow the head without a gap.

        ``batch`` identifies the commit in the log of a shared store; None where it is not shared. A
        store with a writer thread starts before the awaitable is awaited. Call it once for each
        lease.

        Raises (the awaitable):
            OutcomeUnknown: the store became unavailable during the commit.
            StoreUnavailable: it became unavailable before; nothing is stored.
            StorageError: nothing is stored, and a retry would not help.
        """

    async def keep(self) -> None:
        """Show that the holder is at work; called every few milliseconds by long plans.

        Raises nothing: ``commit`` finds out that the lease was lost.
        """


class Store(ABC):
    """A durable store. For the event loop's thread, except ``rows``."""

    is_shared: bool = False
    """Whether other nodes write to it."""

    timeout_s: float | None = None
    """How long a change waits for an unavailable store; None: it is never unavailable."""

    identity: StoreIdentity

    revision: int
    """That of ``rows``: the newest when the store was opened; 0 in a new store."""

    batch: UUID | None = None
    """The id of the commit of ``revision``; None where the store is not shared."""

    @property
    def unavailable(self) -> str | None:
        """Return why the store is unavailable at the moment; None if it is available."""
        return None

    @property
    def is_lost(self) -> bool:
        """Return whether an operator must act: the store was removed, replaced or rolled back."""
        return self.unavailable is not None

    @abstractmethod
    def rows(self, kind: Kind) -> Iterator[Any]:
        """Read the rows of a kind at ``revision``; in any thread, before the first lease."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Prepare for writing."""

    @abstractmethod
    def lease(self) -> AbstractAsyncContextManager[Lease]:
        """Wait for the write lease.

        Raises:
            StoreUnavailable: the store is unreachable; try again later.
            StoreReplaced: it is not the store that this node used before.
        """

    async def claim(self, name: str) -> bool:
        """Take or renew a right that one node at a time has, such as to change a cluster.

        Return whether this node has it.
        """
        del name  # without other nodes
        return True

    async def release(self, name: str) -> None:
        """Leave what this node has claimed to another one."""

    async def follow(self, catch_up: Callable[[LogReader], Awaitable[None]]) -> None:
        """Call ``catch_up`` whenever there may be new revisions, until cancelled.

        Its errors count as failures of the store: they are logged, and the call is repeated.
        """

    async def aclose(self) -> None:
        """Release the database; idempotent."""

    async def discard(self) -> None:
        """Release the database, and remove the files that opening it has created."""
        await self.aclose()


def change_from(rows: Iterable[tuple[Kind, bool, Any]]) -> Change:
    """Return the change of one revision from its rows: kind, whether deleted, decoded row."""
    parts: dict[Kind, tuple[list[Any], list[Any]]] = {}
    for kind, deleted, row in rows:
        parts.setdefault(kind, ([], []))[deleted].append(row)
    return {kind: Edit(tuple(set_), tuple(gone)) for kind, (set_, gone) in parts.items()}
