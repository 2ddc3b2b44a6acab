"""Authorizers that are started, and a store in memory whose commits a test delivers or fails."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING

from doorkeeper.authorizer.contract import AuthorizerServerInfo, Endpoint
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.storage.contract import StorageError, Store, StoredBinding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.authorizer.audit import AuditSink
    from doorkeeper.storage.contract import (
        Change,
        ConfigKey,
        CredentialKey,
        StoredToken,
        StoredTopic,
    )

CLIENTS = Endpoint("CLIENTS", "PLAINTEXT", "localhost", 9092)
CONTROLLER = Endpoint("CONTROLLER", "PLAINTEXT", "localhost", 9093)
SERVER = AuthorizerServerInfo(
    cluster_id="c" * 22,
    node_id=1,
    endpoints=(CLIENTS, CONTROLLER),
    inter_broker_endpoint=CLIENTS,
    early_start_listeners=frozenset({"CONTROLLER"}),
)


class HeldStore(Store):
    """Keeps changes until the test says what becomes of them."""

    def __init__(self, stored: Iterable[StoredBinding] = ()) -> None:
        self.durable = {each.binding: each.binding_id for each in stored}
        self.changes: list[Change] = []
        self._waiting: list[tuple[Change, Callable[[int | StorageError], None]]] = []
        self._revision = 0

    @property
    def cluster_id(self) -> str:
        return "c" * 22

    @property
    def salt_key(self) -> bytes:
        return b"k" * 32

    @property
    def revision(self) -> int:
        return self._revision

    def bindings(self) -> Iterator[StoredBinding]:
        for binding, binding_id in self.durable.items():
            yield StoredBinding(binding_id, binding)

    def topics(self) -> Iterator[StoredTopic]:
        return iter(())

    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        return iter(())

    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        return iter(())

    def tokens(self) -> Iterator[StoredToken]:
        return iter(())

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take changes: it always does."""

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        change = plan()
        if not change and not self._waiting:
            on_done(self._revision)
            return
        self.changes.append(change)
        self._waiting.append((change, on_done))

    def close(self) -> None:
        """Hold nothing."""

    def deliver(self) -> None:
        """Commit the oldest change."""
        change, on_done = self._waiting.pop(0)
        for gone in change.bindings_removed:
            assert self.durable.pop(gone.binding) == gone.binding_id
        for new in change.bindings_added:
            assert new.binding not in self.durable
            self.durable[new.binding] = new.binding_id
        self._revision += bool(change)
        on_done(self._revision)

    def fail(self) -> None:
        """Fail the oldest change, and with it all that wait, as the contract says."""
        self.fail_first()()

    def fail_first(self) -> Callable[[], None]:
        """Fail the oldest change; return what fails those behind it, to be called later."""
        (_, first), *doomed = self._waiting
        self._waiting = []
        first(StorageError("disk full: store.db"))

        def echo() -> None:
            for _, on_done in doomed:
                on_done(StorageError("disk full: store.db"))

        return echo

    @property
    def waiting(self) -> int:
        """Return how many changes are on their way."""
        return len(self._waiting)


class CollectedAudit:
    """Keeps audit lines with their levels; takes those from a level on."""

    def __init__(self, level: int = 0) -> None:
        self.level = level
        self.lines: list[tuple[int, str]] = []

    def enabled(self, level: int) -> bool:
        return level >= self.level

    def write(self, level: int, text: str) -> None:
        self.lines.append((level, text))


async def started(
    *bindings: AclBinding,
    store: Store | None = None,
    audit: AuditSink | None = None,
    **configs: str,
) -> StandardAuthorizer:
    """Return an authorizer that holds the bindings; dots in keys are written ``__``."""
    ids = count()
    authorizer = StandardAuthorizer(
        new_id=lambda: f"{next(ids):022}", audit=CollectedAudit(100) if audit is None else audit
    )
    authorizer.configure({key.replace("__", "."): value for key, value in configs.items()})
    if store is None and bindings:
        store = HeldStore(StoredBinding(f"s{n:021}", each) for n, each in enumerate(bindings))
    if store is not None:
        authorizer.attach(store)
    await asyncio.gather(*authorizer.start(SERVER).values())
    return authorizer
