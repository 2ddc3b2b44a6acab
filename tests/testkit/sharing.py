"""Nodes of one database inside a test: each a store with an authorizer's timeline over it."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import asyncpg

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.acl.search import find
from doorkeeper.authorizer.plans import (
    creation_refusals,
    deletion_refusals,
    plan_creation,
    plan_deletion,
)
from doorkeeper.authorizer.timeline import Timeline
from doorkeeper.storage.contract import Author, Change
from doorkeeper.storage.postgres.store import PostgresStore
from testkit.edge import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.metrics.hooks import StoreMeter
    from doorkeeper.storage.contract import StorageError

AUTHOR = Author("User:admin", "192.0.2.7", "PLAINTEXT", "adminclient-1")
_NUMBERS = count()


class Node:
    """A store, and the ACLs over it."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.timeline = Timeline(store, None)
        store.join(self.timeline)
        self.timeline.begin(load(store.bindings()))
        store.start(asyncio.get_running_loop())

    def create(self, *bindings: AclBinding) -> asyncio.Future[StorageError | None]:
        """Create bindings; the result is None or what failed."""

        def plan(state: Snapshot) -> Change:
            planned = plan_creation(state, bindings, creation_refusals(bindings), _new_id)
            return Change(author=AUTHOR, bindings_added=planned.added)

        return self._submitted(plan)

    def delete(self, wanted: AclBindingFilter) -> asyncio.Future[StorageError | None]:
        """Delete what a filter matches."""

        def plan(state: Snapshot) -> Change:
            planned = plan_deletion(state, [wanted], deletion_refusals([wanted]))
            return Change(author=AUTHOR, bindings_removed=planned.removed)

        return self._submitted(plan)

    def _submitted(self, plan: Callable[[Snapshot], Change]) -> asyncio.Future[StorageError | None]:
        done: asyncio.Future[StorageError | None] = asyncio.get_running_loop().create_future()
        self.timeline.submit(plan, done.set_result)
        return done

    def seen(self) -> list[AclBinding]:
        """Return all that decisions are made from."""
        return find(self.timeline.visible, ANY_BINDING)

    async def reaches(self, revision: int) -> None:
        """Wait until the node has a revision."""
        async with asyncio.timeout(PATIENCE_S):
            while self.store.revision < revision:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.002)


def connecting(url: str, **options: Any) -> Callable[[], Awaitable[asyncpg.Connection]]:
    """Return what connects to a database as a node does."""
    usual = {"timeout": 2, "command_timeout": 2, "target_session_attrs": "read-write"}

    async def connect() -> asyncpg.Connection:
        return await asyncpg.connect(url, **usual, **options)

    return connect


@asynccontextmanager
async def node(
    url: str,
    node_id: int = 1,
    timeout_s: float = 5,
    retention_days: int = -1,
    meter: StoreMeter | None = None,
) -> AsyncIterator[Node]:
    """Open a node; it ends with the context."""
    store = await PostgresStore.open(
        connecting(url),
        name="the test's",
        node_id=node_id,
        random_bytes=os.urandom,
        timeout_s=timeout_s,
        retention_days=retention_days,
        meter=meter,
    )
    made = Node(store)
    try:
        yield made
    finally:
        await store.aclose()


def _new_id() -> str:
    return f"{next(_NUMBERS):022}"
