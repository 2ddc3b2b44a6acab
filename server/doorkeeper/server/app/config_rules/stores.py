"""Whether the bytes of a key store or trust store can be opened.

Source: Java's ``KeyStore`` (17), whose types JKS and PKCS12 read each other's files.
"""

from __future__ import annotations

import hashlib
from typing import Final

TYPES: Final = ("JKS", "PKCS12", "PEM")
OF_PROVIDERS: Final = frozenset({"JCEKS", "DKS", "BCFKS", "PKCS11", "BKS", "KEYCHAINSTORE"})
"""Types that other providers of a JVM may have, and of which nothing is known here."""

_JKS: Final = b"\xfe\xed\xfe\xed"
_SEQUENCE: Final = b"\x30"
_MIGHTY: Final = b"Mighty Aphrodite"
"""What Java's JavaKeyStore adds to the password for its digest."""


def fault_of(
    data: bytes,
    store_type: str,
    password: str | None,
    *,
    has_key: bool,
    key_password: str | None = None,
) -> str:
    """Return why a store cannot be opened; empty where nothing speaks against it."""
    if store_type == "PEM":
        return _fault_in_pem(data, has_key=has_key)
    if store_type.upper() in OF_PROVIDERS:
        return ""
    if data.startswith(_JKS):
        opened = password is None or _is_jks_password(data, password)
        return "" if opened else "cannot be opened with its password"
    if data.startswith(_SEQUENCE):
        return _fault_in_pkcs12(data, password, key_password)
    what = "PEM" if b"-----BEGIN" in data else "neither JKS nor PKCS12"
    return f"is {what}; its type is {store_type}"


def _fault_in_pem(data: bytes, *, has_key: bool) -> str:
    if b"-----BEGIN CERTIFICATE" not in data:
        return "has no certificate in PEM"
    # Kafka takes PKCS#8 only.
    if has_key and not any(
        b"-----BEGIN " + kind + b"PRIVATE KEY" in data for kind in (b"", b"ENCRYPTED ")
    ):
        return "has no private key in PEM with PKCS#8 (BEGIN PRIVATE KEY)"
    return ""


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
