"""Builds the ``ssl.SSLContext`` of a listener.

Source: Kafka's ``DefaultSslEngineFactory`` and ``ChannelBuilders`` (4.3.1), and the defaults of
Java's TLS: no renegotiation, every trusted certificate is a trust anchor, the server's order of
cipher suites takes precedence.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from doorkeeper.base.distinguished_name import name_of
from doorkeeper.base.key import Key
from doorkeeper.base.tls import pem
from doorkeeper.base.tls.keys import (
    SSL_CIPHER_SUITES,
    SSL_CLIENT_AUTH,
    SSL_CRL_FILE,
    SSL_ENABLED_PROTOCOLS,
    SSL_KEYSTORE_LOCATION,
    SSL_PROTOCOL,
    SSL_TRUSTSTORE_LOCATION,
)
from doorkeeper.base.tls.settings import TlsSettings
from doorkeeper.base.tls.sources import memory_file
from doorkeeper.base.tls.stores import identity_of, trust, trust_store_of
from doorkeeper.server.security.tls.alerts import AlertContext
from doorkeeper.server.security.tls.cipher_suites import AVAILABLE, OF_TLS_1_3, choose

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The supported protocols, oldest first."""

_PROTOCOLS: Final = ("TLS", *VERSIONS)
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class BuiltContext(Struct, frozen=True):
    """A context, the server's own certificate in it, and warnings about the configuration."""

    context: ssl.SSLContext
    certificate: Certificate
    warnings: tuple[str, ...]


def build_context(settings: TlsSettings, files: Mapping[Key[object], bytes]) -> BuiltContext:
    warnings: list[str] = []
    identity = identity_of(settings, files)
    trusted = trust_store_of(settings, files)
    verify = _client_auth(settings, warnings)
    context = AlertContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    # A resumed session is not checked against revocation lists. Without
    # tickets, the TLS 1.2 sessions that OpenSSL caches in this context remain, which Python
    # cannot disable: they vanish with the context when the list changes.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    _choose_protocols(settings, context, warnings)
    with _openssl(settings, SSL_KEYSTORE_LOCATION, "OpenSSL rejects the certificate"):
        identity.load_into(context)
    if verify is not ssl.CERT_NONE:
        if trusted is None:
            raise settings.problem(
                SSL_TRUSTSTORE_LOCATION,
                f"missing; listener {settings.listener_name} requests client certificates"
                " (ssl.client.auth), which requires a trust store",
            )
        with _openssl(settings, SSL_TRUSTSTORE_LOCATION, "OpenSSL rejects the certificates"):
            trust(context, trusted)
    if SSL_CRL_FILE in files:
        _load_revoked(settings, context, files[SSL_CRL_FILE], trusted or (), warnings)
    context.verify_mode = verify
    return BuiltContext(context, identity.chain[0], tuple(warnings))


def _client_auth(settings: TlsSettings, warnings: list[str]) -> ssl.VerifyMode:
    """Return whether clients must or may present certificates.

    With SASL only the listener's own setting counts, as in ChannelBuilders.
    """
    key = SSL_CLIENT_AUTH
    text = settings[key]
    if settings.security_protocol == "SASL_SSL" and not settings.is_given_here(key):
        if text != "none":
            name = settings.listener_name
            warnings.append(
                f"ssl.client.auth={text} does not count for listener {name}, which speaks SASL_SSL:"
                f" to ask its clients for certificates give listener.name.{name.lower()}.{key}"
            )
        return ssl.CERT_NONE
    return _CLIENT_AUTH[text]


def _choose_protocols(settings: TlsSettings, context: ssl.SSLContext, warnings: list[str]) -> None:
    """Set versions and cipher suites; a version without a suite is disabled, as in Java."""
    protocol = settings[SSL_PROTOCOL]
    if protocol not in _PROTOCOLS:
        raise settings.problem(
            SSL_PROTOCOL, f"found {protocol!r}; allowed: {', '.join(_PROTOCOLS)}"
        )
    enabled: Sequence[str] = settings[SSL_ENABLED_PROTOCOLS] or tuple(VERSIONS)
    for name in enabled:
        if name not in VERSIONS:
            raise settings.problem(
                SSL_ENABLED_PROTOCOLS, f"found {name!r}; allowed: {', '.join(VERSIONS)}"
            )
    if settings[SSL_CIPHER_SUITES]:
        enabled = _choose_suites(settings, context, enabled, warnings)
    versions = [VERSIONS[name] for name in VERSIONS if name in enabled]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _choose_suites(
    settings: TlsSettings, context: ssl.SSLContext, enabled: Sequence[str], warnings: list[str]
) -> list[str]:
    """Set the cipher suites; return the protocols that have any."""
    key = SSL_CIPHER_SUITES
    context.set_ciphers(AVAILABLE)
    available = [
        cipher["name"] for cipher in context.get_ciphers() if cipher["name"] not in OF_TLS_1_3
    ]
    try:
        older, of_1_3 = choose(settings[key], available)
    except ValueError as error:
        raise settings.problem(key, str(error)) from None
    if older:
        context.set_ciphers(":".join(older))
    with_suites = {"TLSv1.2": older, "TLSv1.3": of_1_3}
    left = [name for name in enabled if with_suites[name]]
    if not left:
        text = f"no enabled cipher suite works with {' or '.join(enabled)} (ssl.enabled.protocols)"
        raise settings.problem(key, text)
    if "TLSv1.3" in left and len(of_1_3) < len(OF_TLS_1_3):
        warnings.append(
            f"{settings.full_name(key)}: all three TLS 1.3 suites stay enabled:"
            f" {', '.join(OF_TLS_1_3)}"
        )
    return left


def _load_revoked(
    settings: TlsSettings,
    context: ssl.SSLContext,
    data: bytes,
    trusted: Sequence[Certificate],
    warnings: list[str],
) -> None:
    """Refuse certificates on the lists, and those of issuers without a list."""
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        lists = pem.revocations_of(data)
    except pem.PemError as error:
        raise settings.problem(SSL_CRL_FILE, f"{settings[SSL_CRL_FILE]}: {error}") from None
    with (
        _openssl(settings, SSL_CRL_FILE, f"{settings[SSL_CRL_FILE]}: rejected by OpenSSL"),
        memory_file(b"".join(e.public_bytes(Encoding.PEM) for e in lists)) as name,
    ):
        context.load_verify_locations(cafile=name)
    # Only the client's own certificate: lists of intermediate issuers are rarely at hand.
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    issuers = {revocations.issuer for revocations in lists}
    warnings += [
        f"{settings.full_name(SSL_CRL_FILE)}: it has no list of"
        f" {name_of(certificate.subject.public_bytes())!r}: every certificate of that issuer is"
        " refused"
        for certificate in trusted
        if certificate.subject not in issuers and _issues(certificate)
    ]


def _issues(certificate: Certificate) -> bool:
    """Return whether it is a CA certificate."""
    from cryptography.x509 import BasicConstraints

    values = (extension.value for extension in certificate.extensions)
    return any(isinstance(value, BasicConstraints) and value.ca for value in values)


@contextmanager
def _openssl(settings: TlsSettings, key: Key[object], text: str) -> Iterator[None]:
    """Report an error of OpenSSL in the block as a problem of a key."""
    try:
        yield
    except ssl.SSLError as error:
        reason = (error.reason or "unknown reason").lower().replace("_", " ")
        raise settings.problem(key, f"{text}: {reason}") from None
