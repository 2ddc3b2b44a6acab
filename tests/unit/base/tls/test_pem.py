"""PEM as Kafka reads it."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from doorkeeper.base.tls.pem import PemError, certificates_of, private_key_of, revocations_of
from testkit.certificates import PASSWORD, crl_pem, world

CHAIN = world().server.chain_pem
KEY = world().server.key_pem()
LOCKED = world().server.key_pem(PASSWORD)


@pytest.mark.parametrize("white_space", ["\n", " "])
def test_whitespace_in_pem_is_ignored(white_space: str) -> None:
    words = CHAIN.replace("-----BEGIN CERTIFICATE-----", "-----BEGIN~CERTIFICATE-----")
    words = words.replace("-----END CERTIFICATE-----", "-----END~CERTIFICATE-----")
    text = white_space.join(words.split()).replace("~", " ")

    found = certificates_of(f"subject=CN = x{white_space}{text}".encode())

    assert [each.public_bytes(Encoding.PEM).decode() for each in found] == [
        each.public_bytes(Encoding.PEM).decode()
        for each in (world().server.certificate, world().authority.own.certificate)
    ]


def test_private_keys_are_read() -> None:
    own = world().server.key.public_key()

    assert private_key_of((CHAIN + KEY).encode(), None).public_key() == own
    assert private_key_of(KEY.encode(), "not needed").public_key() == own
    assert private_key_of(LOCKED.encode(), PASSWORD).public_key() == own


@pytest.mark.parametrize(
    ("text", "password", "said"),
    [
        ("", None, "found data that is not PEM; allowed: PEM with a block PRIVATE KEY"),
        (CHAIN, None, "found CERTIFICATE; allowed: PEM with a block PRIVATE KEY"),
        (KEY + KEY, None, "found 2 private keys; allowed: one"),
        (LOCKED, None, "the private key is encrypted: set ssl.key.password"),
        (LOCKED, "wrong", "the password is wrong, or the private key is malformed"),
        (KEY[: len(KEY) // 2], None, "the block PRIVATE KEY has no end line"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", None, "malformed"),
        ("-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----", None, "is not base64"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n-----END RSA PRIVATE KEY-----",
            None,
            "convert it: openssl pkcs8 -topk8",
        ),
    ],
)
def test_invalid_keys_are_rejected(text: str, password: str | None, said: str) -> None:
    with pytest.raises(PemError) as refused:
        private_key_of(text.encode(), password)

    assert said in str(refused.value)
    assert "MI" not in str(refused.value)


def test_malformed_certificate_is_numbered() -> None:
    wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    with pytest.raises(PemError, match="certificate 3 is malformed"):
        certificates_of((CHAIN + wrong).encode())


def test_revocation_lists_are_read() -> None:
    revoked = world().authority.revoked(world().bob)

    assert revocations_of(crl_pem(revoked, revoked).encode()) == [revoked, revoked]
    assert revocations_of(revoked.public_bytes(Encoding.DER)) == [revoked]
    with pytest.raises(PemError, match="revocation list 1 is malformed"):
        revocations_of(b"\x30\x00")
    with pytest.raises(PemError, match="found PRIVATE KEY; allowed: PEM with a block X509 CRL"):
        revocations_of(KEY.encode())
