"""Rules C4: TLS.

Source: ``DefaultSslEngineFactory``, ``SslFactory``, ``ChannelBuilders`` (4.3.1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from doorkeeper.server.app.config_rules import stores
from doorkeeper.server.app.config_rules.findings import Hit
from doorkeeper.server.app.config_rules.rule import ERROR, WARNING, rule
from doorkeeper.server.config.naming import LISTENER_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.base.entry import Entry
    from doorkeeper.server.app.config_rules.node import Node

CLIENT_AUTH: Final = "ssl.client.auth"
_STORES: Final = (("keystore", "key store"), ("truststore", "trust store"))
_PROTOCOLS: Final = ("TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1", "SSLv3", "SSLv2Hello")
_CONTEXTS: Final = (*_PROTOCOLS, "TLS", "SSL", "SSLv2", "DTLS", "DTLSv1.0", "DTLSv1.2", "Default")
_OLD: Final = frozenset({"TLSv1.1", "TLSv1", "SSLv3", "SSLv2Hello"})
_SUITE: Final = re.compile(r"(TLS|SSL)_[A-Z0-9_]+")

_SSL: Final = (
    "listeners=SSL://localhost:9092,CONTROLLER://localhost:9093\n"
    "listener.security.protocol.map=SSL:SSL,CONTROLLER:PLAINTEXT\n"
    "inter.broker.listener.name=SSL\n"
)
_KEYS: Final = (
    "ssl.keystore.type=PKCS12\nssl.keystore.location=/etc/kafka/kafka.p12\n"
    "ssl.keystore.password=secret\n"
)
_TRUST: Final = (
    "ssl.truststore.type=PKCS12\nssl.truststore.location=/etc/kafka/trust.p12\n"
    "ssl.truststore.password=secret\n"
)
_SECURE: Final = f"{_SSL}{_KEYS}{_TRUST}ssl.client.auth=required\n"


def _tls(node: Node) -> list[str]:
    """Return the listeners with Kafka's own TLS, and those that the node connects to."""
    names = node.with_protocol("SSL", "SASL_SSL", of=node.known_listeners)
    return [name for name in names if not node.of("ssl.engine.factory.class", name)]


def _where(node: Node, key: str, listener: str) -> str | Entry:
    return node.entry(key, listener) or key


def _is_pem(node: Node, kind: str, listener: str) -> bool:
    return node.of(f"ssl.{kind}.type", listener) == "PEM"


