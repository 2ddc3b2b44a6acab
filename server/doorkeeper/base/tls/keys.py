"""The keys of TLS that have an effect on a server."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import (
    Applies,
    Dynamic,
    Key,
    Options,
    Scope,
    file,
    flag,
    optional,
    password,
    text,
    words,
)
from doorkeeper.base.values import one_of

_OF_STORE: Final[Options] = {"scope": Scope.LISTENER, "in_kafka": Dynamic.LISTENER}
_OF_STORE_FILE: Final[Options] = {**_OF_STORE, "applies": Applies.DYNAMIC}
_OF_BROKER: Final[Options] = {"scope": Scope.LISTENER, "in_kafka": Dynamic.BROKER}

SSL_KEYSTORE_TYPE: Final = text(
    "ssl.keystore.type",
    "JKS",
    "The type of the key store: JKS, PKCS12 or PEM. A JKS store may hold PKCS12, as in Java.",
    **_OF_STORE_FILE,
)
SSL_KEYSTORE_LOCATION: Final = optional(
    "ssl.keystore.location",
    "The key store: a file with the server's certificate and private key.",
    **_OF_STORE_FILE,
)
SSL_KEYSTORE_PASSWORD: Final = password(
    "ssl.keystore.password", "The password of the key store; PEM has none.", **_OF_STORE
)
SSL_KEY_PASSWORD: Final = password(
    "ssl.key.password", "The password of the server's private key.", **_OF_STORE
)
SSL_KEYSTORE_KEY: Final = password(
    "ssl.keystore.key",
    "The server's private key as PEM with PKCS#8; requires ssl.keystore.type=PEM.",
    **_OF_STORE,
)
SSL_KEYSTORE_CERTIFICATE_CHAIN: Final = password(
    "ssl.keystore.certificate.chain",
    "The server's certificate and those of its issuers as PEM.",
    **_OF_STORE,
)
SSL_TRUSTSTORE_TYPE: Final = text(
    "ssl.truststore.type",
    "JKS",
    "The type of the trust store: JKS, PKCS12 or PEM. A JKS store may hold PKCS12, as in Java.",
    **_OF_STORE_FILE,
)
SSL_TRUSTSTORE_LOCATION: Final = optional(
    "ssl.truststore.location",
    "The trust store: a file with the issuers of client certificates.",
    **_OF_STORE_FILE,
)
SSL_TRUSTSTORE_PASSWORD: Final = password(
    "ssl.truststore.password", "The password of the trust store; PEM has none.", **_OF_STORE
)
SSL_TRUSTSTORE_CERTIFICATES: Final = password(
    "ssl.truststore.certificates",
    "The issuers of client certificates as PEM; requires ssl.truststore.type=PEM.",
    **_OF_STORE,
)
SSL_CLIENT_AUTH: Final = text(
    "ssl.client.auth",
    "none",
    "Whether clients must present a certificate. On SASL_SSL only the value with the listener's"
    " prefix applies.",
    one_of("required", "requested", "none"),
    **_OF_BROKER,
)
SSL_PRINCIPAL_MAPPING_RULES: Final = text(
    "ssl.principal.mapping.rules",
    "DEFAULT",
    "Rules that map the name in a client certificate to a user name; the first matching one"
    " applies.",
    scope=Scope.LISTENER,
)
SSL_PROTOCOL: Final = text(
    "ssl.protocol",
    "TLSv1.3",
    "Has no effect: ssl.enabled.protocols selects the protocols.",
    **_OF_BROKER,
)
SSL_ENABLED_PROTOCOLS: Final = words(
    "ssl.enabled.protocols",
    "TLSv1.2,TLSv1.3",
    "The enabled protocols: TLSv1.2, TLSv1.3.",
    **_OF_BROKER,
)
SSL_CIPHER_SUITES: Final = words(
    "ssl.cipher.suites",
    "",
    "The enabled cipher suites, by Java's or OpenSSL's names; empty enables all.",
    **_OF_BROKER,
)
SSL_ALLOW_DN_CHANGES: Final = flag(
    "ssl.allow.dn.changes",
    "Whether the certificate in a reloaded key store may have another distinguished name.",
    scope=Scope.LISTENER,
)
SSL_ALLOW_SAN_CHANGES: Final = flag(
    "ssl.allow.san.changes",
    "Whether the certificate in a reloaded key store may lack alternative names of the previous"
    " one.",
    scope=Scope.LISTENER,
)
SSL_CRL_FILE: Final = file(
    "doorkeeper.ssl.crl.file",
    "A file of revocation lists (PEM, or one in DER). Client certificates are rejected if a"
    " list contains them, or if their issuer has no list in the file.",
    scope=Scope.LISTENER,
)

TLS: Final = tuple(key for key in list(globals().values()) if isinstance(key, Key))
"""All keys, in the order of the documentation."""
