"""The keys of TLS that have an effect on a server."""

from __future__ import annotations

from typing import Final

from doorkeeper.config.key import Applies, Key, Scope
from doorkeeper.config.values import KeyType, one_of

_STORE_TYPES = "JKS, PKCS12 or PEM. A JKS store may hold PKCS12, as in Java."

TLS: Final = (
    Key(
        name="ssl.keystore.type",
        type=KeyType.STRING,
        default="JKS",
        doc=f"What the key store is: {_STORE_TYPES}",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.keystore.location",
        type=KeyType.STRING,
        default=None,
        doc="The file with the server's certificate and its key.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.keystore.password",
        type=KeyType.PASSWORD,
        default=None,
        doc="The password of that file; PEM has none.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.key.password",
        type=KeyType.PASSWORD,
        default=None,
        doc="The password of the server's key.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.keystore.key",
        type=KeyType.PASSWORD,
        default=None,
        doc="The server's key itself: PEM with PKCS#8, with ssl.keystore.type=PEM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.keystore.certificate.chain",
        type=KeyType.PASSWORD,
        default=None,
        doc="The server's certificate itself, then those of its issuers: PEM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.truststore.type",
        type=KeyType.STRING,
        default="JKS",
        doc=f"What the trust store is: {_STORE_TYPES}",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.truststore.location",
        type=KeyType.STRING,
        default=None,
        doc="The file with the issuers of clients' certificates.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.truststore.password",
        type=KeyType.PASSWORD,
        default=None,
        doc="The password of that file; PEM has none.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.truststore.certificates",
        type=KeyType.PASSWORD,
        default=None,
        doc="These issuers themselves: PEM, with ssl.truststore.type=PEM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.client.auth",
        type=KeyType.STRING,
        default="none",
        doc=(
            "Whether clients show a certificate. On SASL_SSL only the value with the listener's"
            " prefix counts."
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
            "How the name in a client's certificate becomes the name of a user: rules, of which"
            " the first that matches counts."
        ),
        importance="LOW",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.protocol",
        type=KeyType.STRING,
        default="TLSv1.3",
        doc="Has no further effect: ssl.enabled.protocols says what is spoken.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.enabled.protocols",
        type=KeyType.LIST,
        default="TLSv1.2,TLSv1.3",
        doc="The protocols that are spoken: TLSv1.2, TLSv1.3.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.cipher.suites",
        type=KeyType.LIST,
        default="",
        doc="The cipher suites that are taken, by Java's names or OpenSSL's; empty takes all.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.allow.dn.changes",
        type=KeyType.BOOLEAN,
        default="false",
        doc="Whether a key store that changes while the server runs may be for another name.",
        importance="LOW",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="ssl.allow.san.changes",
        type=KeyType.BOOLEAN,
        default="false",
        doc="Whether it may lack alternative names of the one before.",
        importance="LOW",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.ssl.crl.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A file of revocation lists (PEM, or one in DER): clients whose certificates they name"
            " are refused, and so are those of an issuer that has no list in it."
        ),
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
)
"""All keys, in the order of the documentation."""
