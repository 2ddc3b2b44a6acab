"""A connection with fault injection, used by test servers only."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.errors import ApiError
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Authenticating, Closed
from doorkeeper.server.security.contract import Challenge, Failure, OfferedMechanism, Success
from doorkeeper.testing.faults import FaultKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import NoReturn

    from doorkeeper.server.net.protocol.connection import Advance, Waiting
    from doorkeeper.server.net.protocol.exchange import Peer, Request
    from doorkeeper.server.security.contract import AuthenticationContext, Mechanism, Step
    from doorkeeper.testing.faults import LocalFaults
    from doorkeeper_wire.framing import RequestHeader

DROPPED: Final = Closed("a fault of the test")

_WRONG_PASSWORD = {"PLAIN": "Authentication failed: Invalid username or password"}
"""The error text for a wrong password; other mechanisms have the general one."""


class DelayedRequest(Authenticating, frozen=True):
    """A delayed request. The socket's side treats it like a slow login."""

    proceed: Callable[[float], Advance]


class FaultyConnection(Connection):
    """The protocol's side of a connection of a test server."""

    __slots__ = ("_faults",)

    def __init__(
        self,
        peer: Peer,
        *,
        faults: LocalFaults,
        mechanisms: Mapping[str, OfferedMechanism] | None,
        **others: Any,
    ) -> None:
        """Wrap the mechanisms; ``others`` are the parameters of ``Connection``."""
        self._faults = faults
        if mechanisms is not None:
            mechanisms = {name: self._refusing(mechanism) for name, mechanism in mechanisms.items()}
        super().__init__(peer, mechanisms=mechanisms, **others)

    def _continue(
        self, waiting: Waiting, result: object, error: BaseException | None, now_s: float
    ) -> Advance:
        """Resume a delayed request; answer one that waited, unless a fault drops the response."""
        if isinstance(waiting, DelayedRequest):
            return waiting.proceed(now_s)
        outcome = super()._continue(waiting, result, error, now_s)
        if error is not None or isinstance(waiting, Authenticating):
            return outcome
        # What waits again is not answered yet.
        is_answer = isinstance(outcome, (bytes, bytearray))
        return DROPPED if is_answer and self._loses(waiting.request.header) else outcome

    def _serve(self, header: RequestHeader, frame: bytes, body_at: int, now_s: float) -> Advance:
        serve = super()._serve

        def proceed(now_s: float) -> Advance:
            if self._faults.strikes(FaultKind.DROP_BEFORE, header.api_key) is not None:
                return DROPPED
            result = serve(header, frame, body_at, now_s)
            return DROPPED if isinstance(result, bytes) and self._loses(header) else result

        return self._delay(header, proceed) or proceed(now_s)

    def request(self, header: RequestHeader, frame: bytes, body_at: int) -> Request:
        request = super().request(header, frame, body_at)
        fault = self._faults.strikes(FaultKind.ERROR, header.api_key)
        if fault is not None and fault.error is not None:
            request.api = replace(request.api, handle=_raising(ApiError(*fault.error)))
        return request

    def _delay(
        self, header: RequestHeader, proceed: Callable[[float], Advance]
    ) -> DelayedRequest | None:
        fault = self._faults.strikes(FaultKind.DELAY, header.api_key)
        if fault is None:
            return None
        # The channel waits for it like for a mechanism that verifies a token, and reads no further.
        return DelayedRequest(_after(fault.delay_s), header, proceed)

    def _loses(self, header: RequestHeader) -> bool:
        return self._faults.strikes(FaultKind.DROP_AFTER, header.api_key) is not None

    def _refusing(self, offered: OfferedMechanism) -> OfferedMechanism:
        def begin(context: AuthenticationContext) -> Mechanism:
            return _Refusing(offered.name, offered.begin(context), self._faults)

        return replace(offered, begin=begin)


class _Refusing(Struct, frozen=True):
    """A mechanism that may refuse an authenticated user."""

    _name: str
    _inner: Mechanism
    _faults: LocalFaults

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        step = self._inner.step(token)
        return (
            self._judge(step)
            if isinstance(step, Challenge | Success | Failure)
            else self._later(step)
        )

    async def _later(self, step: Awaitable[Step]) -> Step:
        return self._judge(await step)

    def _judge(self, step: Step) -> Step:
        if isinstance(step, Success) and self._faults.strikes(
            FaultKind.REFUSE_LOGIN, step.authorization_id
        ):
            return Failure(_WRONG_PASSWORD.get(self._name), "a fault of the test")
        return step


async def _after(delay_s: float) -> Step:
    await asyncio.sleep(delay_s)
    return Failure(None, "only waited for")


def _raising(error: ApiError) -> Callable[..., Any]:
    def handle(*_request: object) -> NoReturn:
        raise error

    return handle
