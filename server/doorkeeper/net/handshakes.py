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
    from doorkeeper.net.shell import Shell
    from doorkeeper.net.spec import Logger

LINGER_BYTES: Final = 65536
"""How much is read at a time of what nobody wants."""


class Handshakes:
    """Those of one listener."""

    __slots__ = ("_freed", "_limits", "_log", "_pressed", "_running")

    def __init__(self, listener_name: str, limits: Limits, logger: Logger) -> None:
        """Begin with none."""
        self._limits = limits
        self._log = HandshakeLog(listener_name, logger)
        self._running: dict[asyncio.Task[None], float] = {}
        self._pressed: set[asyncio.Task[None] | None] = set()
        self._freed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._running)

    async def room(self) -> None:
        """Wait until there may be one more."""
        loop = asyncio.get_running_loop()
        while len(self._running) >= self._limits.tls_handshakes_max:
            self._freed.clear()
            waiting = [each for each in self._running if each not in self._pressed]
            if not waiting:
                await self._freed.wait()
                continue
            oldest = waiting[0]
            over_s = self._running[oldest] + self._limits.tls_handshake_pressed_ms / 1000
            if over_s <= loop.time():
                self._pressed.add(oldest)
                oldest.cancel()
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(over_s):
                    await self._freed.wait()

    def begin(self, context: ssl.SSLContext, accepted: socket.socket, shell: Shell) -> None:
        """Let a connection shake hands."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._one(context, accepted, shell))
        self._running[task] = loop.time()
        task.add_done_callback(self._ended)

    async def close(self) -> None:
        """End all of them."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._log.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._pressed.discard(task)
        self._freed.set()

    async def _one(self, context: ssl.SSLContext, accepted: socket.socket, shell: Shell) -> None:
        left: list[socket.socket] = []

        def tell(alert: bytes) -> None:
            with suppress(OSError):
                accepted.send(alert)
                left.append(accepted.dup())

        tell_alert.set(tell)
        limits = self._limits
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: shell,
                accepted,
                ssl=context,
                ssl_handshake_timeout=limits.tls_handshake_ms / 1000,
                ssl_shutdown_timeout=limits.tls_shutdown_ms / 1000,
            )
        except asyncio.CancelledError:
            pressed = asyncio.current_task() in self._pressed
            error = TimeoutError("others were waiting") if pressed else None
            self._forget(accepted, shell, error)
            if pressed:
                return
            raise
        except OSError as error:
            self._forget(accepted, shell, error)
        for each in left:
            await self._linger(each)

    def _forget(self, accepted: socket.socket, shell: Shell, error: OSError | None) -> None:
        if shell.is_connected:
            # The transport ends it, and tells it so.
            shell.abort("connection cut off at the end of its handshake")
            return
        accepted.close()
        if error is not None:
            self._log.failed(shell.peer_id, reason_of(error))
        shell.connection_lost(error)

    async def _linger(self, connection: socket.socket) -> None:
        """Let the peer read its alert: what it still sends must not make the kernel reset."""
        loop = asyncio.get_running_loop()
        try:
            with suppress(OSError):
                connection.setblocking(False)
                connection.shutdown(socket.SHUT_WR)
                async with asyncio.timeout(self._limits.tls_linger_ms / 1000):
                    while await loop.sock_recv(connection, LINGER_BYTES):
                        pass
        finally:
            connection.close()


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
