"""Which mechanisms are spoken."""

from __future__ import annotations

import pytest

from doorkeeper.authn.contract import AuthenticationContext, Success
from doorkeeper.authn.mechanisms import provider_of
from doorkeeper.authn.provider import MechanismSettings
from doorkeeper.config.jaas import LoginModule
from testkit.plain import NO_SOURCES

CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1")
PLAIN = MechanismSettings(
    name="PLAIN",
    listener_name="A",
    login_module=LoginModule("PlainLoginModule", "REQUIRED", {"user_alice": "hush"}),
)


def test_a_provider_is_that_of_the_settings() -> None:
    """The users of the login module log in, each with a mechanism of their own."""
    provider = provider_of(PLAIN, NO_SOURCES)

    first, second = provider.begin(CONTEXT), provider.begin(CONTEXT)

    assert first is not second
    assert first.step(b"\0alice\0hush") == Success("alice")


def test_an_unknown_mechanism_is_refused() -> None:
    """The error names the key, what was found and what is spoken."""
    settings = MechanismSettings(name="CRAM-MD5", listener_name="A")

    with pytest.raises(ValueError, match=r"sasl\.enabled\.mechanisms: found CRAM-MD5; allowed: "):
        provider_of(settings, NO_SOURCES)


def test_settings_do_not_show_their_secrets() -> None:
    """The repr of a mechanism's settings has no users in it."""
    assert "hush" not in repr(PLAIN)
    assert "alice" not in repr(PLAIN)
