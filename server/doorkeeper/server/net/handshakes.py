"""TLS handshakes of one listener, each in its own task, so that none delays others.

Their number is limited, since each costs the loop a millisecond. At the limit, accepting waits for
one to end; the oldest one beyond ``tls_handshake_overdue_ms`` is cancelled. A failed handshake
sends its alert and gives the peer time to read it: an immediate close would discard it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sized
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from doorkeeper.server.net.context import Accepted
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.peer_log import Flood
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.security.tls.alerts import alert_sender

LINES_MAX: Final = 10
"""A client with a wrong certificate reconnects often: further failures of a listener in a window
are only counted."""

LINGER_BYTES: Final = 65536
"""The size of reads whose data is discarded."""


@dataclass(slots=True, eq=False)
class _Handshake:
    """One handshake. ``over`` says that the connection has a transport, or is forgotten."""

    accepted: socket.socket
    channel: Accepted
    began_s: float
    overdue: bool = False
    over: bool = False
    alert_socket: socket.socket | None = None

    def send_alert(self, alert: bytes) -> None:
        """Send an alert, and keep a descriptor so that the peer can read it."""
        with suppress(OSError):
            self.accepted.send(alert)
            # asyncio closes its own descriptor; the copy keeps the connection open until the alert
            # is read. Neither loop sends the alert itself.
            self.alert_socket = self.accepted.dup()

    def end(self, error: OSError | None) -> None:
        """Close the connection, which may not have a transport yet."""
        self.over = True
        if self.channel.is_connected:
            # The transport closes the socket and calls connection_lost.
            self.channel.abort("connection cut off at the end of its handshake")
            return
        self.accepted.close()
        self.channel.connection_lost(error)


class Handshakes:
    """The handshakes in progress of one listener."""

    __slots__ = (
        *("_flood", "_freed", "_limits", "_listener", "_logger", "_running"),
        *("failures", "succeeded"),
    )

    def __init__(self, listener_name: str, limits: Limits, logger: Logger) -> None:
        self._limits = limits
        self._logger = logger
        self._listener = listener_name
        self._flood = Flood(LINES_MAX, asyncio.get_running_loop(), self._tell_omitted)
        self.failures = 0
        self._running: dict[asyncio.Task[None], _Handshake] = {}
        self._freed = asyncio.Event()
        self.succeeded = 0

    async def wait_for_room(self, accepted: Sized) -> None:
        """Wait until another handshake may begin, beside those of connections just accepted."""
        loop = asyncio.get_running_loop()
        # A burst of accepted sockets must not exceed the limit.
        while len(self._running) + len(accepted) >= self._limits.tls_handshakes_max:
            self._freed.clear()
            oldest = next(
                (running for running in self._running.items() if not running[1].overdue), None
            )
            over_s = None
            if oldest is not None:
                task, handshake = oldest
                over_s = handshake.began_s + self._limits.tls_handshake_overdue_ms / 1000
                if over_s <= loop.time():
                    # Marked, so that the next call cancels the next oldest while this one still
                    # ends.
                    handshake.overdue = True
                    task.cancel()
                    continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(over_s):
                    await self._freed.wait()

    def release(self) -> None:
        """Look for room again: an accepted connection begins its handshake now, or never."""
        self._freed.set()

    def begin(self, context: ssl.SSLContext, accepted: socket.socket, channel: Accepted) -> None:
        loop = asyncio.get_running_loop()
        handshake = _Handshake(accepted, channel, loop.time())
        task = loop.create_task(self._one(context, handshake))
        self._running[task] = handshake
        task.add_done_callback(self._end)

    async def close(self) -> None:
        """Cancel all handshakes."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._flood.close()

    def record_failure(self, connection: str, reason: str) -> None:
        self.failures += 1
        if self._flood.admits("failed TLS handshake"):
            self._logger.info(
                "failed TLS handshake",
                listener=self._listener,
                connection=connection,
                reason=reason,
            )

    def _tell_omitted(self, _event: str, count: int) -> None:
        self._logger.info(
            "failed TLS handshakes, not logged one by one", listener=self._listener, count=count
        )

    def _end(self, task: asyncio.Task[None]) -> None:
        """Clean up, also after a task that was cancelled before it began."""
        handshake = self._running.pop(task)
        self._freed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._logger.error(
                "a TLS handshake failed in the server",
                connection=handshake.channel.peer_id,
                exc_info=error,
            )
        if handshake.alert_socket is not None:
            handshake.alert_socket.close()
        if not handshake.over:
            if handshake.overdue:
                self.record_failure(handshake.channel.peer_id, "timed out")
            handshake.end(None)

    async def _one(self, context: ssl.SSLContext, handshake: _Handshake) -> None:
        # A context variable: the SSL object, made deep inside asyncio, finds its handshake by it.
        alert_sender.set(handshake.send_alert)
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
                self.record_failure(channel.peer_id, reason_of(error))
            handshake.end(error)
            if handshake.alert_socket is not None:
                await self._linger(handshake.alert_socket)

    async def _linger(self, connection: socket.socket) -> None:
        """Discard input until the peer has read its alert: unread input would cause a reset."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            connection.setblocking(False)
            # End our side; closing with unread input would reset, and the kernel would drop the
            # alert.
            connection.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(self._limits.tls_linger_ms / 1000):
                while await loop.sock_recv(connection, LINGER_BYTES):
                    pass


_NOT_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "RECORD_LAYER_FAILURE"}
)


def reason_of(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason: str = getattr(error, "reason", None) or "unknown reason"
        if reason in _NOT_TLS:
            return "the client does not speak TLS"
        return reason.lower().replace("_", " ")
    if isinstance(error, ConnectionResetError):
        return "the client disconnected"
    # asyncio reports its handshake time-out as an aborted connection.
    if isinstance(error, (TimeoutError, ConnectionAbortedError)):
        return "timed out"
    return error.strerror or "the connection is lost"
