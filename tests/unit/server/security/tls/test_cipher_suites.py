"""Names of cipher suites."""

from __future__ import annotations

import ssl

import pytest

from doorkeeper.server.security.tls.cipher_suites import (
    AVAILABLE,
    OF_TLS_1_3,
    choose,
    java_name,
)


def available() -> list[str]:
    """Return what this OpenSSL has."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(AVAILABLE)
    return [each["name"] for each in context.get_ciphers() if each["name"] not in OF_TLS_1_3]


def test_all_cipher_suites_have_java_names() -> None:
    names = available()

    assert len(names) > 10
    assert choose([java_name(name) or "" for name in names], names) == (names, [])


def test_java_and_openssl_names_are_accepted() -> None:
    """Order is kept, names are mixed, Java's signals are skipped, its old prefix is known."""
    found = choose(
        (
            "SSL_RSA_WITH_AES_128_CBC_SHA",
            "TLS_AES_128_GCM_SHA256",
            "ECDHE-RSA-AES128-GCM-SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
        ),
        available(),
    )

    assert found == (["AES128-SHA", "ECDHE-RSA-AES128-GCM-SHA256"], ["TLS_AES_128_GCM_SHA256"])


@pytest.mark.parametrize(
    "name",
    ["TLS_X", "RC4", "TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_AES_512_CBC_SHA", "@SECLEVEL=0"],
)
def test_unknown_cipher_suite_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="found") as refused:
        choose((name,), available())

    said = str(refused.value)
    assert said.startswith(f"found {name!r}; allowed: TLS_AES_256_GCM_SHA384, ")
    assert "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" in said
