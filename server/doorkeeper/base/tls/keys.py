"""The keys of TLS that have an effect on a server."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Applies, Key, Scope
from doorkeeper.base.values import KeyType, one_of

_STORE_TYPES = "JKS, PKCS12 or PEM. A JKS store may hold PKCS12, as in Java."

TLS: Final = (
    Key(
        name="ssl.keystore.type",
        type=KeyType.STRING,
        default="JKS",
        doc=f"The type of the key store: {_STORE_TYPES}",
        scope=Scope.LISTENER,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="ssl.keystore.location",
        type=KeyType.STRING,
        default=None,
        doc="The key store: a file with the server's certificate and private key.",
        scope=Scope.LISTENER,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="ssl.keystore.password",
        type=KeyType.PASSWORD,
        default=None,
        doc="The password of the key store; PEM has none.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.key.password",
        type=KeyType.PASSWORD,
        default=None,
        doc="The password of the server's private key.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.keystore.key",
        type=KeyType.PASSWORD,
        default=None,
        doc="The server's private key as PEM with PKCS#8; requires ssl.keystore.type=PEM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.keystore.certificate.chain",
        type=KeyType.PASSWORD,
        default=None,
        doc="The server's certificate and those of its issuers as PEM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.truststore.type",
        type=KeyType.STRING,
        default="JKS",
        doc=f"The type of the trust store: {_STORE_TYPES}",
        scope=Scope.LISTENER,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="ssl.truststore.location",
        type=KeyType.STRING,
        default=None,
        doc="The trust store: a file with the issuers of client certificates.",
        scope=Scope.LISTENER,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="ssl.truststore.password",
        type=KeyType.PASSWORD,
        default=None,
        doc="The password of the trust store; PEM has none.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.truststore.certificates",
        type=KeyType.PASSWORD,
        default=None,
        doc="The issuers of client certificates as PEM; requires ssl.truststore.type=PEM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.client.auth",
        type=KeyType.STRING,
        default="none",
        doc=(
            "Whether clients must present a certificate. On SASL_SSL only the value with the"
            " listener's prefix applies."
        ),
        check=one_of("required", "requested", "none"),
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.principal.mapping.rules",
        type=KeyType.STRING,
        default="DEFAULT",
        doc=(
            "Rules that map the name in a client certificate to a user name; the first matching"
            " one applies."
        ),
        importance="LOW",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.protocol",
        type=KeyType.STRING,
        default="TLSv1.3",
        doc="Has no effect: ssl.enabled.protocols selects the protocols.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.enabled.protocols",
        type=KeyType.LIST,
        default="TLSv1.2,TLSv1.3",
        doc="The enabled protocols: TLSv1.2, TLSv1.3.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.cipher.suites",
        type=KeyType.LIST,
        default="",
        doc="The enabled cipher suites, by Java's or OpenSSL's names; empty enables all.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.allow.dn.changes",
        type=KeyType.BOOLEAN,
        default="false",
        doc="Whether the certificate in a reloaded key store may have another distinguished name.",
        importance="LOW",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.allow.san.changes",
        type=KeyType.BOOLEAN,
        default="false",
        doc=(
            "Whether the certificate in a reloaded key store may lack alternative names of the"
            " previous one."
        ),
        importance="LOW",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.ssl.crl.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A file of revocation lists (PEM, or one in DER). Client certificates are rejected"
            " if a list contains them, or if their issuer has no list in the file."
        ),
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
)
"""All keys, in the order of the documentation."""
