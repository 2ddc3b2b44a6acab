"""TLS handshakes under way on one listener: each in a task of its own, so that none delays others.

There are so many at a time and no more, since each costs the loop a millisecond. When there is no
room, accepting waits for one to end; one that has taken its time already is ended for the next. A
handshake that fails gets its alert and the time to read it: closing at once would take it back.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from doorkeeper.net.handshake_log import HandshakeLog
from doorkeeper.tls.alerts import tell_alert

if TYPE_CHECKING:
    from doorkeeper.limits import Limits
    from doorkeeper.logger import Logger
    from doorkeeper.net.context import Accepted

LINGER_BYTES: Final = 65536
"""How much is read at a time of what nobody wants."""


class _Handshake:
    """One of them. ``over`` says that the connection has a transport, or is forgotten."""

    __slots__ = ("accepted", "alerted", "began_s", "channel", "over", "pressed")

    def __init__(self, accepted: socket.socket, channel: Accepted, began_s: float) -> None:
        self.accepted = accepted
        self.channel = channel
        self.began_s = began_s
        self.pressed = False
        self.over = False
        self.alerted: socket.socket | None = None

    def tell(self, alert: bytes) -> None:
        """Send an alert, and keep the connection for who reads it."""
        with suppress(OSError):
            self.accepted.send(alert)
            self.alerted = self.accepted.dup()

    def end(self, error: OSError | None) -> None:
        """Let the connection be forgotten; it never had a transport, or has one that is new."""
        self.over = True
        if self.channel.is_connected:
            # The transport ends it, and tells it so.
            self.channel.abort("connection cut off at the end of its handshake")
            return
        self.accepted.close()
        self.channel.connection_lost(error)


class Handshakes:
    """Those of one listener."""

    __slots__ = ("_expected", "_freed", "_limits", "_logger", "_running", "_told", "succeeded")

    def __init__(self, listener_name: str, limits: Limits, logger: Logger) -> None:
        """Begin with none."""
        self._limits = limits
        self._logger = logger
        self._told = HandshakeLog(listener_name, logger)
        self._running: dict[asyncio.Task[None], _Handshake] = {}
        self._freed = asyncio.Event()
        self._expected = 0
        self.succeeded = 0

    @property
    def failed(self) -> int:
        """Return how many have failed."""
        return self._told.failures

    def __len__(self) -> int:
        return len(self._running)

    async def room(self) -> None:
        """Wait until there may be one more."""
        loop = asyncio.get_running_loop()
        while len(self._running) + self._expected >= self._limits.tls_handshakes_max:
            self._freed.clear()
            oldest = next((each for each in self._running.items() if not each[1].pressed), None)
            over_s = None
            if oldest is not None:
                task, handshake = oldest
                over_s = handshake.began_s + self._limits.tls_handshake_pressed_ms / 1000
                if over_s <= loop.time():
                    handshake.pressed = True
                    task.cancel()
                    continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(over_s):
                    await self._freed.wait()

    def expect(self, context: ssl.SSLContext | None) -> None:
        """Count one that is accepted and will begin soon."""
        self._expected += context is not None

    def expected_came(self, context: ssl.SSLContext | None) -> None:
        """Count it no more: it begins now, or never."""
        self._expected -= context is not None
        self._freed.set()

    def begin(self, context: ssl.SSLContext, accepted: socket.socket, channel: Accepted) -> None:
        """Let a connection shake hands."""
        loop = asyncio.get_running_loop()
        handshake = _Handshake(accepted, channel, loop.time())
        task = loop.create_task(self._one(context, handshake))
        self._running[task] = handshake
        task.add_done_callback(self._ended)

    async def close(self) -> None:
        """End all of them."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._told.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Tidy up, also after a task that was cancelled before it began."""
        handshake = self._running.pop(task)
        self._freed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._logger.error(
                "a TLS handshake ended by an error of ours",
                connection=handshake.channel.peer_id,
                exc_info=error,
            )
        if handshake.alerted is not None:
            handshake.alerted.close()
        if not handshake.over:
            if handshake.pressed:
                self._told.failed(handshake.channel.peer_id, "it takes too long")
            handshake.end(None)

    async def _one(self, context: ssl.SSLContext, handshake: _Handshake) -> None:
        tell_alert.set(handshake.tell)
        limits, channel = self._limits, handshake.channel
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: channel,
                handshake.accepted,
                ssl=context,
                ssl_handshake_timeout=limits.tls_handshake_ms / 1000,
                ssl_shutdown_timeout=limits.tls_shutdown_ms / 1000,
            )
            handshake.over = True
            self.succeeded += 1
        except OSError as error:
            if not channel.is_connected:
                self._told.failed(channel.peer_id, reason_of(error))
            handshake.end(error)
            if handshake.alerted is not None:
                await self._linger(handshake.alerted)

    async def _linger(self, connection: socket.socket) -> None:
        """Let the peer read its alert: what it still sends must not make the kernel reset."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            connection.setblocking(False)
            connection.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(self._limits.tls_linger_ms / 1000):
                while await loop.sock_recv(connection, LINGER_BYTES):
                    pass


_NOT_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "RECORD_LAYER_FAILURE"}
)


def reason_of(error: OSError) -> str:
    """Return in plain words why a handshake failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason: str = getattr(error, "reason", None) or "unknown reason"
        if reason in _NOT_TLS:
            return "the client does not speak TLS"
        return reason.lower().replace("_", " ")
    if isinstance(error, ConnectionResetError):
        return "the client has left"
    if isinstance(error, (TimeoutError, ConnectionAbortedError)):
        return "it takes too long"
    return error.strerror or "the connection is lost"
