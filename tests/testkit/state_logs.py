"""A store for tests of the state log, which several nodes may share and which fails on demand."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from doorkeeper.server.schema.change import SERVER, Author, edit
from doorkeeper.server.schema.declared import CONFIG, KINDS, StoredConfig
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.store import (
    Lease,
    LogEntry,
    Logged,
    LogReader,
    StorageError,
    Store,
    StoredState,
    StoreIdentity,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from uuid import UUID

    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.kind import Kind
    from doorkeeper.server.state.state import State
    from doorkeeper.server.state.submissions import Plan


class Database:
    """What the stores of a test share: the log of changes, and the rows that it leads to."""

    def __init__(self, initial: Change | None = None) -> None:
        """Begin with the rows that a change sets, at revision 0."""
        self.rows: dict[str, dict[Any, Any]] = {name: {} for name in KINDS}
        self.logged: list[Logged] = []
        self.authors: list[Author] = []
        """The author of each revision."""
        self.news = asyncio.Condition()
        self.lock = asyncio.Lock()
        self._take(initial or {})

    @property
    def revision(self) -> int:
        """Return the newest revision."""
        return self.logged[-1].revision if self.logged else 0

    def write(self, entries: Sequence[LogEntry], batch: UUID | None) -> None:
        """Write revisions, which follow the newest without a gap."""
        for revision, author, change in entries:
            assert revision == self.revision + 1
            assert change
            self.logged.append(Logged(revision, batch, change))
            self.authors.append(author)
            self._take(change)

    async def ring(self) -> None:
        """Have followers look."""
        async with self.news:
            self.news.notify_all()

    def _take(self, change: Change) -> None:
        for kind, edited in change.items():
            rows = self.rows[kind.name]
            for row in edited.deleted:
                rows.pop(kind.key_of(row), None)
            for row in edited.set:
                rows[kind.key_of(row)] = row


class ScriptedStore(Store):
    """A store of a database. What shall go wrong stands in its attributes.

    ``lease_faults`` and ``commit_faults`` are raised one after the other, the latter before
    anything is written; ``lost_answers`` are raised after it was written. ``culprits`` are names
    of configuration keys that cannot be stored. Commits wait for ``gate``. With ``is_reconnected``
    each lease is a new connection.
    """

    def __init__(self, database: Database, timeout_s: float | None = None) -> None:
        """Open the database."""
        self.database = database
        self.timeout_s = timeout_s
        self.is_shared = timeout_s is not None
        self.is_away = False
        self.lease_faults: list[Exception] = []
        self.commit_faults: list[Exception] = []
        self.lost_answers: list[Exception] = []
        self.follow_faults: list[Exception] = []
        self.culprits: set[str] = set()
        self.gate = asyncio.Event()
        self.gate.set()
        self.leases = 0
        self.commits: list[list[int]] = []
        self.loads = 0
        self.is_closed = False
        self.is_reconnected = False
        self.identity = StoreIdentity("c" * 22, "s" * 22, bytes(32))
        self.revision = database.revision
        self.batch = database.logged[-1].batch if database.logged else None
        self._rows = {name: list(rows.values()) for name, rows in database.rows.items()}

    @property
    def unavailable(self) -> str | None:
        return "away" if self.is_away else None

    def rows(self, kind: Kind) -> Iterator[Any]:
        return iter(self._rows[kind.name])

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease]:
        self.leases += 1
        if self.lease_faults:
            raise self.lease_faults.pop(0)
        if self.is_away:
            raise StoreUnavailable("the store is away")
        async with self.database.lock:
            yield _ScriptedLease(self)

    async def follow(self, catch_up: Callable[[LogReader], Awaitable[None]]) -> None:
        reader = _ScriptedLease(self)
        while self.timeout_s is not None:
            async with self.database.news:
                await self.database.news.wait()
            try:
                await catch_up(reader)
            except Exception as error:  # as a store does
                self.follow_faults.append(error)

    async def aclose(self) -> None:
        self.is_closed = True


class _ScriptedLease(Lease):
    def __init__(self, store: ScriptedStore) -> None:
        self._store = store
        self._database = store.database
        self.is_checked = not store.is_reconnected

    async def commit(self, encoded: Sequence[LogEntry], batch: UUID | None) -> None:
        entries, store = encoded, self._store
        store.commits.append([entry.revision for entry in entries])
        await store.gate.wait()
        if store.commit_faults:
            raise store.commit_faults.pop(0)
        names = {row.name for entry in entries for row in configs_in(entry.change)}
        if names & store.culprits:
            raise StorageError(f"{', '.join(sorted(names & store.culprits))} cannot be stored")
        self._database.write(entries, batch)
        if store.lost_answers:
            raise store.lost_answers.pop(0)

    async def head(self) -> int:
        return self._database.revision

    async def batch_of(self, revision: int) -> tuple[UUID | None] | None:
        for logged in self._database.logged:
            if logged.revision == revision:
                return (logged.batch,)
        return None

    async def changes(self, after: int, rows_max: int) -> list[Logged]:
        return [logged for logged in self._database.logged if logged.revision > after][:rows_max]

    async def load(self) -> StoredState:
        self._store.loads += 1
        newest = self._database.logged[-1]
        rows = {name: list(rows.values()) for name, rows in self._database.rows.items()}
        return StoredState(newest.revision, newest.batch, rows)


def configs_in(change: Change) -> list[StoredConfig]:
    """Return the configuration values that a change sets."""
    return list(change[CONFIG].set) if CONFIG in change else []


def row(name: str, value: str = "1") -> StoredConfig:
    """Return a value of a key."""
    return StoredConfig("", name, value)


def setting(*names: str) -> Plan[None]:
    """Return a plan that sets keys to 1."""
    return lambda _state: (edit(CONFIG, set=[row(name) for name in names]), None)


def counting(state: State) -> tuple[Change, int]:
    """Plan to set ``count`` to one more than it is, and to return it."""
    found = state.configs.get("", "count")
    number = int(found.value) + 1 if found else 1
    return edit(CONFIG, set=[row("count", str(number))]), number


def keys_of(state: State) -> list[str]:
    """Return the names of the configuration keys that have values, sorted."""
    return sorted(each.name for each in state.configs)


def submit(log: StateLog, *names: str) -> asyncio.Future[Any]:
    """Submit a change that sets keys."""
    return log.submit(setting(*names), SERVER)


async def turns(number: int = 50) -> None:
    """Let everybody run who can without time passing."""
    for _ in range(number):
        await asyncio.sleep(0)


OTHER = Author("User:other", "10.0.0.2", "CLIENTS", "other")
"""The author of what another node writes."""


async def started(store: Store, **options: Any) -> StateLog:
    """Return the log of a store, with its ACLs loaded."""
    log = StateLog(store, **options)
    await log.start()
    return log


async def alone(**options: Any) -> tuple[StateLog, ScriptedStore]:
    """Return a node with a store of its own."""
    store = ScriptedStore(Database())
    return await started(store, **options), store


async def sharing(
    database: Database | None = None, timeout_s: float = 10, **options: Any
) -> tuple[StateLog, ScriptedStore]:
    """Return a node with a store that others may write."""
    store = ScriptedStore(database or Database(), timeout_s)
    log = await started(store, **options)
    await turns()  # until it follows
    return log, store


async def outcomes(*futures: asyncio.Future[Any]) -> list[int | type[BaseException]]:
    """Return the revision of each, or the class of its error."""
    results = await asyncio.gather(*futures, return_exceptions=True)
    return [
        type(result) if isinstance(result, BaseException) else result.revision for result in results
    ]


def write(database: Database, *names: str) -> None:
    """Write a revision as another node does."""
    change = edit(CONFIG, set=[row(name) for name in names])
    database.write([LogEntry(database.revision + 1, OTHER, change)], uuid.uuid4())
