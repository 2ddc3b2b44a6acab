"""Rules C4: TLS.

Source: ``DefaultSslEngineFactory``, ``SslFactory``, ``ChannelBuilders`` (4.3.1).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import permutations
from typing import Final, NamedTuple

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.values import trim
from doorkeeper.server.app.config_rules.node import Node
from doorkeeper.server.app.config_rules.rule import ERROR, WARNING, rule
from doorkeeper.server.config.naming import full_names

CLIENT_AUTH: Final = "ssl.client.auth"
_ASKS: Final = ("required", "requested")
_ENABLED: Final = "ssl.enabled.protocols"
_STORES: Final = (
    ("keystore", "key store", "key"),
    ("truststore", "trust store", "certificates"),
)
_PROTOCOLS: Final = ("TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1", "SSLv3", "SSLv2Hello")
_CONTEXTS: Final = (*_PROTOCOLS, "TLS", "SSL", "SSLv2", "DTLS", "DTLSv1.0", "DTLSv1.2", "Default")
_OLD: Final = frozenset({"TLSv1.1", "TLSv1", "SSLv3", "SSLv2Hello"})
_TYPES: Final = ("JKS", "PKCS12", "PEM")
_OF_PROVIDERS: Final = frozenset({"JCEKS", "DKS", "BCFKS", "PKCS11", "BKS", "KEYCHAINSTORE"})
"""Types that other providers of a JVM may have, and of which nothing is known here."""

_JKS: Final = b"\xfe\xed\xfe\xed"
_SEQUENCE: Final = b"\x30"
_MIGHTY: Final = b"Mighty Aphrodite"
"""What Java's JavaKeyStore adds to the password for its digest."""

_SUITE: Final = re.compile(r"(TLS|SSL)_[A-Z0-9_]+")


def _tls(node: Node) -> list[str]:
    """Return the listeners with Kafka's own TLS, and those that the node connects to."""
    names = node.with_protocol("SSL", "SASL_SSL", of=node.known_listeners)
    return [name for name in names if not node.of("ssl.engine.factory.class", name)]


class _Store(NamedTuple):
    """A key store or trust store of a listener. ``inline`` is PEM within the configuration."""

    listener: str
    kind: str
    what: str
    type: str
    location: Entry | None
    inline: Entry | None
    password: Entry | None


def _stores(node: Node) -> Iterator[_Store]:
    for name in _tls(node):
        for kind, what, inline in _STORES:
            begin = f"ssl.{kind}."
            keys = (begin + end for end in ("location", inline, "password"))
            entries = (node.entry(key, name) for key in keys)
            yield _Store(name, kind, what, node.of(f"{begin}type", name), *entries)


@rule("C401", ERROR)
def store_without_password(node: Node) -> Iterator[Problem]:
    for store in _stores(node):
        has_store = store.kind == "keystore" and store.location and trim(store.location.value)
        if has_store and store.password is None and store.type != "PEM":
            text = f"not set, but listener {store.listener} has a key store"
            yield node.at("ssl.keystore.password", text)


@rule("C402", ERROR)
def password_without_store(node: Node) -> Iterator[Problem]:
    for store in _stores(node):
        if store.password is not None and not (store.location or store.inline):
            text = f"listener {store.listener} has no ssl.{store.kind}.location: no {store.what}"
            yield node.at(store.password, text)


@rule("C403", ERROR)
def pem_and_others(node: Node) -> Iterator[Problem]:
    for _, kind, what, store_type, location, key, password in _stores(node):
        if key is not None and store_type != "PEM":
            yield node.at(key, f"allowed with ssl.{kind}.type=PEM only; found {store_type}")
        elif key is not None and location is not None:
            yield node.at(key, f"give either this or ssl.{kind}.location, not both")
        elif password is not None and store_type == "PEM" and (key or location):
            yield node.at(password, f"a {what} of the type PEM has no password")


