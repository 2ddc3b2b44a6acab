"""Who a connection speaks for."""

from __future__ import annotations

from doorkeeper.acl.model import ANONYMOUS, Principal
from doorkeeper.authn.contract import AuthenticationContext
from doorkeeper.authn.principals import DefaultPrincipalBuilder

BUILDER = DefaultPrincipalBuilder()


def test_who_proves_nothing_is_anonymous() -> None:
    """In clear, and without SASL, everybody is User:ANONYMOUS."""
    assert BUILDER.build(AuthenticationContext("A", "PLAINTEXT", "10.0.0.7")) == ANONYMOUS


def test_what_a_mechanism_proved_is_the_name() -> None:
    """The authorization id becomes a User, letter for letter."""
    context = AuthenticationContext("A", "SASL_PLAINTEXT", "10.0.0.7", (), "PLAIN", "Alice =,")

    assert BUILDER.build(context) == Principal("User", "Alice =,")
