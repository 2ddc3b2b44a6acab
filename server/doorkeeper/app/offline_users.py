"""Users of SCRAM in the store of a server that is stopped.

It is how the first administrator is made, before there is anybody who could ask a server.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from doorkeeper.app.offline_trail import recorded_store, trail_logs
from doorkeeper.authn.credentials import base_36, credential_of
from doorkeeper.scram_users import ScramUsers
from doorkeeper.storage.contract import Author, Change, CredentialKey
from doorkeeper.storage.writing_once import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from doorkeeper.app.offline_trail import OfflineTrail
    from doorkeeper.config.settings import Settings
    from doorkeeper.storage.contract import Store

AUTHOR: Final = Author("Server:doorkeeper", "", "", "doorkeeper users")
"""Who the change log names: no client asked."""

_SALT_BYTES = 17


class OfflineUsers:
    """The users of a store. One change of them, then the store is closed."""

    def __init__(self, store: Store, trail: OfflineTrail, runner: asyncio.Runner) -> None:
        """Take a store that has not started, its trail, and the loop in which it was opened."""
        self._store = store
        self._trail = trail
        self._runner = runner

    def found(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted."""
        users = ScramUsers(self._store.credentials())
        return {name: users.iterations_of(name) for name in users.names()}

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Give a user a password, by mechanism with so many iterations; each has its own salt.

        Raises:
            StorageError: it cannot be written.
            StartError: the audit trail cannot be written.

        """
        made = tuple(
            (
                CredentialKey(user, mechanism),
                credential_of(mechanism, password, rounds, base_36(os.urandom(_SALT_BYTES))),
            )
            for mechanism, rounds in iterations.items()
        )
        self._runner.run(self._written(Change(author=AUTHOR, credentials_set=made)))

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials that are there.

        Raises:
            StorageError: it cannot be written.
            StartError: the audit trail cannot be written.

        """
        gone = tuple(CredentialKey(user, mechanism) for mechanism in mechanisms)
        self._runner.run(self._written(Change(author=AUTHOR, credentials_deleted=gone)))

    async def _written(self, change: Change) -> None:
        async with self._trail.recording():
            await written(self._store, change)


@contextmanager
def offline_users(settings: Settings, *, make_store: bool = False) -> Iterator[OfflineUsers]:
    """Open the store that a configuration names, one that nodes share also while they run.

    ``make_store`` says that the server need not have started yet.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.

    """
    with trail_logs(settings), asyncio.Runner() as runner:
        opened = AsyncExitStack()
        entering = opened.enter_async_context(recorded_store(settings, make_store=make_store))
        store, trail = runner.run(entering)
        try:
            yield OfflineUsers(store, trail, runner)
        finally:
            runner.run(opened.aclose())
