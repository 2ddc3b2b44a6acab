"""What stands before a callback handler: a limit of time, a limit of calls at once, and one line.

A handler that raises, is late, or answers with another type, or with one that holds what it must
not, has said nothing: ``HandlerFault``, which refuses the client. What it raises is told in the log
by its class, and by its text too where that does not hold the very secret that was to be checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeGuard, TypeVar

from doorkeeper.authn.credentials import ScramCredential
from doorkeeper.authn.handlers_contract import CallbackHandler, TokenRefused, ValidatedToken
from doorkeeper.authn.turns import Turns
from doorkeeper.config.plug_ins import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.authn.contract import AuthenticationContext
    from doorkeeper.logger import Logger

PART_CHARACTERS_MIN: Final = 8
"""Shorter parts between the dots of a secret stand in any text."""

START_S: Final = 60.0
"""A handler may read a directory before it serves; who waits longer waits for nothing."""

LONG_MAX: Final = (1 << 63) - 1

T = TypeVar("T")
H = TypeVar("H", bound=CallbackHandler)


class HandlerFault(Exception):
    """A handler has not answered. The text is for the log, and holds no secret."""


class GuardedHandler(Generic[H]):
    """A handler, asked with care. ``key`` and ``name`` are what the configuration calls it."""

    __slots__ = ("_key", "_logger", "_mechanism", "_timeout_s", "_turns", "handler", "name")

    def __init__(
        self,
        handler: H,
        *,
        key: str,
        name: str,
        mechanism: str,
        timeout_s: float,
        at_once: int,
        logger: Logger,
    ) -> None:
        """Guard a handler that is configured already."""
        self.handler = handler
        self.name = name
        self._key = key
        self._mechanism = mechanism
        self._timeout_s = timeout_s
        self._turns = Turns(at_once)
        self._logger = logger

    async def asked(
        self,
        call: Callable[[], Awaitable[object]],
        expected: type[T] | tuple[type[T], ...],
        context: AuthenticationContext,
        secret: str = "",
    ) -> T:
        """Return what the handler answers; the time counts from now, and not from its turn.

        Raises:
            HandlerFault: it has not; the log has a line.
            TokenRefused: the handler says so.

        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._timeout_s
        try:
            async with asyncio.timeout_at(deadline_s):
                await self._turns.begin(context.client_address)
        except TimeoutError:
            raise self._fault("all its calls are taken", context) from None
        # The turn is over when the call is, also for one that does not let itself be cancelled.
        task = loop.create_task(_contained(call))
        task.add_done_callback(self._over)
        try:
            await asyncio.wait({task}, timeout=deadline_s - loop.time())
        finally:
            # Late, or the client has left.
            task.cancel()
        return self._checked(task, expected, context, secret)

    def _checked(
        self,
        task: asyncio.Task[object],
        expected: type[T] | tuple[type[T], ...],
        context: AuthenticationContext,
        secret: str,
    ) -> T:
        if not task.done():
            raise self._fault(f"no answer in {self._timeout_s:g} s", context)
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
            allowed = " or ".join(each.__name__ for each in types)
            found = type(answer).__name__
            raise self._fault(f"found {found} as its answer; allowed: {allowed}", context)
        if flaw := flaw_of(answer):
            raise self._fault(f"found {type(answer).__name__} with {flaw}", context)
        return answer

    def _over(self, task: asyncio.Task[object]) -> None:
        self._turns.end()
        if not task.cancelled():
            # Whoever waited may be gone: what it raised is nobody's surprise.
            task.exception()

    def _fault(self, cause: str, context: AuthenticationContext) -> HandlerFault:
        self._logger.warning(
            "a callback handler gave no answer: the client is refused",
            handler=self.name,
            mechanism=self._mechanism,
            listener=context.listener_name,
            client_address=context.client_address,
            cause=cause,
        )
        return HandlerFault(f"{self.name}: {cause}")

    async def start(self) -> None:
        """Let it get ready.

        Raises:
            ValueError: it does not, or not in time.

        """
        limit = asyncio.timeout(START_S)
        try:
            async with limit:
                await self.handler.start()
        except TimeoutError as error:
            late = f" in {START_S:g} s" if limit.expired() else f": {one_line(error)}"
            raise ValueError(f"{self._key}={self.name} does not start{late}") from error
        except (Exception, SystemExit) as error:
            raise ValueError(
                f"{self._key}={self.name} does not start: {one_line(error)}"
            ) from error

    async def close(self) -> None:
        """Let it go; what goes wrong then is told, and no more."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self.handler.close()
        except (Exception, SystemExit) as error:  # noqa: BLE001  a plug-in raises what it likes
            self._logger.warning(
                "a callback handler did not close", handler=self.name, cause=one_line(error)
            )


def cause_of(error: BaseException, secret: str) -> str:
    """Return what a log may say of an exception: its class, and its text without a secret."""
    if _holds(str(error), secret):
        return f"{type(error).__name__}, whose text holds what was to be checked"
    return one_line(error)


def _holds(text: str, secret: str) -> bool:
    """Say whether a text holds a secret, as it is or quoted, or a part of a token."""
    parts = [part for part in secret.split(".") if len(part) >= PART_CHARACTERS_MIN]
    forms = filter(None, (secret, repr(secret)[1:-1], *parts))
    return any(form in text for form in forms)


def flaw_of(answer: object) -> str | None:
    """Return what is wrong within an answer of the right type, None where nothing is."""
    # Whoever wrote the handler need not have looked at the types of its fields.
    if isinstance(answer, ValidatedToken):
        return _flaw_of_token(*answer)
    return _flaw_of_credential(*answer) if isinstance(answer, ScramCredential) else None


def _flaw_of_token(name: object, expiry_ms: object, claims: object) -> str | None:
    if not isinstance(name, str) or not name:
        return "a name of nobody"
    if not _is_number(expiry_ms) or abs(expiry_ms) > LONG_MAX:
        return "an expiry that is no whole number of ms"
    return None if isinstance(claims, Mapping) else "claims that are no mapping"


def _flaw_of_credential(*parts: object) -> str | None:
    *octets, iterations = parts
    if not all(isinstance(each, bytes) and each for each in octets):
        return "a salt or a key that is no bytes, or empty"
    return None if _is_number(iterations) else "iterations that are no number"


def _is_number(value: object) -> TypeGuard[int]:
    """Say whether it is a whole number; True is none."""
    return isinstance(value, int) and not isinstance(value, bool)


async def _contained(call: Callable[[], Awaitable[object]]) -> object:
    """Wait; what would end the whole process is an error like any other."""
    try:
        return await call()
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it raised {type(error).__name__}") from error
