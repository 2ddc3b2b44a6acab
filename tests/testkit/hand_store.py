"""A store whose changes complete when the test says so."""

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


class HandStore(Store):
    """Delivers what the test says, when it says so."""

    def __init__(self) -> None:
        self.submitted: list[tuple[Change, Callable[[int | StorageError], None]]] = []

    @property
    def cluster_id(self) -> str:
        return "c" * 22

    @property
    def salt_key(self) -> bytes:
        return b"k" * 32

    @property
    def revision(self) -> int:
        return 0

    def bindings(self) -> Iterator[StoredBinding]:
        return iter(())

    def topics(self) -> Iterator[StoredTopic]:
        return iter(())

    def configs(self) -> Iterator[tuple[ConfigKey, str]]:
        return iter(())

    def credentials(self) -> Iterator[tuple[CredentialKey, ScramCredential]]:
        return iter(())

    def tokens(self) -> Iterator[StoredToken]:
        return iter(())

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing is to be started."""

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        change = plan()
        if change or self.submitted:
            self.submitted.append((change, on_done))
        else:
            on_done(0)

    def close(self) -> None:
        """Nothing is open."""

    def deliver(self, outcome: int | StorageError) -> None:
        """Complete the oldest change."""
        _, on_done = self.submitted.pop(0)
        on_done(outcome)


class PenStore(HandStore):
    """A store that nodes share: it plans when the test says that the node holds the pen."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[Callable[[], Change], Callable[[int | StorageError], None]]] = []

    def submit(
        self, plan: Callable[[], Change], on_done: Callable[[int | StorageError], None]
    ) -> None:
        self.waiting.append((plan, on_done))

    def plan(self, place: int = 0) -> Change:
        """Return what the plan of one that waits comes to."""
        return self.waiting[place][0]()

    def done(self, outcome: int | StorageError) -> None:
        """Complete the oldest."""
        _, on_done = self.waiting.pop(0)
        on_done(outcome)
