"""One connection of the operations port: one request, in bounded time.

aiohttp stands behind it. Connections are not kept: a scrape every few seconds costs a handshake,
and who says nothing, or reads nothing, is gone soon.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from doorkeeper.net.context import Accepted

if TYPE_CHECKING:
    from collections.abc import Callable

REQUEST_S: Final = 10.0
"""From the end of the handshake to the last byte of the answer: a scrape takes a tenth of one."""


class OneRequest(Accepted):
    """The socket's side; ``inner`` is aiohttp's protocol."""

    __slots__ = ("_deadline", "_inner", "_lost", "_most_s", "_peer_id", "_transport")

    def __init__(
        self,
        inner: asyncio.Protocol,
        peer_id: str,
        lost: Callable[[OneRequest], None],
        *,
        most_s: float = REQUEST_S,
    ) -> None:
        """Wait for the transport."""
        self._inner = inner
        self._peer_id = peer_id
        self._lost = lost
        self._most_s = most_s
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def peer_id(self) -> str:
        """Return the connection as the log names it."""
        return self._peer_id

    @property
    def is_connected(self) -> bool:
        """Say whether there is a transport: with TLS, whether the handshake is over."""
        return self._transport is not None

    def abort(self, reason: str) -> None:  # noqa: ARG002  nobody is told
        """Close now, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._most_s, self.abort, "it takes too long")
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Hand it on."""
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Hand it on."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Hand it on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand it on."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything, also where there never was a transport."""
        if self._deadline is not None:
            self._deadline.cancel()
        if self._transport is not None:
            self._transport = None
            self._inner.connection_lost(exc)
        self._inner = cast("Any", None)
        self._lost(self)
