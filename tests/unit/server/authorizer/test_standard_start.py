"""The start of the standard authorizer: the load, and what may be done before it ends."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import ANY_BINDING, ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.authorizer.contract import AuthorizationResult, DecisionPending
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.store import StorageError
from testkit.acl import READ, allow, request_of, to, topic, wanted
from testkit.authorizers import CLIENTS, CONTROLLER, SERVER, CollectedAuthorizerLog
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from doorkeeper.server.schema.kind import Kind

A = allow("alice", READ, topic("a"))
READS = [to(READ, topic("a"))]


class SlowStore(MemoryStore):
    """Returns its first ACL, then waits for ``go_on``."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self._error = error
        self.go_on = threading.Event()
        self.given_up = threading.Event()
        self.asked_for_more = threading.Event()

    def rows(self, kind: Kind) -> Iterator[Any]:
        return self._acls() if kind is ACL else super().rows(kind)

    def _acls(self) -> Iterator[StoredBinding]:
        try:
            yield StoredBinding("1" * 22, A)
            assert self.go_on.wait(scaled(30))
            if self._error is not None:
                raise self._error
            yield StoredBinding("2" * 22, allow("bob", READ, topic("a")))
            self.asked_for_more.set()
            yield StoredBinding("3" * 22, allow("carol", READ, topic("a")))
        finally:
            self.given_up.set()


def over(log: StateLog) -> StandardAuthorizer:
    authorizer = StandardAuthorizer(authorizer_log=CollectedAuthorizerLog())
    authorizer.configure({"super.users": "User:root"})
    authorizer.attach(log)
    return authorizer


async def test_early_start_listeners_do_not_wait() -> None:
    store = SlowStore()
    authorizer = over(StateLog(store))
    awaitables = authorizer.start(SERVER)

    await awaitables[CONTROLLER]
    assert authorizer.acl_count() == -1
    store.go_on.set()
    await awaitables[CLIENTS]

    assert authorizer.acl_count() == 3
    assert authorizer.authorize(request_of("alice"), READS) == [AuthorizationResult.ALLOWED]


async def test_only_super_users_are_served_before_the_load() -> None:
    store = SlowStore()
    authorizer = over(StateLog(store))
    awaitables = authorizer.start(SERVER)

    assert authorizer.authorize(request_of("root"), READS) == [AuthorizationResult.ALLOWED]
    alice = request_of("alice")
    reads: tuple[Callable[[], object], ...] = (
        lambda: authorizer.authorize(alice, READS),
        lambda: authorizer.authorized_operations(alice, [topic("a")]),
        lambda: authorizer.authorize_by_resource_type(alice, READ, ResourceType.TOPIC),
        lambda: authorizer.acls(ANY_BINDING),
    )
    for read in reads:
        with pytest.raises(DecisionPending) as caught:
            read()
        assert caught.value.known is awaitables[CLIENTS]
    assert authorizer.authorize(request_of("alice"), []) == []
    created = await authorizer.create_acls(request_of("root"), [A])
    deleted = await authorizer.delete_acls(request_of("root"), [wanted()])

    for error in (created[0].error, deleted[0].error):
        assert error is not None
        assert error.code is ErrorCode.NOT_CONTROLLER
        assert error.message == "No controller appears to be active."
    assert store.entries == []
    store.go_on.set()
    await awaitables[CLIENTS]


async def test_unreadable_store_fails_the_listeners() -> None:
    store = SlowStore(StorageError("acls.db: malformed"))
    awaitables = over(StateLog(store)).start(SERVER)
    store.go_on.set()

    with pytest.raises(StorageError, match=r"^acls\.db: malformed$"):
        await awaitables[CLIENTS]


async def test_close_aborts_the_load() -> None:
    """Listeners get Kafka's text; the reading stops at the next binding when the log closes."""
    store = SlowStore()
    log = StateLog(store)
    authorizer = over(log)
    awaitables = authorizer.start(SERVER)

    authorizer.close()
    with pytest.raises(
        TimeoutError,
        match=r"^The authorizer was closed before the initial load could complete\.$",
    ):
        await awaitables[CLIENTS]
    # It waits for the thread, which asks for its next binding.
    closing = asyncio.ensure_future(log.aclose())
    await asyncio.sleep(0)
    store.go_on.set()
    await closing

    assert store.given_up.is_set()
    assert not store.asked_for_more.is_set()
    assert authorizer.acl_count() == -1


async def test_started_log_is_reused() -> None:
    store = SlowStore()
    log = StateLog(store)
    loading = log.start()
    awaitables = over(log).start(SERVER)
    assert log.loaded is loading
    assert not awaitables[CLIENTS].done()  # type: ignore[attr-defined]

    store.go_on.set()
    await awaitables[CLIENTS]

    assert loading.done()
    again = over(log)
    assert again.start(SERVER)[CLIENTS].done()  # type: ignore[attr-defined]
    assert again.acl_count() == 3


async def test_own_log_is_closed() -> None:
    authorizer = StandardAuthorizer()
    await authorizer.start(SERVER)[CLIENTS]

    authorizer.close()

    others = asyncio.all_tasks() - {asyncio.current_task()}
    async with asyncio.timeout(scaled(20)):
        await asyncio.wait(others)
