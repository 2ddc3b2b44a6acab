"""SASL PLAIN (RFC 4616): the client sends ``authorization id NUL name NUL password``.

The provider of a listener is its source of passwords:

    PlainUsers         the options ``user_NAME`` of the JAAS configuration; answers at once
    FilePasswords      a users file, and those options too
    HandlerPasswords   a callback handler, alone

Slow checks are awaited. Hashing runs in a few threads of low priority; waiting checks take turns
by client address.

Source: ``PlainSaslServer`` and ``PlainServerCallbackHandler`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import threading
from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from doorkeeper.base.secret_files import is_open_to_others
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.config.sasl_keys import (
    SASL_CHECK_TIMEOUT_MS,
    SASL_PLAIN_USERS_FILE,
)
from doorkeeper.server.runtime.fair_queues import FairSemaphore
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.security.contract import AuthenticationContext, Failure, Step, Success
from doorkeeper.server.security.guarded_handler import HandlerFault, HandlerProvider, handler_of
from doorkeeper.server.security.handlers_contract import PlainPasswords
from doorkeeper.server.security.password_records import as_bytes
from doorkeeper.server.security.provider import Provider, Sources
from doorkeeper.server.security.users_file import HashedUsers, users_file
from doorkeeper_wire.java_text import JAVA

# Each check needs 16 MiB or more, and every thread may run one.
HASHING_THREADS_MAX: Final = 4
# The event loop takes precedence on a busy machine.
HASHING_NICENESS: Final = 10

_USER_PREFIX = "user_"

# Kafka counts no further, so its error text never names more parts.
PARTS_MAX = 4


class NotVerified(Exception):
    """The password could not be checked. The text is for the log, and contains no password."""


class Passwords(Provider):
    """PLAIN on one listener, with a source of passwords."""

    @abstractmethod
    def accepts(
        self, name: str, password: str, context: AuthenticationContext
    ) -> bool | Awaitable[bool]:
        """Return whether it is the user's password.

        An awaitable may raise ``NotVerified`` or ``HandlerFault``.
        """

    def begin(self, context: AuthenticationContext) -> PlainMechanism:
        return PlainMechanism(self, context)


class PlainMechanism:
    """One authentication; a single token decides."""

    __slots__ = ("_context", "_passwords")

    def __init__(self, passwords: Passwords, context: AuthenticationContext) -> None:
        self._passwords = passwords
        self._context = context

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Check the token. The error texts, and the order of the checks, are Kafka's."""
        parts = token.decode("utf-8", JAVA).split("\0", PARTS_MAX)[:PARTS_MAX]
        if len(parts) != 3:
            return refusal(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, name, password = parts
        if not name:
            return refusal("Authentication failed: username not specified")
        if not password:
            return refusal("Authentication failed: password not specified")
        accepted = self._passwords.accepts(name, password, self._context)
        if isinstance(accepted, bool):
            return _outcome(authorization_id, name, accepted=accepted)
        return self._later(accepted, authorization_id, name)

    async def _later(self, accepted: Awaitable[bool], authorization_id: str, name: str) -> Step:
        try:
            return _outcome(authorization_id, name, accepted=await accepted)
        except (NotVerified, HandlerFault) as error:
            text = "Authentication failed: credentials for user could not be verified"
            return Failure(text, f"{text}: {error}")


def _outcome(authorization_id: str, name: str, *, accepted: bool) -> Step:
    if not accepted:
        return refusal("Authentication failed: Invalid username or password")
    if authorization_id not in ("", name):
        return refusal(
            "Authentication failed: Client requested an authorization id that is different"
            " from username"
        )
    return Success(name)


def refusal(text: str) -> Failure:
    """Return a failure whose text goes to both the client and the log."""
    return Failure(text, text)


class PlainUsers(Passwords):
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
        self, name: str, password: str, context: AuthenticationContext | None = None
    ) -> bool:
        """Return whether this is the user's password, in constant time."""
        return hmac.compare_digest(self._digests.get(name, self._unknown), self._digest(password))

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, as_bytes(password), "sha256")


class FilePasswords(Passwords):
    """The users of a file, and those of a login module; either password is accepted.

    A wrong password costs the same for every name: users of the login module are looked up in the
    file too.
    """

    def __init__(self, path: Path, jaas: PlainUsers, logger: Logger, *, timeout_s: float) -> None:
        """Read the file; the thread pool starts its threads on first use.

        Raises:
            ValueError: the file cannot be used.
        """
        self._path = path
        self._logger = logger
        self._file = users_file(path, logger)
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
        users = self._file.value
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

    async def check(self) -> None:
        await self.start()

    async def start(self) -> None:
        """Warn if other users of the system can access the file."""
        if is_open_to_others(self._path):
            self._logger.warning("a users file is accessible to other users", file=str(self._path))

    def refresh(self) -> None:
        self._file.refresh()

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lower_priority() -> None:
    """Yield to other threads. Only Linux has a priority for each thread."""
    if os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), HASHING_NICENESS)


class HandlerPasswords(HandlerProvider[PlainPasswords], Passwords):
    """Passwords that a callback handler checks."""

    async def accepts(self, name: str, password: str, context: AuthenticationContext) -> bool:
        ask = self._guarded.handler.check
        return await self._guarded.call_handler(
            lambda: ask(name, password, context), bool, context, secret=password
        )


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return PLAIN as configured on a listener."""
    file = settings[SASL_PLAIN_USERS_FILE]
    handler = handler_of(settings, PlainPasswords, sources.logger)  # type: ignore[type-abstract]
    key = settings.full_name(SASL_PLAIN_USERS_FILE)
    if handler is not None and file:
        raise ValueError(f"{key}: found a users file and a callback handler; allowed: one of them")
    if handler is not None:
        return HandlerPasswords(handler)
    jaas = PlainUsers(jaas_users(settings))
    if file is None:
        return jaas
    timeout_s = settings[SASL_CHECK_TIMEOUT_MS] / 1000
    try:
        return FilePasswords(file, jaas, sources.logger, timeout_s=timeout_s)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def jaas_users(settings: MechanismSettings) -> dict[str, str]:
    """Return the passwords of the login module's users (its options ``user_NAME``)."""
    module = settings.login_module
    options = {} if module is None else module.options
    return {
        name.removeprefix(_USER_PREFIX): password
        for name, password in options.items()
        if name.startswith(_USER_PREFIX)
    }
