"""Who knows the passwords of PLAIN.

    PlainUsers         the options ``user_NAME`` of the JAAS configuration; answers at once
    FilePasswords      a users file, and those options beside it
    HandlerPasswords   a callback handler, alone

A check that takes its time is awaited, and lets others pass: hashing happens in threads of a low
priority, few at once, and whoever is waiting stands in one row per client address.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import threading
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Protocol

from doorkeeper.authn.guarded_handler import GuardedHandler, HandlerFault
from doorkeeper.authn.password_records import as_bytes
from doorkeeper.authn.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.authn.contract import AuthenticationContext
    from doorkeeper.authn.handlers_contract import PlainPasswords
    from doorkeeper.authn.users_file import HashedUsers, UsersFile

HASHING_THREADS_MAX: Final = 4
"""More would take the memory of a check, 16 MiB and more, once more for each."""

HASHING_NICENESS: Final = 10
"""The loop goes first on a busy machine."""


class NotVerified(Exception):
    """Nobody can say whether a password is right. The text is for the log, and holds none."""


class Passwords(Protocol):
    """Whoever knows."""

    def accepts(
        self, name: str, password: str, context: AuthenticationContext
    ) -> bool | Awaitable[bool]:
        """Say whether it is the user's password; an awaitable may raise ``NotVerified``."""
        ...


class PlainUsers:
    """The users of a login module.

    Passwords are kept as digests under a key of this process: what is compared has always the same
    length, a name that nobody has costs the same as one that exists, and neither a dump nor a repr
    shows a password.
    """

    __slots__ = ("_digests", "_key", "_nobody")

    def __init__(self, passwords: Mapping[str, str]) -> None:
        """Keep a digest for each password."""
        self._key = os.urandom(32)
        self._digests = {name: self._digest(text) for name, text in passwords.items()}
        self._nobody = os.urandom(32)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._digests)} users)"

    def accepts(
        self,
        name: str,
        password: str,
        context: AuthenticationContext | None = None,  # noqa: ARG002  all are asked alike
    ) -> bool:
        """Say whether this is the user's password; in the same time for every answer."""
        return hmac.compare_digest(self._digests.get(name, self._nobody), self._digest(password))

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, as_bytes(password), "sha256")


class FilePasswords:
    """The users of a file, and of a login module beside it: either password lets in.

    A wrong password costs the same for every name: also one of the login module is looked for in
    the file.
    """

    def __init__(self, file: UsersFile, jaas: PlainUsers, *, timeout_s: float) -> None:
        """Prepare; threads begin with the first check."""
        self.file = file
        self._jaas = jaas
        self._timeout_s = timeout_s
        threads = min(HASHING_THREADS_MAX, max(1, (os.cpu_count() or 1) - 1))
        self._turns = Turns(threads)
        self._threads = ThreadPoolExecutor(
            threads, "doorkeeper-passwords", initializer=_lower_priority
        )

    def accepts(
        self, name: str, password: str, context: AuthenticationContext
    ) -> bool | Awaitable[bool]:
        """Answer at once for the login module, and for a password that was right before."""
        users = self.file.users
        if self._jaas.accepts(name, password) or users.remembers(name, password):
            return True
        return self._checked(users, name, password, context.client_address)

    async def _checked(self, users: HashedUsers, name: str, password: str, address: str) -> bool:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s), self._turns.turn(address):
                right = await loop.run_in_executor(self._threads, users.check, name, password)
        except TimeoutError:
            raise NotVerified(f"no turn to check a password in {self._timeout_s:g} s") from None
        if right:
            users.remember(name, password)
        return right

    def close(self) -> None:
        """End the threads; a check under way is the last."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lower_priority() -> None:
    """Let others go first. Linux has a priority for each thread, other systems for the process."""
    if os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), HASHING_NICENESS)


class HandlerPasswords:
    """A callback handler of others."""

    def __init__(self, handler: GuardedHandler[PlainPasswords]) -> None:
        """Ask this handler."""
        self.handler = handler

    async def accepts(self, name: str, password: str, context: AuthenticationContext) -> bool:
        """Say what it says."""
        ask = self.handler.handler.check
        try:
            return await self.handler.asked(
                lambda: ask(name, password, context), bool, context, secret=password
            )
        except HandlerFault as fault:
            raise NotVerified(str(fault)) from None
