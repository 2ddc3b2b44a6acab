"""What the server keeps of users and tokens."""

from __future__ import annotations

from doorkeeper.acl.model import Principal
from doorkeeper.authn.credentials import ScramCredential, TokenLogin


def test_no_secret_is_shown() -> None:
    """The repr of a credential and of a token's login hold none of their bytes."""
    credential = ScramCredential(b"sodium", b"stored-bytes", b"server-bytes", 4096)
    login = TokenLogin(Principal("User", "alice"), b"hmac-bytes", 7)

    assert repr(credential) == "ScramCredential(4096 iterations)"
    assert repr(login) == "TokenLogin(of User:alice)"
