"""Cipher suites by Java's names and by OpenSSL's.

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256     ECDHE-RSA-AES128-GCM-SHA256
    TLS_RSA_WITH_AES_256_CBC_SHA              AES256-SHA
    TLS_AES_128_GCM_SHA256                    the same, in TLS 1.3

Java's ``SSL_`` stands for ``TLS_``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OF_TLS_1_3: Final = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
)
"""All that OpenSSL has of TLS 1.3 by itself; Python cannot choose among them."""

AVAILABLE: Final = "ALL:!aNULL:!eNULL:!aDSS:!PSK:!SRP:!ARIA:!CAMELLIA:!AESCCM"
"""What may be chosen from, in OpenSSL's words: what Java has too."""

_NO_SUITES: Final = frozenset({"TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "TLS_FALLBACK_SCSV"})
"""Java lists them as suites; they are signals, and OpenSSL sends them by itself."""

_JAVA = re.compile(r"(?:TLS|SSL)_([A-Z_]+)_WITH_([A-Z0-9_]+)")
_CIPHER = re.compile(r"AES_(128|256)_(CBC|GCM)_(SHA\d*)")


class Chosen(NamedTuple):
    """What a list chooses: suites of TLS 1.2 by OpenSSL's names in order, and of TLS 1.3."""

    older: tuple[str, ...]
    of_1_3: tuple[str, ...]


def chosen(names: Iterable[str], available: Sequence[str]) -> Chosen:
    """Return what a list chooses from what OpenSSL has, which ``available`` names.

    Raises:
        ValueError: a name that nobody knows; lists all that are known, by Java's names.

    """
    older: list[str] = []
    of_1_3: list[str] = []
    for name in names:
        if name in _NO_SUITES:
            continue
        if name in OF_TLS_1_3:
            of_1_3.append(name)
            continue
        found = name if name in available else openssl_name(name)
        if found is None or found not in available:
            known = ", ".join([*OF_TLS_1_3, *(n for n in map(java_name, available) if n)])
            raise ValueError(f"found {name!r}; allowed: {known}, or OpenSSL's names for them")
        older.append(found)
    return Chosen(tuple(dict.fromkeys(older)), tuple(of_1_3))


def openssl_name(java: str) -> str | None:
    """Return OpenSSL's name of a suite of TLS 1.2, or None for what is no name of Java's."""
    found = _JAVA.fullmatch(java)
    if found is None:
        return None
    exchange = "" if found[1] == "RSA" else found[1].replace("_", "-") + "-"
    if found[2] == "CHACHA20_POLY1305_SHA256":
        return f"{exchange}CHACHA20-POLY1305"
    cipher = _CIPHER.fullmatch(found[2])
    if cipher is None:
        return None
    bits, mode, digest = cipher.groups()
    return f"{exchange}AES{bits}{'-GCM' if mode == 'GCM' else ''}-{digest}"


_OPENSSL = re.compile(
    r"(?:(ECDHE|DHE)-(RSA|ECDSA)-)?(?:(CHACHA20-POLY1305)|AES(128|256)(-GCM)?-(SHA\d*))"
)


def java_name(openssl: str) -> str | None:
    """Return Java's name of a suite of TLS 1.2, or None for what it has none."""
    found = _OPENSSL.fullmatch(openssl)
    if found is None:
        return None
    exchange, signature, chacha, bits, mode, digest = found.groups()
    kind = f"{exchange}_{signature}" if exchange else "RSA"
    if chacha:
        return f"TLS_{kind}_WITH_CHACHA20_POLY1305_SHA256"
    return f"TLS_{kind}_WITH_AES_{bits}_{'GCM' if mode else 'CBC'}_{digest}"
