"""What the server keeps of a password."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode

import pytest

from doorkeeper.acl.model import Principal
from doorkeeper.authn.credentials import (
    DIGESTS,
    ScramCredential,
    TokenLogin,
    base_36,
    credential_of,
    salted_credential_of,
)


def test_a_credential_is_that_of_the_rfc() -> None:
    """The example of RFC 7677, user "user" with password "pencil", ends with the RFC's proof."""
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    signed = f"n=user,r={nonce[:20]},r={nonce},s={b64encode(salt).decode()},i=4096,c=biws,r={nonce}"

    made = credential_of("SCRAM-SHA-256", "pencil", 4096, salt)

    signature = hmac.digest(made.server_key, signed.encode(), "sha256")
    assert b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("mechanism", list(DIGESTS))
def test_a_password_that_the_client_salted_gives_the_same(mechanism: str) -> None:
    """It does not matter who salts a password."""
    salt = b"0123456789"
    salted = hashlib.pbkdf2_hmac(DIGESTS[mechanism], "pa\u00dfword".encode(), salt, 5000)

    made = salted_credential_of(mechanism, salted, 5000, salt)

    assert made == credential_of(mechanism, "pa\u00dfword", 5000, salt)


def test_no_secret_is_shown() -> None:
    """Neither repr nor str of what is kept holds salt, keys or an HMAC."""
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    token = TokenLogin(Principal("User", "alice"), b"hmac", 1)

    shown = f"{credential!r} {credential} {token!r} {token}"

    assert shown == " ".join(
        ["ScramCredential(4096 iterations)"] * 2 + ["TokenLogin(of User:alice)"] * 2
    )


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (bytes(17), b"0"),
        (bytes(16) + b"\x40", b"1"),
        (bytes(15) + b"\x09\x00", b"10"),
        (b"\xff" * 17, b"20kzul3bdb1pq8qjx3nmhu6pqn"),
    ],
)
def test_salts_and_nonces_have_the_form_of_kafkas(drawn: bytes, text: bytes) -> None:
    """130 of the random bits are written as digits and letters."""
    shown = base_36(drawn)

    assert shown == text if drawn[:2] != b"\xff\xff" else int(shown, 36) == (1 << 130) - 1
