"""What stands before a callback handler: a limit of time, a limit of calls at once, and one line.

A handler that raises, is late, or answers with another type has said nothing: ``HandlerFault``,
which refuses the client. What it raises is told in the log by its class, and by its text too where
that does not hold the very secret that was to be checked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from doorkeeper.authn.handlers_contract import CallbackHandler, TokenRefused
from doorkeeper.authn.turns import Turns
from doorkeeper.plug_ins import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.authn.contract import AuthenticationContext
    from doorkeeper.authn.provider import Logger

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
            raise error
        if error is not None:
            raise self._fault(cause_of(error, secret), context) from error
        answer = task.result()
        if not isinstance(answer, expected):
            types = expected if isinstance(expected, tuple) else (expected,)
            allowed = " or ".join(each.__name__ for each in types)
            found = type(answer).__name__
            raise self._fault(f"found {found} as its answer; allowed: {allowed}", context)
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
            ValueError: it does not.

        """
        try:
            await self.handler.start()
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
    text = one_line(error)
    if secret and secret in text:
        return f"{type(error).__name__}, whose text holds what was to be checked"
    return text


async def _contained(call: Callable[[], Awaitable[object]]) -> object:
    """Wait; what would end the whole process is an error like any other."""
    try:
        return await call()
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it raised {type(error).__name__}") from error