@rule(
    "C401",
    ERROR,
    "A key store without a password",
    "The password of the key store is required, except for PEM.",
    wrong=_SECURE.replace("ssl.keystore.password=secret\n", ""),
    right=_SECURE,
)
def store_without_password(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        has_store = node.of("ssl.keystore.location", name)
        password = node.entry("ssl.keystore.password", name)
        if has_store and password is None and not _is_pem(node, "keystore", name):
            key = "ssl.keystore.password"
            yield node.at(key, f"not set, but listener {name} has a key store")


@rule(
    "C402",
    ERROR,
    "A password without a store",
    "A password without a location is rejected. The location may be misspelled or have another"
    " prefix.",
    wrong=_SECURE.replace("ssl.truststore.location=/etc/kafka/trust.p12\n", ""),
    right=_SECURE,
)
def password_without_store(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        for kind, text in _STORES:
            inline = "key" if kind == "keystore" else "certificates"
            password = node.entry(f"ssl.{kind}.password", name)
            others = (f"ssl.{kind}.location", f"ssl.{kind}.{inline}")
            if password is not None and not any(node.entry(key, name) for key in others):
                yield node.at(password, f"listener {name} has no ssl.{kind}.location: no {text}")


@rule(
    "C403",
    ERROR,
    "A PEM store with settings of other store types",
    "A PEM store has no store password, only ssl.key.password for an encrypted key. A key and"
    " certificates in the configuration itself require the type PEM and each other, and exclude a"
    " location.",
    wrong=_SECURE.replace("keystore.type=PKCS12", "keystore.type=PEM"),
    right=_SECURE,
)
def pem_and_others(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        for kind, text in _STORES:
            inline = "key" if kind == "keystore" else "certificates"
            key = node.entry(f"ssl.{kind}.{inline}", name)
            location = node.entry(f"ssl.{kind}.location", name)
            password = node.entry(f"ssl.{kind}.password", name)
            if key is not None and not _is_pem(node, kind, name):
                found = node.of(f"ssl.{kind}.type", name)
                yield node.at(key, f"allowed with ssl.{kind}.type=PEM only; found {found}")
            elif key is not None and location is not None:
                yield node.at(key, f"give either this or ssl.{kind}.location, not both")
            elif password is not None and _is_pem(node, kind, name) and (key or location):
                yield node.at(password, f"a {text} of the type PEM has no password")


@rule(
    "C404",
    ERROR,
    "A key without a certificate",
    "ssl.keystore.key and ssl.keystore.certificate.chain are given together.",
    wrong=f"{_SSL}ssl.keystore.type=PEM\nssl.keystore.key=KEY\n",
    right=f"{_SSL}ssl.keystore.type=PEM\nssl.keystore.key=KEY\n"
    "ssl.keystore.certificate.chain=CERTIFICATE\n",
)
def key_without_certificate(node: Node) -> Iterator[Hit]:
    names = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
    for name in _tls(node):
        entries = [node.entry(key, name) for key in names]
        for (key, entry), other in zip(
            zip(names, entries, strict=True), reversed(entries), strict=True
        ):
            if entry is None and other is not None:
                yield node.at(key, f"not set, but {other.key} is set")


@rule(
    "C405",
    ERROR,
    "An unknown store type",
    f"The types are {', '.join(stores.TYPES)}; PEM must be in upper case.",
    wrong=_SECURE.replace("keystore.type=PKCS12", "keystore.type=P12"),
    right=_SECURE,
)
def unknown_store_type(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        for kind, _ in _STORES:
            entry = node.entry(f"ssl.{kind}.type", name)
            if entry is None or not node.entry(f"ssl.{kind}.location", name):
                continue
            found = entry.value.strip()
            # Java compares the names of its own types without case; Kafka's PEM is exact.
            java = found.upper() in stores.TYPES and found.upper() != "PEM"
            is_open = found.upper() in stores.OF_PROVIDERS or node.is_template(entry)
            if not (java or found == "PEM" or is_open):
                yield node.at(entry, f"found {found!r}; allowed: {', '.join(stores.TYPES)}")


@rule(
    "C406",
    ERROR,
    "A store that cannot be opened",
    "The files are opened when the node starts. This is checked only if the file, or at least its"
    " folder, exists on this machine. The content must match the type; the file extension is not"
    " used.",
    wrong={
        "server.properties": f"{_SSL}ssl.keystore.location=kafka.pem\nssl.keystore.password=x\n",
        "kafka.pem": "-----BEGIN CERTIFICATE-----\n",
    },
    right={
        "server.properties": f"{_SSL}ssl.keystore.location=kafka.pem\nssl.keystore.type=PEM\n",
        "kafka.pem": "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n",
    },
)
def store_cannot_be_opened(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        for kind, _ in _STORES:
            entry = node.entry(f"ssl.{kind}.location", name)
            if entry is None or entry.value.strip() not in node.file.files:
                continue
            data = node.file.files[entry.value.strip()]
            if data is None:
                yield node.at(entry, f"{entry.value.strip()} does not exist")
                continue
            password = node.entry(f"ssl.{kind}.password", name)
            key_password = node.entry("ssl.key.password", name)
            fault = stores.fault_of(
                data,
                node.of(f"ssl.{kind}.type", name),
                None if password is None else password.value.strip(),
                has_key=kind == "keystore",
                key_password=None if key_password is None else key_password.value.strip(),
            )
            if fault:
                yield node.at(entry, f"{entry.value.strip()} {fault}")


@rule(
    "C407",
    ERROR,
    "TLS between brokers without a key store",
    "The inter-broker listener performs a handshake with itself at startup, which requires a"
    " certificate.",
    wrong=f"{_SSL}{_TRUST}",
    right=_SECURE,
)
def inter_broker_without_store(node: Node) -> Iterator[Hit]:
    if node.inter_broker in _tls(node) and not _has_identity(node, node.inter_broker):
        yield node.at("ssl.keystore.location", f"not set, but {node.inter_broker} uses TLS")


def _has_identity(node: Node, listener: str) -> bool:
    keys = ("ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain")
    return node.file.is_image or any(node.entry(key, listener) for key in keys)


@rule(
    "C408",
    WARNING,
    "TLS without a key store",
    "Without a certificate the listener starts, but every handshake fails: no cipher suites in"
    " common.",
    wrong="listeners=SASL://localhost:9092,WEB://localhost:9094,CONTROLLER://localhost:9093\n"
    "listener.security.protocol.map=SASL:SASL_PLAINTEXT,WEB:SSL,CONTROLLER:PLAINTEXT\n",
    right="listeners=SASL://localhost:9092,WEB://localhost:9094,CONTROLLER://localhost:9093\n"
    f"listener.security.protocol.map=SASL:SASL_PLAINTEXT,WEB:SSL,CONTROLLER:PLAINTEXT\n{_KEYS}",
)
def listener_without_store(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        if name in node.listeners and name != node.inter_broker and not _has_identity(node, name):
            yield node.at("ssl.keystore.location", f"not set, but listener {name} uses TLS")


@rule(
    "C409",
    ERROR,
    "An unknown TLS version",
    "ssl.protocol and ssl.enabled.protocols use Java's names: TLSv1.3, TLSv1.2.",
    wrong=f"{_SECURE}ssl.enabled.protocols=TLS1.2\n",
    right=f"{_SECURE}ssl.enabled.protocols=TLSv1.2\n",
)
def unknown_version(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        found = node.of("ssl.protocol", name)
        if found and found.upper() not in {context.upper() for context in _CONTEXTS}:
            text = f"found {found!r}; allowed: TLSv1.3, TLSv1.2"
            yield node.at(_where(node, "ssl.protocol", name), text)
        if name != node.inter_broker:
            continue
        for word in node.of("ssl.enabled.protocols", name).split(","):
            if word.strip() and word.strip() not in _PROTOCOLS:
                where = _where(node, "ssl.enabled.protocols", name)
                yield node.at(where, f"found {word.strip()!r}; allowed: TLSv1.2, TLSv1.3")


@rule(
    "C410",
    WARNING,
    "A TLS version that is too old",
    "TLS 1.1 and earlier are disabled in Java 17. On listeners other than the inter-broker"
    " listener, an unknown name makes every connection fail.",
    wrong=f"{_SECURE}ssl.enabled.protocols=TLSv1.1,TLSv1.2\n",
    right=f"{_SECURE}ssl.enabled.protocols=TLSv1.2,TLSv1.3\n",
)
def old_version(node: Node) -> Iterator[Hit]:
    for name in _tls(node):
        where = _where(node, "ssl.enabled.protocols", name)
        for word in node.of("ssl.enabled.protocols", name).split(","):
            version = word.strip()
            if version in _OLD:
                yield node.at(where, f"{version} is disabled in Java: remove it")
            elif version and version not in _PROTOCOLS and name != node.inter_broker:
                yield node.at(where, f"found {version!r}; allowed: TLSv1.2, TLSv1.3")


@rule(
    "C411",
    ERROR,
    "An unknown cipher suite",
    "The names are Java's, such as TLS_AES_256_GCM_SHA384; OpenSSL's have hyphens. The inter-broker"
    " listener refuses them when it starts.",
    wrong=f"{_SECURE}ssl.cipher.suites=ECDHE-RSA-AES256-GCM-SHA384\n",
    right=f"{_SECURE}ssl.cipher.suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\n",
)
def foreign_suite(node: Node) -> Iterator[Hit]:
    if node.inter_broker not in _tls(node):
        return
    for word in node.of("ssl.cipher.suites", node.inter_broker).split(","):
        if word.strip() and not _SUITE.fullmatch(word.strip()):
            where = _where(node, "ssl.cipher.suites", node.inter_broker)
            yield node.at(where, f"found {word.strip()!r}; expected: Java's names, TLS_...")


@rule(
    "C412",
    WARNING,
    "A certificate that clients may omit",
    "With ssl.client.auth=requested a client without a certificate is User:ANONYMOUS, to which ACLs"
    " for names in certificates do not apply.",
    wrong=_SECURE.replace("auth=required", "auth=requested"),
    right=_SECURE,
)
def certificate_requested(node: Node) -> Iterator[Hit]:
    if not node.has_authorizer:
        return
    for name in node.with_protocol("SSL"):
        if node.of(CLIENT_AUTH, name).lower() == "requested":
            where = _where(node, CLIENT_AUTH, name)
            yield node.at(where, f"listener {name}: a client without one is User:ANONYMOUS")


@rule(
    "C413",
    WARNING,
    "TLS without names",
    "On an SSL listener that does not request certificates, every client is User:ANONYMOUS, to"
    " whom ACLs for user names do not apply.",
    wrong=_SECURE.replace("ssl.client.auth=required\n", ""),
    right=_SECURE,
)
def no_certificate_asked(node: Node) -> Iterator[Hit]:
    if not node.has_authorizer:
        return
    for name in node.with_protocol("SSL"):
        if node.of(CLIENT_AUTH, name).lower() in ("", "none"):
            where = _where(node, CLIENT_AUTH, name)
            yield node.at(where, f"every client of listener {name} is User:ANONYMOUS")


@rule(
    "C414",
    WARNING,
    "ssl.client.auth for SASL_SSL without a prefix",
    "On SASL_SSL listeners only the value with the listener's prefix applies.",
    wrong="listener.security.protocol.map=SASL:SASL_SSL,CONTROLLER:PLAINTEXT\n"
    f"{_KEYS}{_TRUST}ssl.client.auth=required\n",
    right="listener.security.protocol.map=SASL:SASL_SSL,CONTROLLER:PLAINTEXT\n"
    f"{_KEYS}{_TRUST}listener.name.sasl.ssl.client.auth=required\n",
)
def client_auth_without_prefix(node: Node) -> Iterator[Hit]:
    if node.text(CLIENT_AUTH).lower() not in ("required", "requested"):
        return
    if node.with_protocol("SSL"):
        return
    for name in node.with_protocol("SASL_SSL"):
        right = f"{LISTENER_PREFIX}{name.lower()}.{CLIENT_AUTH}"
        if right not in node.entries:
            yield node.at(CLIENT_AUTH, f"has no effect on SASL_SSL: write {right}")


@rule(
    "C415",
    WARNING,
    "Every public authority is trusted",
    "Without a trust store, Java's list of public authorities is used. A client can authenticate"
    " with any certificate signed by one of them.",
    wrong=_SECURE.replace(_TRUST, ""),
    right=_SECURE,
)
def no_trust_store(node: Node) -> Iterator[Hit]:
    for name in node.tls_listeners:
        asks = node.of(CLIENT_AUTH, name).lower() in ("required", "requested")
        if node.protocol(name) == "SASL_SSL":
            own = node.entries.get(f"{LISTENER_PREFIX}{name.lower()}.{CLIENT_AUTH}")
            asks = own is not None and own.value.strip().lower() in ("required", "requested")
        keys = ("ssl.truststore.location", "ssl.truststore.certificates")
        is_set = any(node.entry(key, name) for key in keys)
        if name in _tls(node) and asks and not is_set and not node.file.is_image:
            yield node.at(
                "ssl.truststore.location",
                f"not set: listener {name} accepts certificates of every public authority",
            )


@rule(
    "C416",
    WARNING,
    "Host names of other nodes are not verified",
    "With an empty ssl.endpoint.identification.algorithm, a node accepts any trusted certificate"
    " from another node, whatever host it was issued for.",
    wrong=f"{_SECURE}ssl.endpoint.identification.algorithm=\n",
    right=_SECURE,
)
def names_not_checked(node: Node) -> Iterator[Hit]:
    key = "ssl.endpoint.identification.algorithm"
    for name in dict.fromkeys(name for name, _ in node.outgoing):
        entry = node.entry(key, name)
        if name in _tls(node) and entry is not None and not entry.value.strip():
            yield node.at(
                entry, "empty: the host name in certificates of other nodes is not verified"
            )


@rule(
    "C417",
    WARNING,
    "Mapping rules without certificates",
    "ssl.principal.mapping.rules maps the names of client certificates, on SSL listeners only. On"
    " SASL_SSL the name comes from SASL.",
    wrong="ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
    right=f"{_SECURE}ssl.principal.mapping.rules=RULE:^CN=(.*?),.*$/$1/,DEFAULT",
)
def rules_without_certificates(node: Node) -> Iterator[Hit]:
    key = "ssl.principal.mapping.rules"
    entries = [entry for entry in node.entries.values() if entry.key.endswith(key)]
    asking = [
        name
        for name in node.with_protocol("SSL")
        if node.of(CLIENT_AUTH, name).lower() in ("required", "requested")
    ]
    if entries and not asking:
        yield node.at(entries[0], "has no effect: no SSL listener requests client certificates")
