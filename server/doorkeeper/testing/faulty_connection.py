"""A connection on which faults strike. A server without faults has plain ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.authn.contract import Failure, OfferedMechanism, Success
from doorkeeper.connection.connection import Connection
from doorkeeper.connection.exchange import Authenticating, Closed
from doorkeeper.testing.faults import Kind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import NoReturn

    from doorkeeper.api.declaration import Api
    from doorkeeper.authn.contract import AuthenticationContext, Mechanism, Step
    from doorkeeper.connection.exchange import (
        Advance,
        Body,
        ChunkedResponse,
        Decoded,
        Peer,
        PendingUpdate,
    )
    from doorkeeper.connection.session import SessionAction
    from doorkeeper.errors import ApiError
    from doorkeeper.testing.faults import Faults
    from doorkeeper_wire.headers import RequestHeader

DROPPED: Final = Closed("a fault of the test")

_WRONG_PASSWORD = {"PLAIN": "Authentication failed: Invalid username or password"}
"""What a client reads whose password is wrong; with other mechanisms the general text."""


class Held(Authenticating):
    """A request that waits. To the socket's side it is a login that takes its time."""

    proceed: Callable[[float], Advance]


class FaultyConnection(Connection):
    """The protocol's side of one connection of a test server."""

    __slots__ = ("_faults",)

    def __init__(
        self,
        peer: Peer,
        *,
        faults: Faults,
        mechanisms: Mapping[str, OfferedMechanism] | None,
        **others: Any,  # noqa: ANN401  those of Connection
    ) -> None:
        """Begin; ``others`` are those of ``Connection``."""
        self._faults = faults
        if mechanisms is not None:
            mechanisms = {name: self._refusing(each) for name, each in mechanisms.items()}
        super().__init__(peer, mechanisms=mechanisms, **others)

    def complete_authentication(self, pending: Authenticating, step: Step, now_s: float) -> Advance:
        """Go on with what was held, or with an authentication."""
        if not isinstance(pending, Held):
            return super().complete_authentication(pending, step, now_s)
        return self._resume(lambda: pending.proceed(now_s))

    def complete(
        self, pending: PendingUpdate, values: Sequence[Any], error: BaseException | None = None
    ) -> bytes | Closed:
        """Answer an update, unless its answer is to be lost."""
        answer = super().complete(pending, values, error)
        return DROPPED if error is None and self._loses(pending.header) else answer

    def complete_chunked(
        self, chunked: ChunkedResponse, answer: bytearray | Exception
    ) -> bytes | bytearray | Closed:
        """Answer with a body that was built in chunks, unless the answer is to be lost."""
        completed = super().complete_chunked(chunked, answer)
        return DROPPED if self._loses(chunked.header) else completed

    def _serve(self, header: RequestHeader, body: Body, decoded: Decoded | None = None) -> Advance:
        serve = super()._serve
        if decoded is not None:
            result = serve(header, body, decoded)
            return DROPPED if isinstance(result, bytes) and self._loses(header) else result

        def proceed(_now_s: float) -> Advance:
            return self._unless_dropped(header, lambda: serve(header, body))

        return self._held(header, proceed) or proceed(0)

    def _authenticate(
        self, action: SessionAction, header: RequestHeader, body: Body, now_s: float
    ) -> Advance:
        authenticate = super()._authenticate

        def proceed(now_s: float) -> Advance:
            return self._unless_dropped(header, lambda: authenticate(action, header, body, now_s))

        return self._held(header, proceed) or proceed(now_s)

    def _api(self, header: RequestHeader) -> Api:
        api = super()._api(header)
        fault = self._faults.strikes(Kind.ERROR, header.api_key)
        if fault is None or fault.error is None:
            return api
        return api._replace(handle=_raising(fault.error))

    def _held(self, header: RequestHeader, proceed: Callable[[float], Advance]) -> Held | None:
        fault = self._faults.strikes(Kind.DELAY, header.api_key)
        if fault is None:
            return None
        held = Held(_after(fault.delay_s), header)
        held.proceed = proceed
        return held

    def _unless_dropped(self, header: RequestHeader, work: Callable[[], Advance]) -> Advance:
        if self._faults.strikes(Kind.DROP_BEFORE, header.api_key) is not None:
            return DROPPED
        result = work()
        if isinstance(result, bytes) and self._loses(header):
            return DROPPED
        return result

    def _loses(self, header: RequestHeader) -> bool:
        return self._faults.strikes(Kind.DROP_AFTER, header.api_key) is not None

    def _refusing(self, offered: OfferedMechanism) -> OfferedMechanism:
        def begin(context: AuthenticationContext) -> Mechanism:
            return _Refusing(offered.name, offered.begin(context), self._faults)

        return offered._replace(begin=begin)


class _Refusing:
    """A mechanism that may refuse who has proved to be somebody."""

    __slots__ = ("_faults", "_inner", "_name")

    def __init__(self, name: str, inner: Mechanism, faults: Faults) -> None:
        self._name = name
        self._inner = inner
        self._faults = faults

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Take the client's next token."""
        step = self._inner.step(token)
        return self._judged(step) if isinstance(step, tuple) else self._later(step)

    async def _later(self, step: Awaitable[Step]) -> Step:
        return self._judged(await step)

    def _judged(self, step: Step) -> Step:
        if isinstance(step, Success) and self._faults.strikes(
            Kind.REFUSE_LOGIN, step.authorization_id
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
