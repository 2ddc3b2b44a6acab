"""Creates the configured callback handler, and bounds the time and concurrency of its calls.

``sasl.server.callback.handler.class`` names it:

    (empty), or Kafka's own class      none: the mechanism uses the configured users and keys
    package.module.Class               a class of Python, also package.module:Class
    name                               an entry point of ``ENTRY_POINT_GROUP``

A handler that raises, is late, or returns a value of another type or with invalid fields causes
``HandlerFault``, which refuses the client. The log names the exception's class, and its text unless
that contains the secret that was to be checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeGuard, TypeVar

from doorkeeper.base.credentials import ScramCredential
from doorkeeper.base.encodings import is_unicode
from doorkeeper.base.values import LONG_MAX
from doorkeeper.server.config.plug_ins import PlugIn, called, class_of, configs_of, made, one_line
from doorkeeper.server.config.sasl_keys import (
    SASL_CHECK_TIMEOUT_MS,
    SASL_CHECKS_MAX,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)
from doorkeeper.server.runtime.fair_queues import FairSemaphore
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper.server.security.handlers_contract import (
    CallbackHandler,
    TokenRefused,
    ValidatedToken,
)
from doorkeeper.server.security.provider import Provider

if TYPE_CHECKING:
    from doorkeeper.server.config.sasl import MechanismSettings

# Shorter parts of a token (between its dots) occur in any text.
PART_CHARACTERS_MIN: Final = 8
# A handler may load a directory before it serves; a longer start blocks the server's.
START_S: Final = 60.0

T = TypeVar("T")
H = TypeVar("H", bound=CallbackHandler)


class HandlerFault(Exception):
    """A handler gave no valid result. The text is for the log, and holds no secret."""


class GuardedHandler(Generic[H]):
    """The handler that the settings of a mechanism name, with bounded calls."""

    __slots__ = ("_key", "_logger", "_mechanism", "_slots", "_timeout_s", "handler", "name")

    def __init__(self, handler: H, settings: MechanismSettings, logger: Logger) -> None:
        self.handler = handler
        self.name = settings[SASL_SERVER_CALLBACK_HANDLER_CLASS]
        self._key = settings.full_name(SASL_SERVER_CALLBACK_HANDLER_CLASS)
        self._mechanism = settings.name
        self._timeout_s = settings[SASL_CHECK_TIMEOUT_MS] / 1000
        self._slots = FairSemaphore(settings[SASL_CHECKS_MAX])
        self._logger = logger

    async def call_handler(
        self,
        call: Callable[[], Awaitable[object]],
        expected: type[T] | tuple[type[T], ...],
        context: AuthenticationContext,
        secret: str = "",
    ) -> T:
        """Call the handler and return its result, within the timeout.

        The timeout includes the wait for a free slot.

        Raises:
            HandlerFault: no valid result in time; a warning is logged.
            TokenRefused: raised by the handler.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._timeout_s
        try:
            async with asyncio.timeout_at(deadline_s):
                await self._slots.acquire(context.client_address)
        except TimeoutError:
            raise self._fault(
                "doorkeeper.sasl.checks.max calls are already running", context
            ) from None
        # The slot is held until the call ends, even if it ignores its cancellation.
        task = loop.create_task(called(call))
        task.add_done_callback(self._release)
        try:
            await asyncio.wait({task}, timeout=deadline_s - loop.time())
        finally:
            # The timeout expired, or the client disconnected.
            task.cancel()
        return self._result_of(task, expected, context, secret)

    def _result_of(
        self,
        task: asyncio.Task[object],
        expected: type[T] | tuple[type[T], ...],
        context: AuthenticationContext,
        secret: str,
    ) -> T:
        if not task.done():
            raise self._fault(f"no response within {self._timeout_s:g} s", context)
        if task.cancelled():
            raise self._fault("it was cancelled", context)
        error = task.exception()
        if isinstance(error, TokenRefused):
            if _holds(str(error), secret):
                error.args = (cause_of(error, secret),)
            raise error
        if error is not None:
            raise self._fault(cause_of(error, secret), context) from error
        answer = task.result()
        if not isinstance(answer, expected):
            types = expected if isinstance(expected, tuple) else (expected,)
            allowed = " or ".join(kind.__name__ for kind in types)
            type_name = type(answer).__name__
            raise self._fault(f"returned {type_name}; expected: {allowed}", context)
        if flaw := flaw_of(answer):
            raise self._fault(f"found {type(answer).__name__} with {flaw}", context)
        return answer

    def _release(self, task: asyncio.Task[object]) -> None:
        self._slots.release()
        if not task.cancelled():
            # Retrieve the exception: without a waiter asyncio would log it as never retrieved.
            task.exception()

    def _fault(self, cause: str, context: AuthenticationContext) -> HandlerFault:
        self._logger.warning(
            "a callback handler failed: the authentication is rejected",
            handler=self.name,
            mechanism=self._mechanism,
            listener=context.listener_name,
            client_address=context.client_address,
            cause=cause,
        )
        return HandlerFault(f"{self.name}: {cause}")

    async def start(self) -> None:
        """Start the handler.

        Raises:
            ValueError: it raised, or did not finish within ``START_S``.
        """
        limit = asyncio.timeout(START_S)
        try:
            async with limit:
                await self.handler.start()
        except TimeoutError as error:
            late = f" in {START_S:g} s" if limit.expired() else f": {one_line(error)}"
            raise ValueError(f"{self._key}={self.name} failed to start{late}") from error
        except (Exception, SystemExit) as error:
            raise ValueError(
                f"{self._key}={self.name} failed to start: {one_line(error)}"
            ) from error

    async def close(self) -> None:
        """Close the handler; an error is logged and not raised."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self.handler.close()
        except (Exception, SystemExit) as error:  # a plug-in raises what it likes
            self._logger.warning(
                "a callback handler did not close", handler=self.name, cause=one_line(error)
            )


class HandlerProvider(Provider, Generic[H]):
    """A mechanism that asks a callback handler."""

    def __init__(self, guarded: GuardedHandler[H]) -> None:
        self._guarded = guarded

    async def start(self) -> None:
        await self._guarded.start()

    async def close(self) -> None:
        await self._guarded.close()


def cause_of(error: BaseException, secret: str) -> str:
    """Return the class and text of an exception for a log, without the secret."""
    if _holds(str(error), secret):
        return f"{type(error).__name__}, whose text contains the secret"
    return one_line(error)


def _holds(text: str, secret: str) -> bool:
    """Return whether a text contains a secret, as it is or quoted, or a part of a token."""
    parts = [part for part in secret.split(".") if len(part) >= PART_CHARACTERS_MIN]
    forms = filter(None, (secret, repr(secret)[1:-1], *parts))
    return any(form in text for form in forms)


def flaw_of(answer: object) -> str | None:
    """Return the invalid field of a result of the right type, or None."""
    # A NamedTuple does not check the types of its fields at run time.
    if isinstance(answer, ValidatedToken):
        return _flaw_of_token(*answer)
    return _flaw_of_credential(*answer) if isinstance(answer, ScramCredential) else None


def _flaw_of_token(name: object, expiry_ms: object, claims: object) -> str | None:
    if not isinstance(name, str) or not name or not is_unicode(name):
        return "a name that is empty or not a text"
    if not _is_number(expiry_ms) or abs(expiry_ms) > LONG_MAX:
        return "an expiry that is not an integer"
    return None if isinstance(claims, Mapping) else "claims that are not a mapping"


def _flaw_of_credential(*parts: object) -> str | None:
    *octets, iterations = parts
    if not all(isinstance(octet, bytes) and octet for octet in octets):
        return "a salt or key that is not bytes, or is empty"
    return None if _is_number(iterations) else "iterations that are not an integer"


def _is_number(value: object) -> TypeGuard[int]:
    # bool is a subclass of int.
    return isinstance(value, int) and not isinstance(value, bool)


# --- the configured handler

ENTRY_POINT_GROUP: Final = "doorkeeper.callback_handlers"

_SECURITY: Final = "org.apache.kafka.common.security"
KAFKA_NAMES: Final = {
    f"{_SECURITY}.plain.internals.PlainServerCallbackHandler": ("PLAIN",),
    f"{_SECURITY}.scram.internals.ScramServerCallbackHandler": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler": ("OAUTHBEARER",),
    f"{_SECURITY}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler": ("OAUTHBEARER",),
    f"{_SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler": (
        "OAUTHBEARER",
    ),
    f"{_SECURITY}.authenticator.SaslServerCallbackHandler": ("GSSAPI",),
}
"""Kafka's handlers and the mechanisms of each, which are built in here."""


