"""Users of SCRAM in the store of a server that is stopped.

It is how the first administrator is made, before there is anybody who could ask a server.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from doorkeeper.authn.credentials import base_36, credential_of
from doorkeeper.scram_users import ScramUsers
from doorkeeper.storage.contract import Author, Change, CredentialKey, StorageError
from doorkeeper.storage.embedded import EmbeddedStore
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.writing_once import write_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from doorkeeper.storage.contract import Store

AUTHOR: Final = Author("Server:doorkeeper", "", "", "doorkeeper users")
"""Who the change log names: no client asked."""

NS_PER_MS = 1_000_000
_SALT_BYTES = 17


class OfflineUsers:
    """The users of a store. One change of them, then the store is closed."""

    def __init__(self, store: Store) -> None:
        """Take a store that has not started."""
        self._store = store

    def found(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted."""
        users = ScramUsers(self._store.credentials())
        return {name: users.iterations_of(name) for name in users.names()}

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Give a user a password, by mechanism with so many iterations; each has its own salt.

        Raises:
            StorageError: it cannot be written.

        """
        made = tuple(
            (
                CredentialKey(user, mechanism),
                credential_of(mechanism, password, rounds, base_36(os.urandom(_SALT_BYTES))),
            )
            for mechanism, rounds in iterations.items()
        )
        write_once(self._store, Change(author=AUTHOR, credentials_set=made))

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials that are there.

        Raises:
            StorageError: it cannot be written.

        """
        gone = tuple(CredentialKey(user, mechanism) for mechanism in mechanisms)
        write_once(self._store, Change(author=AUTHOR, credentials_deleted=gone))


@contextmanager
def offline_users(data_dir: Path, *, make_store: bool = False) -> Iterator[OfflineUsers]:
    """Open the store in a folder; ``make_store`` says that the server need not have started yet.

    Raises:
        StorageError: a server uses the store, there is none, or it cannot be opened.

    """
    path = data_dir / DATABASE_NAME
    if not make_store and not path.exists():
        raise StorageError(f"{path}: there is no store; the server's first start makes it")
    store = EmbeddedStore.open(
        data_dir, now_ms=lambda: time.time_ns() // NS_PER_MS, random_bytes=os.urandom
    )
    try:
        yield OfflineUsers(store)
    finally:
        store.close()
