"""SASL PLAIN (RFC 4616): the client sends ``authorization id NUL name NUL password``.

``passwords`` says where users and their passwords are.

Source: ``PlainSaslServer`` and ``PlainServerCallbackHandler`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

from doorkeeper.base.secret_files import is_open_to_others
from doorkeeper.server.config.mechanisms import MechanismSettings
from doorkeeper.server.config.sasl_keys import (
    SASL_CHECK_TIMEOUT_MS,
    SASL_PLAIN_USERS_FILE,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)
from doorkeeper.server.security.contract import AuthenticationContext, Failure, Step, Success
from doorkeeper.server.security.guarded_handler import handler_of
from doorkeeper.server.security.handlers_contract import PlainPasswords
from doorkeeper.server.security.passwords import (
    FilePasswords,
    HandlerPasswords,
    NotVerified,
    Passwords,
    PlainUsers,
)
from doorkeeper.server.security.provider import Provider, Sources
from doorkeeper.server.security.users_file import users_file
from doorkeeper_wire.java_text import JAVA

_USER_PREFIX = "user_"

# Kafka counts no further, so its error text never names more parts.
PARTS_MAX = 4


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
        except NotVerified as error:
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


class PlainProvider(Provider):
    """PLAIN on one listener, with passwords that are at hand."""

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    def begin(self, context: AuthenticationContext) -> PlainMechanism:
        return PlainMechanism(self._passwords, context)


class FileProvider(PlainProvider):
    """PLAIN with a users file."""

    def __init__(self, passwords: FilePasswords, path: Path, sources: Sources) -> None:
        super().__init__(passwords)
        self._own = passwords
        self._path = path
        self._logger = sources.logger

    async def check(self) -> None:
        await self.start()

    async def start(self) -> None:
        """Warn if other users of the system can access the file."""
        if is_open_to_others(self._path):
            self._logger.warning("a users file is accessible to other users", file=str(self._path))

    def refresh(self) -> None:
        self._own.file.refresh()

    async def close(self) -> None:
        self._own.close()


class PlainHandlerProvider(PlainProvider):
    """PLAIN with a callback handler."""

    def __init__(self, passwords: HandlerPasswords) -> None:
        super().__init__(passwords)
        self._handler = passwords.handler

    async def start(self) -> None:
        await self._handler.start()

    async def close(self) -> None:
        await self._handler.close()


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return PLAIN as configured on a listener."""
    file = settings[SASL_PLAIN_USERS_FILE]
    if settings[SASL_SERVER_CALLBACK_HANDLER_CLASS]:
        handled = _with_handler(settings, sources)
        if handled is not None and file:
            raise ValueError(
                f"{settings.full_name(SASL_PLAIN_USERS_FILE)}: found a users file and"
                " a callback handler; allowed: one of them"
            )
        if handled is not None:
            return handled
    jaas = PlainUsers(jaas_users(settings))
    return PlainProvider(jaas) if file is None else _with_file(settings, file, jaas, sources)


def jaas_users(settings: MechanismSettings) -> dict[str, str]:
    """Return the passwords of the login module's users (its options ``user_NAME``)."""
    module = settings.login_module
    options = {} if module is None else module.options
    return {
        name.removeprefix(_USER_PREFIX): password
        for name, password in options.items()
        if name.startswith(_USER_PREFIX)
    }


def _with_handler(settings: MechanismSettings, sources: Sources) -> Provider | None:
    handler = handler_of(settings, PlainPasswords, sources.logger)  # type: ignore[type-abstract]
    return None if handler is None else PlainHandlerProvider(HandlerPasswords(handler))


def _with_file(
    settings: MechanismSettings, path: Path, jaas: PlainUsers, sources: Sources
) -> Provider:
    try:
        file = users_file(path, sources.logger)
    except ValueError as error:
        key = settings.full_name(SASL_PLAIN_USERS_FILE)
        raise ValueError(f"{key}: {error}") from error
    timeout_s = settings[SASL_CHECK_TIMEOUT_MS] / 1000
    return FileProvider(FilePasswords(file, jaas, timeout_s=timeout_s), path, sources)
