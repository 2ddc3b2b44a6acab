"""Rules C4: TLS.

Source: ``DefaultSslEngineFactory``, ``SslFactory``, ``ChannelBuilders`` (4.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.server.app.config_rules import stores
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import ERROR, WARNING, rule
from doorkeeper.server.config.naming import LISTENER_PREFIX

CLIENT_AUTH: Final = "ssl.client.auth"
_STORES: Final = (("keystore", "key store"), ("truststore", "trust store"))
_PROTOCOLS: Final = ("TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1", "SSLv3", "SSLv2Hello")
_CONTEXTS: Final = (*_PROTOCOLS, "TLS", "SSL", "SSLv2", "DTLS", "DTLSv1.0", "DTLSv1.2", "Default")
_OLD: Final = frozenset({"TLSv1.1", "TLSv1", "SSLv3", "SSLv2Hello"})
_SUITE: Final = re.compile(r"(TLS|SSL)_[A-Z0-9_]+")


def _tls(node: Node) -> list[str]:
    """Return the listeners with Kafka's own TLS, and those that the node connects to."""
    names = node.with_protocol("SSL", "SASL_SSL", of=node.known_listeners)
    return [name for name in names if not node.of("ssl.engine.factory.class", name)]


def _where(node: Node, key: str, listener: str) -> str | Entry:
    return node.entry(key, listener) or key


def _is_pem(node: Node, kind: str, listener: str) -> bool:
    return node.of(f"ssl.{kind}.type", listener) == "PEM"


