"""The SSL context of HTTPS from a certificate and its key, which are PEM files."""

from __future__ import annotations

import ssl
from pathlib import Path


def https_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the context of a server.

    Raises:
        OSError: a file cannot be read.
        ValueError: they are not a certificate and its key, or the key is encrypted.
    """
    for file in (certificate, key):
        # OpenSSL does not say which of the two it could not read.
        file.open("rb").close()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # A password is given, so that an encrypted key fails instead of prompting.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        reason = (error.reason or "no certificate, or an encrypted key").lower()
        raise ValueError(f"{certificate}, {key}: {reason.replace('_', ' ')}") from None
    return context