@rule("C404", ERROR)
def key_without_certificate(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        for key, other in permutations(("ssl.keystore.key", "ssl.keystore.certificate.chain")):
            entry = node.entry(other, name)
            if node.entry(key, name) is None and entry is not None:
                yield node.at(key, f"not set, but {entry.key} is set")


@rule("C405", ERROR)
def unknown_store_type(node: Node) -> Iterator[Problem]:
    for store in _stores(node):
        entry = node.entry(f"ssl.{store.kind}.type", store.listener)
        if entry is None or not store.location:
            continue
        store_type = entry.value.strip()
        # Java compares the names of its own types without case; Kafka's PEM is exact.
        java = store_type.upper() in _TYPES and store_type.upper() != "PEM"
        is_open = store_type.upper() in _OF_PROVIDERS or node.is_template(entry)
        if not (java or store_type == "PEM" or is_open):
            yield node.at(entry, f"found {store_type!r}; allowed: {', '.join(_TYPES)}")


@rule("C406", ERROR)
def store_cannot_be_opened(node: Node) -> Iterator[Problem]:
    for store in _stores(node):
        path = _text(store.location)
        if store.location is None or path is None or path not in node.file.files:
            continue
        data, fault = node.file.files[path], "does not exist"
        if data is not None:
            key_password = node.entry("ssl.key.password", store.listener)
            fault = _fault_of(store, data, _text(store.password), _text(key_password))
        if fault:
            yield node.at(store.location, f"{path} {fault}")


def _text(entry: Entry | None) -> str | None:
    return None if entry is None else entry.value.strip()


def _fault_of(store: _Store, data: bytes, password: str | None, key_password: str | None) -> str:
    """Return why a store cannot be opened; empty where nothing speaks against it.

    Source: Java's ``KeyStore`` (17), whose types JKS and PKCS12 read each other's files.
    """
    if store.type == "PEM":
        if b"-----BEGIN CERTIFICATE" not in data:
            return "has no certificate in PEM"
        # Kafka takes PKCS#8 only.
        keys = (b"-----BEGIN PRIVATE KEY", b"-----BEGIN ENCRYPTED PRIVATE KEY")
        lacks_key = store.kind == "keystore" and not any(key in data for key in keys)
        return "has no private key in PEM with PKCS#8 (BEGIN PRIVATE KEY)" if lacks_key else ""
    if store.type.upper() in _OF_PROVIDERS:
        return ""
    if data.startswith(_JKS):
        opened = password is None or _is_jks_password(data, password)
        return "" if opened else "cannot be opened with its password"
    if data.startswith(_SEQUENCE):
        return _fault_in_pkcs12(data, password, key_password)
    what = "PEM" if b"-----BEGIN" in data else "neither JKS nor PKCS12"
    return f"is {what}; its type is {store.type}"


def _is_jks_password(data: bytes, password: str) -> bool:
    digest = hashlib.sha1(
        password.encode("utf-16-be") + _MIGHTY + data[:-20], usedforsecurity=False
    )
    return digest.digest() == data[-20:]


def _fault_in_pkcs12(data: bytes, password: str | None, key_password: str | None) -> str:
    # An optional dependency of the server.
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        return ""
    # Java opens a trust store without its password, and then checks nothing.
    if password is None:
        return ""
    try:
        pkcs12.load_pkcs12(data, password.encode())
    except ValueError as error:
        return "cannot be opened with its password" if "password" in str(error) else ""
    # In PKCS12 the key has the password of the store.
    if key_password is not None and key_password != password:
        return "has a key whose password is not ssl.key.password"
    return ""


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
            yield node.at("ssl.protocol", f"found {protocol!r}; allowed: TLSv1.3, TLSv1.2", name)
        if name == node.inter_broker:
            yield from _unknown_versions(node, name)


def _unknown_versions(node: Node, listener: str) -> Iterator[Problem]:
    for version in _words(node, _ENABLED, listener):
        if version not in _PROTOCOLS:
            yield node.at(_ENABLED, f"found {version!r}; allowed: TLSv1.2, TLSv1.3", listener)


def _words(node: Node, key: str, listener: str) -> list[str]:
    return [word.strip() for word in node.of(key, listener).split(",") if word.strip()]


@rule("C410", WARNING)
def old_version(node: Node) -> Iterator[Problem]:
    for name in _tls(node):
        for version in _words(node, _ENABLED, name):
            if version in _OLD:
                yield node.at(_ENABLED, f"{version} is disabled in Java: remove it", name)
        if name != node.inter_broker:
            yield from _unknown_versions(node, name)


@rule("C411", ERROR)
def foreign_suite(node: Node) -> Iterator[Problem]:
    if node.inter_broker not in _tls(node):
        return
    key = "ssl.cipher.suites"
    for suite in _words(node, key, node.inter_broker):
        if not _SUITE.fullmatch(suite):
            text = f"found {suite!r}; expected: Java's names, TLS_..."
            yield node.at(key, text, node.inter_broker)


@rule("C412", WARNING)
def certificate_requested(node: Node) -> Iterator[Problem]:
    for name in node.with_protocol("SSL"):
        if node.has_authorizer and node.of(CLIENT_AUTH, name).lower() == "requested":
            text = f"listener {name}: a client without one is User:ANONYMOUS"
            yield node.at(CLIENT_AUTH, text, name)


@rule("C413", WARNING)
def no_certificate_asked(node: Node) -> Iterator[Problem]:
    for name in node.with_protocol("SSL"):
        if node.has_authorizer and node.of(CLIENT_AUTH, name).lower() in ("", "none"):
            yield node.at(CLIENT_AUTH, f"every client of listener {name} is User:ANONYMOUS", name)


@rule("C414", WARNING)
def client_auth_without_prefix(node: Node) -> Iterator[Problem]:
    if node.text(CLIENT_AUTH).lower() not in _ASKS or node.with_protocol("SSL"):
        return
    for name in node.with_protocol("SASL_SSL"):
        right = next(full_names(CLIENT_AUTH, name))
        if right not in node.entries:
            yield node.at(CLIENT_AUTH, f"has no effect on SASL_SSL: write {right}")


@rule("C415", WARNING)
def no_trust_store(node: Node) -> Iterator[Problem]:
    for name in node.with_protocol("SSL", "SASL_SSL"):
        asks = node.of(CLIENT_AUTH, name).lower() in _ASKS
        if node.protocol(name) == "SASL_SSL":
            own = node.entries.get(next(full_names(CLIENT_AUTH, name)))
            asks = own is not None and own.value.strip().lower() in _ASKS
        keys = ("ssl.truststore.location", "ssl.truststore.certificates")
        is_set = any(node.entry(key, name) for key in keys)
        if name in _tls(node) and asks and not is_set and not node.file.is_image:
            text = f"not set: listener {name} accepts certificates of every public authority"
            yield node.at("ssl.truststore.location", text)


@rule("C416", WARNING)
def names_not_checked(node: Node) -> Iterator[Problem]:
    key = "ssl.endpoint.identification.algorithm"
    for name in dict.fromkeys(name for name, _ in node.outgoing):
        entry = node.entry(key, name)
        if name in _tls(node) and entry is not None and not entry.value.strip():
            text = "empty: the host name in certificates of other nodes is not verified"
            yield node.at(entry, text)


@rule("C417", WARNING)
def rules_without_certificates(node: Node) -> Iterator[Problem]:
    key = "ssl.principal.mapping.rules"
    entries = [entry for entry in node.entries.values() if entry.key.endswith(key)]
    ssl = node.with_protocol("SSL")
    if entries and not any(node.of(CLIENT_AUTH, name).lower() in _ASKS for name in ssl):
        yield node.at(entries[0], "has no effect: no SSL listener requests client certificates")
