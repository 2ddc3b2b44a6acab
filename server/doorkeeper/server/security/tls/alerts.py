"""TLS alerts: the cause of a failed handshake, and the close of a connection.

OpenSSL writes an alert when a handshake fails, but asyncio and uvloop close the connection without
sending it. In TLS 1.3 a client has finished before the server has seen its certificate: without the
alert it takes the refusal for a server that is down, and retries for ever. The context here passes
the alert to the function in ``alert_sender``.

At the end of a connection both loops wait for the peer's close_notify. An idle client that does not
read would delay every stop, so the server sends its own and closes, as a broker does.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar

AlertSender = Callable[[bytes], None]

alert_sender: ContextVar[AlertSender | None] = ContextVar("alert_sender", default=None)
"""Sends the alert of connections created in this contextvars context."""


class _AlertObject(ssl.SSLObject):
    """One connection's TLS."""

    _outgoing: ssl.MemoryBIO | None = None
    _sender: AlertSender | None = None

    def send_alerts_to(self, outgoing: ssl.MemoryBIO, sender: AlertSender | None) -> None:
        """Pass alerts, which OpenSSL writes into ``outgoing``, to ``sender``."""
        self._outgoing, self._sender = outgoing, sender

    def do_handshake(self) -> None:
        """Continue the handshake; on failure send the alert."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            alert = self._outgoing.read() if self._outgoing is not None else b""
            if alert and self._sender is not None:
                self._sender(alert)
            raise
        # Released: not needed after the handshake.
        self._outgoing = self._sender = None

    def unwrap(self) -> None:
        """Send close_notify without waiting for the peer's."""
        with suppress(ssl.SSLWantReadError):
            super().unwrap()


class AlertContext(ssl.SSLContext):
    """A context whose connections send the alert of a failed handshake."""

    sslobject_class = _AlertObject

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT002 - the signature is Python's
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        connection = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        assert isinstance(connection, _AlertObject)
        connection.send_alerts_to(outgoing, alert_sender.get())
        return connection
