"""Sources of passwords for PLAIN.

    PlainUsers         the options ``user_NAME`` of the JAAS configuration; answers at once
    FilePasswords      a users file, and those options too
    HandlerPasswords   a callback handler, alone

Slow checks are awaited. Hashing runs in a few threads of low priority; waiting checks take turns
by client address.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import threading
from collections.abc import Awaitable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from doorkeeper.server.runtime.fair_queues import FairSemaphore
from doorkeeper.server.runtime.reloaded_files import ReloadedFiles
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper.server.security.guarded_handler import GuardedHandler, HandlerFault
from doorkeeper.server.security.handlers_contract import PlainPasswords
from doorkeeper.server.security.password_records import as_bytes
from doorkeeper.server.security.users_file import HashedUsers

# Each check needs 16 MiB or more, and every thread may run one.
HASHING_THREADS_MAX: Final = 4
# The event loop takes precedence on a busy machine.
HASHING_NICENESS: Final = 10


class NotVerified(Exception):
    """The password could not be checked. The text is for the log, and contains no password."""


class Passwords(Protocol):
    """A source of passwords."""

    def accepts(
        self, name: str, password: str, context: AuthenticationContext
    ) -> bool | Awaitable[bool]:
        """Return whether it is the user's password; an awaitable may raise ``NotVerified``."""
        ...


class PlainUsers:
    """The users of a login module.

    Passwords are kept as digests under a key of this process: comparisons have a fixed length, an
    unknown name costs the same as a known one, and neither a core dump nor a repr shows a password.
    """

    __slots__ = ("_digests", "_key", "_unknown")

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._key = os.urandom(32)
        self._digests = {name: self._digest(text) for name, text in passwords.items()}
        self._unknown = os.urandom(32)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._digests)} users)"

    def accepts(
        self,
        name: str,
        password: str,
        context: AuthenticationContext | None = None,
    ) -> bool:
        """Return whether this is the user's password, in constant time."""
        return hmac.compare_digest(self._digests.get(name, self._unknown), self._digest(password))

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, as_bytes(password), "sha256")


class FilePasswords:
    """The users of a file, and those of a login module; either password is accepted.

    A wrong password costs the same for every name: users of the login module are looked up in the
    file too.
    """

    def __init__(
        self, file: ReloadedFiles[HashedUsers], jaas: PlainUsers, *, timeout_s: float
    ) -> None:
        """Create the check; the thread pool starts its threads on first use."""
        self.file = file
        self._jaas = jaas
        self._timeout_s = timeout_s
        # One processor is left to the event loop.
        threads = min(HASHING_THREADS_MAX, max(1, (os.cpu_count() or 1) - 1))
        self._slots = FairSemaphore(threads)
        self._threads = ThreadPoolExecutor(
            threads, "doorkeeper-passwords", initializer=_lower_priority
        )

    def accepts(
        self, name: str, password: str, context: AuthenticationContext
    ) -> bool | Awaitable[bool]:
        """Answer at once for the login module, and for a password that was verified before."""
        users = self.file.value
        if self._jaas.accepts(name, password) or users.was_verified(name, password):
            return True
        return self._check(users, name, password, context.client_address)

    async def _check(self, users: HashedUsers, name: str, password: str, address: str) -> bool:
        loop = asyncio.get_running_loop()
        try:
            # An address that sends many wrong passwords waits behind its own checks only.
            async with asyncio.timeout(self._timeout_s), self._slots.slot(address):
                right = await loop.run_in_executor(self._threads, users.check, name, password)
        except TimeoutError:
            raise NotVerified(
                f"no thread available to hash a password within {self._timeout_s:g} s"
            ) from None
        if right:
            users.cache_verified(name, password)
        return right

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lower_priority() -> None:
    """Yield to other threads. Only Linux has a priority for each thread."""
    if os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), HASHING_NICENESS)


class HandlerPasswords:
    """Passwords that a callback handler checks."""

    def __init__(self, handler: GuardedHandler[PlainPasswords]) -> None:
        self.handler = handler

    async def accepts(self, name: str, password: str, context: AuthenticationContext) -> bool:
        ask = self.handler.handler.check
        try:
            return await self.handler.call_handler(
                lambda: ask(name, password, context), bool, context, secret=password
            )
        except HandlerFault as fault:
            raise NotVerified(str(fault)) from None
