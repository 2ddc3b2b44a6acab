"""One connection of the operations port: one request, in bounded time unless it is a stream.

Connections are not kept alive: a scrape every few seconds costs a handshake, and a peer that sends
or reads nothing is closed soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from doorkeeper.server.net.context import Accepted

REQUEST_S: Final = 10.0
"""From the end of the handshake to the last byte of the answer; a scrape takes 0.1 s."""


class OneRequest(Accepted):
    """The socket's protocol; ``inner`` is aiohttp's."""

    __slots__ = ("_deadline", "_inner", "_lost", "_most_s", "_peer_id", "_transport")

    def __init__(
        self,
        inner: asyncio.Protocol,
        peer_id: str,
        lost: Callable[[OneRequest], None],
        *,
        most_s: float = REQUEST_S,
    ) -> None:
        self._inner = inner
        self._peer_id = peer_id
        self._lost = lost
        self._most_s = most_s
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def peer_id(self) -> str:
        return self._peer_id

    @property
    def is_connected(self) -> bool:
        """Return whether there is a transport: with TLS, after the handshake."""
        return self._transport is not None

    def abort(self, reason: str) -> None:
        if self._transport is not None:
            self._transport.abort()

    def stay_open(self) -> None:
        """Lift the limit of time, for an answer without an end."""
        if self._deadline is not None:
            self._deadline.cancel()

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._most_s, self.abort, "it takes too long")
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop all references, also where there never was a transport."""
        if self._deadline is not None:
            self._deadline.cancel()
        if self._transport is not None:
            self._transport = None
            self._inner.connection_lost(exc)
        self._inner = cast("Any", None)
        self._lost(self)