def handler_of(
    settings: MechanismSettings, base: type[H], logger: Logger
) -> GuardedHandler[H] | None:
    """Return the mechanism's handler, configured and not started; None without one."""
    name = settings[SASL_SERVER_CALLBACK_HANDLER_CLASS].strip()
    key = settings.full_name(SASL_SERVER_CALLBACK_HANDLER_CLASS)
    if not name or _is_kafkas(name, key, settings.name):
        return None
    allowed = f"a subclass of doorkeeper.plugins.{{}}, for {settings.name}"
    plug_in = PlugIn(key, ENTRY_POINT_GROUP, base, kafka_names=KAFKA_NAMES, allowed=allowed)
    module = settings.login_module
    configs = configs_of(settings.originals, settings.listener_name, settings.name)
    options = {} if module is None else dict(module.options)
    handler: H = made(
        class_of(plug_in, name),
        lambda handler: handler.configure(configs, settings.name, options),
        f"{key}={name}",
    )
    return GuardedHandler(handler, settings, logger)


def _is_kafkas(name: str, key: str, mechanism: str) -> bool:
    """Return whether it names a handler of Kafka's that serves the mechanism.

    A key without the mechanism's prefix, which Kafka ignores, has no effect on other mechanisms.
    """
    if name not in KAFKA_NAMES:
        return False
    if mechanism in KAFKA_NAMES[name] or f"{mechanism.lower()}." not in key.lower():
        return True
    serves = " and ".join(KAFKA_NAMES[name])
    raise ValueError(f"{key}={name}: this handler supports {serves}, not {mechanism}")
