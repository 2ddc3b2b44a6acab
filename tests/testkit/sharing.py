"""Nodes of one database inside a test: each a store with a state log over it."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import asyncpg

from doorkeeper.acls.model import ANY_BINDING
from doorkeeper.acls.search import find
from doorkeeper.server.authorizer.standard import plan_creation, plan_deletion
from doorkeeper.server.schema.change import Origin
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.postgres.store import PostgresStore
from doorkeeper.server.state.store import StorageError
from testkit.load import scaled
from testkit.shared_stores import AUTHOR

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.server.runtime.metrics.meters import StoreMeter
    from doorkeeper.server.state.postgres.connecting import Check
    from doorkeeper.server.state.submissions import Plan

ORIGIN = Origin(AUTHOR)

PATIENCE_S = 30.0
"""What is milliseconds on a quiet machine."""

_NUMBERS = count()


class Node:
    """A store, and the state over it."""

    def __init__(self, store: PostgresStore, log: StateLog) -> None:
        self.store = store
        self.log = log

    @property
    def revision(self) -> int:
        """The newest revision that the node has."""
        return self.log.state.revision

    def create(self, *bindings: AclBinding) -> asyncio.Future[StorageError | None]:
        """Create bindings; the result is None or what failed."""

        return self.submit(partial(plan_creation, bindings, [new_id() for _ in bindings]))

    def delete(self, wanted: AclBindingFilter) -> asyncio.Future[StorageError | None]:
        """Delete what a filter matches."""

        return self.submit(partial(plan_deletion, [wanted]))

    def submit(self, plan: Plan[Any]) -> asyncio.Future[StorageError | None]:
        """Submit a plan; the result is None or what failed."""
        submitted = self.log.submit(plan, ORIGIN)

        async def outcome() -> StorageError | None:
            try:
                await submitted
            except StorageError as error:
                return error
            return None

        return asyncio.ensure_future(outcome())

    def seen(self) -> list[AclBinding]:
        """Return all ACLs from which decisions are made."""
        return find(self.log.state.acls, ANY_BINDING)

    async def reaches(self, revision: int) -> None:
        """Wait until the node has a revision."""
        await comes(lambda: self.revision >= revision)

    async def reachable(self) -> None:
        """Wait until the store answers both connections: each comes back in its own time."""
        await comes(lambda: self.store.unavailable is None)


async def comes(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(scaled(PATIENCE_S)):
        while not true():
            await asyncio.sleep(0.002)


def connecting(url: str, **options: Any) -> Callable[..., Awaitable[asyncpg.Connection]]:
    """Return what connects to a database as a node does."""
    usual = {"timeout": 2, "command_timeout": 2, "target_session_attrs": "read-write"}

    async def connect(check: Check | None = None) -> asyncpg.Connection:
        connection = await asyncpg.connect(url, **usual, **options)
        try:
            if check is not None:
                await check(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    return connect


@asynccontextmanager
async def node(
    url: str,
    node_id: int = 1,
    timeout_s: float = 5,
    *,
    connect: Callable[..., Awaitable[asyncpg.Connection]] | None = None,
    retention_days: int = -1,
    lease_timeout_s: float = 3,
    identity_file: Path | None = None,
    meter: StoreMeter | None = None,
) -> AsyncIterator[Node]:
    """Open a node; it ends with the context."""
    store = PostgresStore(
        connecting(url) if connect is None else connect,
        name="the test's",
        node_id=node_id,
        timeout_s=timeout_s,
        retention_days=retention_days,
        lease_timeout_s=lease_timeout_s,
        identity_file=identity_file,
        meter=meter,
    )
    await store.open(os.urandom)
    log = StateLog(store)
    try:
        await log.start()
        yield Node(store, log)
    finally:
        await log.aclose()


def new_id() -> str:
    """Return the id of a new binding."""
    return f"{next(_NUMBERS):022}"
