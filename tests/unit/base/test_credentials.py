"""What the server keeps of a password."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode

from doorkeeper.acls.model import Principal
from doorkeeper.base.credentials import ScramCredential, credential_of
from doorkeeper.server.security.provider import TokenLogin


def test_credential_matches_rfc_7677_example() -> None:
    """The example of RFC 7677, user "user" with password "pencil", ends with the RFC's proof."""
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    signed = f"n=user,r={nonce[:20]},r={nonce},s={b64encode(salt).decode()},i=4096,c=biws,r={nonce}"

    made = credential_of("SCRAM-SHA-256", "pencil", 4096, salt)

    signature = hmac.digest(made.server_key, signed.encode(), "sha256")
    assert b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_repr_hides_secrets() -> None:
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    token = TokenLogin(Principal("User", "alice"), b"hmac", 1)

    shown = f"{credential!r} {credential} {token!r} {token}"

    assert shown == " ".join(
        ["ScramCredential(4096 iterations)"] * 2 + ["TokenLogin(of User:alice)"] * 2
    )
