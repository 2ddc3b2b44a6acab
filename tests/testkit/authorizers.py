"""Authorizers that are started, and a store in memory whose commits a test delivers or fails."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING

from doorkeeper.server.authorizer.contract import AuthorizerServerInfo, Endpoint
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.operations.logs.levels import LoggerThreshold
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Edit, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.store import Lease, StorageError
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from uuid import UUID

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.authorizer.contract import AuthorizerLog
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.store import LogEntry, Store

CLIENTS = Endpoint("CLIENTS", "PLAINTEXT", "localhost", 9092)
CONTROLLER = Endpoint("CONTROLLER", "PLAINTEXT", "localhost", 9093)
SERVER = AuthorizerServerInfo(
    cluster_id="c" * 22,
    node_id=1,
    endpoints=(CLIENTS, CONTROLLER),
    inter_broker_endpoint=CLIENTS,
    early_start_listeners=frozenset({"CONTROLLER"}),
)


class HeldStore(MemoryStore):
    """Keeps commits until the test says what becomes of them.

    The log commits one batch after the other, so that at most one is held.
    """

    def __init__(self, stored: Iterable[StoredBinding] = ()) -> None:
        super().__init__(edit(ACL, set=stored), cluster_id="c" * 22, salt_key=b"k" * 32)
        self.durable = {each.binding: each.binding_id for each in stored_of(self)}
        self.held_changes: list[Change] = []
        self._held: tuple[Sequence[LogEntry], asyncio.Future[None]] | None = None
        self._is_held = asyncio.Event()

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Lease]:
        async with super().lease():
            yield _HeldLease(self)

    def hold(self, entries: Sequence[LogEntry]) -> asyncio.Future[None]:
        self.held_changes += [entry.change for entry in entries]
        self._held = entries, asyncio.get_running_loop().create_future()
        self._is_held.set()
        return self._held[1]

    async def begun(self) -> None:
        """Wait until a commit is held."""
        async with asyncio.timeout(scaled(20)):
            await self._is_held.wait()

    async def deliver(self) -> None:
        """Let the next commit become durable."""
        entries, future = await self._take()
        for change in [entry.change.get(ACL, Edit()) for entry in entries]:
            for gone in change.deleted:
                assert self.durable.pop(gone.binding) == gone.binding_id
            for new in change.set:
                assert new.binding not in self.durable
                self.durable[new.binding] = new.binding_id
        self.entries += entries
        future.set_result(None)
        await settled()

    async def fail(self, error: StorageError | None = None) -> None:
        """Fail the next commit."""
        _, future = await self._take()
        future.set_exception(error or StorageError("disk full: store.db"))
        await settled()

    async def _take(self) -> tuple[Sequence[LogEntry], asyncio.Future[None]]:
        await self.begun()
        assert self._held is not None
        held, self._held = self._held, None
        self._is_held.clear()
        return held


class _HeldLease(Lease):
    def __init__(self, store: HeldStore) -> None:
        self._store = store

    def commit(self, encoded: Sequence[LogEntry], batch: UUID | None) -> asyncio.Future[None]:
        return self._store.hold(encoded)

    async def head(self) -> int:
        raise AssertionError("nothing else writes this store")

    batch_of = changes = load = head  # type: ignore[assignment]


def stored_of(store: Store) -> Iterable[StoredBinding]:
    """Return the ACLs with which a store begins."""
    return store.rows(ACL)


async def settled() -> None:
    """Give everything that is ready some turns of the loop."""
    for _ in range(20):
        await asyncio.sleep(0)


class CollectedAuthorizerLog:
    """Keeps authorizer log lines with their levels; takes those from a level on."""

    def __init__(self, level: int = 0) -> None:
        self.threshold = LoggerThreshold(level)
        self.lines: list[tuple[int, str]] = []

    def write(self, level: int, text: str) -> None:
        self.lines.append((level, text))


def decide_from(authorizer: StandardAuthorizer, snapshot: Snapshot) -> None:
    """Let an authorizer decide from a snapshot, without a loop and without a start."""
    log = StateLog(MemoryStore())
    log.amend(acls=snapshot)
    authorizer.attach(log)
    authorizer._ready = True


async def started(
    *bindings: AclBinding,
    store: Store | None = None,
    authorizer_log: AuthorizerLog | None = None,
    **configs: str,
) -> StandardAuthorizer:
    """Return an authorizer that holds the bindings; dots in keys are written ``__``."""
    ids = count()
    authorizer = StandardAuthorizer(
        new_ids=lambda count: [f"{next(ids):022}" for _ in range(count)],
        authorizer_log=CollectedAuthorizerLog(100) if authorizer_log is None else authorizer_log,
    )
    authorizer.configure({key.replace("__", "."): value for key, value in configs.items()})
    if store is None and bindings:
        rows = (StoredBinding(f"s{n:021}", each) for n, each in enumerate(bindings))
        store = MemoryStore(edit(ACL, set=rows))
    if store is not None:
        authorizer.attach(StateLog(store))
    await asyncio.gather(*authorizer.start(SERVER).values())
    return authorizer
