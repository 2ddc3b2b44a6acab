"""The store behind the audit trail: whatever becomes durable through this node is recorded.

This is the one place where changes are recorded: here a change is whole, has its author, and its
revision is known. Those who wait for its answer wait for the trail as well; see ``net.shell``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.storage.contract import StorageError, Store

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.metrics.hooks import StoreSight
    from doorkeeper.storage.contract import (
        Change,
        ConfigKey,
        CredentialKey,
        Participant,
        StoredBinding,
        StoredToken,
        StoredTopic,
    )


class RecordedStore(Store):
    """Another store, whose changes are told when they are durable."""

    def __init__(self, store: Store, recorded: Callable[[Change, int], None]) -> None:
        """Stand before a store; ``recorded`` is given each change and its revision."""
        self._store = store
        self._recorded = recorded

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        """Write a change, and tell of it before ``on_done`` makes it visible."""
        last: Change | None = None

        def planned() -> Change:
            nonlocal last
            last = plan()
            return last

        def done(outcome: int | StorageError) -> None:
            if last and not isinstance(outcome, StorageError):
                self._recorded(last, outcome)
            on_done(outcome)

        self._store.submit(planned, done)

    # --- the rest is the store's

    @property
    def cluster_id(self) -> str:
        """Return the store's."""
        return self._store.cluster_id

    @property
    def salt_key(self) -> bytes:
        """Return the store's."""
        return self._store.salt_key

    @property
    def revision(self) -> int:
        """Return the store's."""
        return self._store.revision

    def bindings(self) -> Iterator[StoredBinding]:
        """Read the store's."""
        return self._store.bindings()

    def topics(self) -> Iterator[StoredTopic]:
        """Read the store's."""
        return self._store.topics()

    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        """Read the store's."""
        return self._store.configs()

    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        """Read the store's."""
        return self._store.credentials()

    def tokens(self) -> Iterator[StoredToken]:
        """Read the store's."""
        return self._store.tokens()

    def join(self, participant: Participant) -> None:
        """Join the store."""
        self._store.join(participant)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the store."""
        self._store.start(loop)

    def sight(self) -> StoreSight:
        """Return the store's."""
        return self._store.sight()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    async def aclose(self) -> None:
        """Close the store."""
        await self._store.aclose()
