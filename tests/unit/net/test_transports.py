"""doorkeeper.net.transports: what a transport tells of TLS."""

from __future__ import annotations

import asyncio
from typing import Any

from doorkeeper.net.transports import is_encrypted, peer_certificates


class Tls:
    """An encrypted connection with these certificates, the client's own first."""

    def __init__(self, *chain: bytes, verified: bool = True) -> None:
        self._chain = chain
        if verified:
            self.get_verified_chain = lambda: chain

    def getpeercert(self, *, binary_form: bool) -> bytes | None:
        assert binary_form
        return self._chain[0] if self._chain else None


class Transport(asyncio.Transport):
    def __init__(self, tls: Any) -> None:
        super().__init__(extra={"ssl_object": tls} if tls else None)


def test_in_clear() -> None:
    """A transport in clear is not encrypted and has no certificates."""
    transport = Transport(None)

    assert not is_encrypted(transport)
    assert peer_certificates(transport) == ()


def test_certificates() -> None:
    """The client's certificate and its issuers, or nothing where it showed none."""
    assert is_encrypted(Transport(Tls()))
    assert peer_certificates(Transport(Tls())) == ()
    assert peer_certificates(Transport(Tls(b"own", b"issuer"))) == (b"own", b"issuer")
