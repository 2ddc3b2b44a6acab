"""Whether a transport is encrypted, and the certificates of its peer."""

from __future__ import annotations

import asyncio
from typing import Final

ENCODING_DER: Final = 2
"""OpenSSL's number for DER, which Python gives no public name."""


def is_encrypted(transport: asyncio.BaseTransport) -> bool:
    return transport.get_extra_info("ssl_object") is not None


def peer_certificates(transport: asyncio.BaseTransport) -> tuple[bytes, ...]:
    """Return the client's certificate and its issuers, in DER.

    Empty without TLS, or where the client sent none.
    """
    tls = transport.get_extra_info("ssl_object")
    der = None if tls is None else tls.getpeercert(binary_form=True)
    if der is None:
        return ()
    if hasattr(tls, "get_verified_chain"):
        chain = tls.get_verified_chain()
    else:
        # Python 3.11 and 3.12 have it where it is private only.
        chain = [
            certificate.public_bytes(ENCODING_DER)
            for certificate in tls._sslobj.get_verified_chain() or ()  # noqa: SLF001
        ]
    return tuple(chain) or (der,)
