"""The load at the start, and what may be done before it ends."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import TYPE_CHECKING

import pytest

from doorkeeper.authorizer.contract import AuthorizationResult
from doorkeeper.authorizer.standard import AuthorizerNotReady, StandardAuthorizer
from doorkeeper.errors import ErrorCode
from doorkeeper.storage.contract import StorageError, StoredBinding
from testkit.acl import READ, allow, request_of, to, topic, wanted
from testkit.authorizers import CLIENTS, CONTROLLER, SERVER, CollectedAudit, HeldStore

if TYPE_CHECKING:
    from collections.abc import Iterator

A = allow("alice", READ, topic("a"))
READS = [to(READ, topic("a"))]


class SlowStore(HeldStore):
    """Gives its first binding, then waits to be let on."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__([StoredBinding("1" * 22, A)])
        self.go_on = threading.Event()
        self.given_up = threading.Event()
        self.asked_for_more = threading.Event()
        self._error = error

    def bindings(self) -> Iterator[StoredBinding]:
        try:
            yield from super().bindings()
            assert self.go_on.wait(30)
            if self._error is not None:
                raise self._error
            yield StoredBinding("2" * 22, allow("bob", READ, topic("a")))
            self.asked_for_more.set()
            yield StoredBinding("3" * 22, allow("carol", READ, topic("a")))
        finally:
            self.given_up.set()


def over(store: HeldStore) -> StandardAuthorizer:
    authorizer = StandardAuthorizer(audit=CollectedAudit())
    authorizer.configure({"super.users": "User:root"})
    authorizer.attach(store)
    return authorizer


async def test_listeners_that_start_early_do_not_wait() -> None:
    """The others share the end of the load, after which everything is there."""
    store = SlowStore()
    authorizer = over(store)
    awaitables = authorizer.start(SERVER)

    await awaitables[CONTROLLER]
    assert authorizer.acl_count() == 0
    store.go_on.set()
    await awaitables[CLIENTS]

    assert authorizer.acl_count() == 3
    assert authorizer.authorize(request_of("alice"), READS) == [AuthorizationResult.ALLOWED]


async def test_before_the_end_only_super_users_are_served() -> None:
    """Others get no answer at all, and nobody can change anything."""
    store = SlowStore()
    authorizer = over(store)
    awaitables = authorizer.start(SERVER)

    assert authorizer.authorize(request_of("root"), READS) == [AuthorizationResult.ALLOWED]
    with pytest.raises(AuthorizerNotReady):
        authorizer.authorize(request_of("alice"), READS)
    assert authorizer.authorize(request_of("alice"), []) == []
    created = await authorizer.create_acls(request_of("root"), [A])[0]
    deleted = await authorizer.delete_acls(request_of("root"), [wanted()])[0]

    for error in (created.error, deleted.error):
        assert error is not None
        assert error.code is ErrorCode.NOT_CONTROLLER
        assert error.message == "No controller appears to be active."
    assert store.changes == []
    store.go_on.set()
    await awaitables[CLIENTS]


async def test_a_store_that_cannot_be_read_fails_the_listeners() -> None:
    """With the store's own error."""
    store = SlowStore(StorageError("acls.db: malformed"))
    awaitables = over(store).start(SERVER)
    store.go_on.set()

    with pytest.raises(StorageError, match=r"^acls\.db: malformed$"):
        await awaitables[CLIENTS]


async def test_closing_gives_up() -> None:
    """Listeners get Kafka's text, and the reading stops at the next binding."""
    store = SlowStore()
    authorizer = over(store)
    awaitables = authorizer.start(SERVER)

    authorizer.close()
    store.go_on.set()

    with pytest.raises(
        TimeoutError,
        match=r"^The authorizer was closed before the initial load could complete\.$",
    ):
        await awaitables[CLIENTS]
    assert await asyncio.to_thread(store.given_up.wait, 30)
    assert not store.asked_for_more.is_set()
    assert authorizer.acl_count() == 0


async def test_the_collector_runs_again_after_the_load() -> None:
    """It is only paused."""
    store = SlowStore()
    store.go_on.set()
    assert gc.isenabled()

    await over(store).start(SERVER)[CLIENTS]

    assert gc.isenabled()
