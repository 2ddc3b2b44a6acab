"""A store that forgets: what a test changes is gone with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.storage.contract import StorageError, Store

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from doorkeeper.authn.credentials import ScramCredential
    from doorkeeper.storage.contract import (
        Change,
        ConfigKey,
        CredentialKey,
        StoredBinding,
        StoredToken,
        StoredTopic,
    )


class MemoryStore(Store):
    """Begins with what one change adds; changes are only counted, for their owners keep them."""

    def __init__(self, initial: Change, *, cluster_id: str, salt_key: bytes) -> None:
        """Begin."""
        self._initial = initial
        self._cluster_id = cluster_id
        self._salt_key = salt_key
        self._revision = 0
        self._under_way = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @property
    def cluster_id(self) -> str:
        """Return the 22 characters that name the cluster."""
        return self._cluster_id

    @property
    def salt_key(self) -> bytes:
        """Return 32 bytes, under which a name that nobody has gets its salt."""
        return self._salt_key

    @property
    def revision(self) -> int:
        """Return the number of the last revision."""
        return self._revision

    def bindings(self) -> Iterator[StoredBinding]:
        """Return the bindings of the beginning."""
        return iter(self._initial.bindings_added)

    def topics(self) -> Iterator[StoredTopic]:
        """Return the topics of the beginning."""
        return iter(self._initial.topics_added)

    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        """Return the dynamic values of the beginning."""
        return iter(self._initial.configs_set)

    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        """Return the SCRAM credentials of the beginning."""
        return iter(self._initial.credentials_set)

    def tokens(self) -> Iterator[StoredToken]:
        """Return the delegation tokens of the beginning."""
        return iter(self._initial.tokens_set)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to take changes."""
        self._loop = loop

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        """Count a change; it is done in the next turn of the loop, as with a store that writes."""
        assert self._loop is not None, "started before anything is changed"
        if self._closed:
            self._loop.call_soon(on_done, StorageError("the store is closed"))
            return
        change = plan()
        if not change and not self._under_way:
            on_done(self._revision)
            return
        self._revision += bool(change)
        self._under_way += 1
        self._loop.call_soon(self._deliver, on_done, self._revision)

    def _deliver(self, on_done: Callable[[int | StorageError], None], revision: int) -> None:
        self._under_way -= 1
        on_done(revision)

    def close(self) -> None:
        """Take no more changes."""
        self._closed = True