@rule("C401", ERROR)
def store_without_password(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        has_store = node.of("ssl.keystore.location", name)
        password = node.entry("ssl.keystore.password", name)
        if has_store and password is None and not _is_pem(node, "keystore", name):
            key = "ssl.keystore.password"
            yield node.at(key, f"not set, but listener {name} has a key store")


@rule("C402", ERROR)
def password_without_store(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        for kind, text in _STORES:
            inline = "key" if kind == "keystore" else "certificates"
            password = node.entry(f"ssl.{kind}.password", name)
            others = (f"ssl.{kind}.location", f"ssl.{kind}.{inline}")
            if password is not None and not any(node.entry(key, name) for key in others):
                yield node.at(password, f"listener {name} has no ssl.{kind}.location: no {text}")


@rule("C403", ERROR)
def pem_and_others(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        for kind, text in _STORES:
            inline = "key" if kind == "keystore" else "certificates"
            key = node.entry(f"ssl.{kind}.{inline}", name)
            location = node.entry(f"ssl.{kind}.location", name)
            password = node.entry(f"ssl.{kind}.password", name)
            if key is not None and not _is_pem(node, kind, name):
                store_type = node.of(f"ssl.{kind}.type", name)
                yield node.at(key, f"allowed with ssl.{kind}.type=PEM only; found {store_type}")
            elif key is not None and location is not None:
                yield node.at(key, f"give either this or ssl.{kind}.location, not both")
            elif password is not None and _is_pem(node, kind, name) and (key or location):
                yield node.at(password, f"a {text} of the type PEM has no password")


@rule("C404", ERROR)
def key_without_certificate(node: Node) -> Iterator[Problem]:
    names = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
    for name in _tls(node):
        entries = [node.entry(key, name) for key in names]
        for (key, entry), other in zip(
            zip(names, entries, strict=True), reversed(entries), strict=True
        ):
            if entry is None and other is not None:
                yield node.at(key, f"not set, but {other.key} is set")


@rule("C405", ERROR)
def unknown_store_type(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        for kind, _ in _STORES:
            entry = node.entry(f"ssl.{kind}.type", name)
            if entry is None or not node.entry(f"ssl.{kind}.location", name):
                continue
            store_type = entry.value.strip()
            # Java compares the names of its own types without case; Kafka's PEM is exact.
            java = store_type.upper() in stores.TYPES and store_type.upper() != "PEM"
            is_open = store_type.upper() in stores.OF_PROVIDERS or node.is_template(entry)
            if not (java or store_type == "PEM" or is_open):
                yield node.at(entry, f"found {store_type!r}; allowed: {', '.join(stores.TYPES)}")


@rule("C406", ERROR)
def store_cannot_be_opened(node: Node) -> Iterator[Problem]:
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


@rule("C407", ERROR)
def inter_broker_without_store(node: Node) -> Iterator[Problem]:
    if node.inter_broker in _tls(node) and not _has_identity(node, node.inter_broker):
        yield node.at("ssl.keystore.location", f"not set, but {node.inter_broker} uses TLS")


def _has_identity(node: Node, listener: str) -> bool:
    keys = ("ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain")
    return node.file.is_image or any(node.entry(key, listener) for key in keys)


@rule("C408", WARNING)
def listener_without_store(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        if name in node.listeners and name != node.inter_broker and not _has_identity(node, name):
            yield node.at("ssl.keystore.location", f"not set, but listener {name} uses TLS")


@rule("C409", ERROR)
def unknown_version(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        protocol = node.of("ssl.protocol", name)
        if protocol and protocol.upper() not in {context.upper() for context in _CONTEXTS}:
            text = f"found {protocol!r}; allowed: TLSv1.3, TLSv1.2"
            yield node.at(_where(node, "ssl.protocol", name), text)
        if name != node.inter_broker:
            continue
        for word in node.of("ssl.enabled.protocols", name).split(","):
            if word.strip() and word.strip() not in _PROTOCOLS:
                where = _where(node, "ssl.enabled.protocols", name)
                yield node.at(where, f"found {word.strip()!r}; allowed: TLSv1.2, TLSv1.3")


@rule("C410", WARNING)
def old_version(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        where = _where(node, "ssl.enabled.protocols", name)
        for word in node.of("ssl.enabled.protocols", name).split(","):
            version = word.strip()
            if version in _OLD:
                yield node.at(where, f"{version} is disabled in Java: remove it")
            elif version and version not in _PROTOCOLS and name != node.inter_broker:
                yield node.at(where, f"found {version!r}; allowed: TLSv1.2, TLSv1.3")


@rule("C411", ERROR)
def foreign_suite(node: Node) -> Iterator[Problem]:
    if node.inter_broker not in _tls(node):
        return
    for word in node.of("ssl.cipher.suites", node.inter_broker).split(","):
        if word.strip() and not _SUITE.fullmatch(word.strip()):
            where = _where(node, "ssl.cipher.suites", node.inter_broker)
            yield node.at(where, f"found {word.strip()!r}; expected: Java's names, TLS_...")


@rule("C412", WARNING)
def certificate_requested(node: Node) -> Iterator[Problem]:
    if not node.has_authorizer:
        return
    for name in node.with_protocol("SSL"):
        if node.of(CLIENT_AUTH, name).lower() == "requested":
            where = _where(node, CLIENT_AUTH, name)
            yield node.at(where, f"listener {name}: a client without one is User:ANONYMOUS")


@rule("C413", WARNING)
def no_certificate_asked(node: Node) -> Iterator[Problem]:
    if not node.has_authorizer:
        return
    for name in node.with_protocol("SSL"):
        if node.of(CLIENT_AUTH, name).lower() in ("", "none"):
            where = _where(node, CLIENT_AUTH, name)
            yield node.at(where, f"every client of listener {name} is User:ANONYMOUS")


@rule("C414", WARNING)
def client_auth_without_prefix(node: Node) -> Iterator[Problem]:
    if node.text(CLIENT_AUTH).lower() not in ("required", "requested"):
        return
    if node.with_protocol("SSL"):
        return
    for name in node.with_protocol("SASL_SSL"):
        right = f"{LISTENER_PREFIX}{name.lower()}.{CLIENT_AUTH}"
        if right not in node.entries:
            yield node.at(CLIENT_AUTH, f"has no effect on SASL_SSL: write {right}")


@rule("C415", WARNING)
def no_trust_store(node: Node) -> Iterator[Problem]:
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


@rule("C416", WARNING)
def names_not_checked(node: Node) -> Iterator[Problem]:
    key = "ssl.endpoint.identification.algorithm"
    for name in dict.fromkeys(name for name, _ in node.outgoing):
        entry = node.entry(key, name)
        if name in _tls(node) and entry is not None and not entry.value.strip():
            yield node.at(
                entry, "empty: the host name in certificates of other nodes is not verified"
            )


@rule("C417", WARNING)
def rules_without_certificates(node: Node) -> Iterator[Problem]:
    key = "ssl.principal.mapping.rules"
    entries = [entry for entry in node.entries.values() if entry.key.endswith(key)]
    asking = [
        name
        for name in node.with_protocol("SSL")
        if node.of(CLIENT_AUTH, name).lower() in ("required", "requested")
    ]
    if entries and not asking:
        yield node.at(entries[0], "has no effect: no SSL listener requests client certificates")
