"""What TLS says at the end: why a handshake failed, and goodbye.

OpenSSL writes an alert for a handshake that fails; asyncio and uvloop close the connection without
sending it. In TLS 1.3 a client is done before the server has seen its certificate: without the
alert it takes the refusal for a server that is down, and tries again for ever. A context of this
kind gives the alert to whoever has asked for it.

At the end of a connection both loops wait for the peer's goodbye. A client that looks at its
connection only when it needs it would hold up every stop: we say ours and leave, as a broker does.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar

Tell = Callable[[bytes], None]

tell_alert: ContextVar[Tell | None] = ContextVar("tell_alert", default=None)
"""What sends the alert of a connection that is made within this context of Python's."""


class _TellingObject(ssl.SSLObject):
    """One connection's TLS."""

    _outgoing: ssl.MemoryBIO | None = None
    _tell: Tell | None = None

    def tell_by(self, outgoing: ssl.MemoryBIO, tell: Tell | None) -> None:
        """Give alerts, which OpenSSL writes into ``outgoing``, to ``tell``."""
        self._outgoing, self._tell = outgoing, tell

    def do_handshake(self) -> None:
        """Go on with the handshake; when it fails, tell the alert."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError:
            alert = self._outgoing.read() if self._outgoing is not None else b""
            if alert and self._tell is not None:
                self._tell(alert)
            raise
        # A connection that goes on needs neither.
        self._outgoing = self._tell = None

    def unwrap(self) -> None:
        """Say goodbye; nobody waits for the answer."""
        with suppress(ssl.SSLWantReadError):
            super().unwrap()


class TellingContext(ssl.SSLContext):
    """A context whose connections tell their alerts."""

    sslobject_class = _TellingObject

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - the signature is Python's
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Return one connection's TLS."""
        found = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        assert isinstance(found, _TellingObject)
        found.tell_by(outgoing, tell_alert.get())
        return found
