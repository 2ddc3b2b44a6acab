"""Java's and OpenSSL's names of cipher suites.

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256     ECDHE-RSA-AES128-GCM-SHA256
    TLS_RSA_WITH_AES_256_CBC_SHA              AES256-SHA
    TLS_AES_128_GCM_SHA256                    the same, in TLS 1.3

Java's ``SSL_`` stands for ``TLS_``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

OF_TLS_1_3: Final = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
)
"""OpenSSL's default suites of TLS 1.3; Python's ssl module cannot select among them."""

# OpenSSL's expression for the suites of TLS 1.2 that Java has too.
AVAILABLE: Final = "ALL:!aNULL:!eNULL:!aDSS:!PSK:!SRP:!ARIA:!CAMELLIA:!AESCCM"
# Java lists these signals as suites; OpenSSL sends them without configuration.
_NO_SUITES: Final = frozenset({"TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "TLS_FALLBACK_SCSV"})


def choose(names: Iterable[str], available: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return suites of TLS 1.2 by OpenSSL's names, in order, and those of TLS 1.3.

    ``available`` are OpenSSL's names of TLS 1.2 suites.
    """
    of_java = {java: suite for suite in available if (java := java_name(suite)) is not None}
    older: list[str] = []
    of_1_3: list[str] = []
    for name in names:
        if name in _NO_SUITES:
            continue
        if name in OF_TLS_1_3:
            of_1_3.append(name)
            continue
        suite = name if name in available else of_java.get(re.sub("^SSL_", "TLS_", name))
        if suite is None:
            known = ", ".join([*OF_TLS_1_3, *of_java])
            raise ValueError(f"found {name!r}; allowed: {known}, or OpenSSL's names for them")
        older.append(suite)
    return list(dict.fromkeys(older)), of_1_3


_OPENSSL = re.compile(
    r"(?:(ECDHE|DHE)-(RSA|ECDSA)-)?(?:(CHACHA20-POLY1305)|AES(128|256)(-GCM)?-(SHA\d*))"
)


def java_name(openssl: str) -> str | None:
    """Return Java's name of a TLS 1.2 suite, or None."""
    match = _OPENSSL.fullmatch(openssl)
    if match is None:
        return None
    exchange, signature, chacha, bits, mode, digest = match.groups()
    kind = f"{exchange}_{signature}" if exchange else "RSA"
    if chacha:
        return f"TLS_{kind}_WITH_CHACHA20_POLY1305_SHA256"
    return f"TLS_{kind}_WITH_AES_{bits}_{'GCM' if mode else 'CBC'}_{digest}"
