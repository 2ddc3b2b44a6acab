"""Which mechanisms are spoken."""

from __future__ import annotations

import pytest

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.mechanisms import MechanismSettings
from doorkeeper.server.security.mechanisms import provider_of
from testkit.plain import NO_SOURCES

PLAIN = MechanismSettings(
    name="PLAIN",
    listener_name="A",
    login_module=LoginModule("PlainLoginModule", "REQUIRED", {"user_alice": "hush"}),
)


def test_an_unknown_mechanism_is_refused() -> None:
    """The error names the key, what was found and what is spoken."""
    settings = MechanismSettings(name="CRAM-MD5", listener_name="A")

    with pytest.raises(ValueError, match=r"sasl\.enabled\.mechanisms: found CRAM-MD5; allowed: "):
        provider_of(settings, NO_SOURCES)


def test_settings_do_not_show_their_secrets() -> None:
    """The repr of a mechanism's settings has no users in it."""
    assert "hush" not in repr(PLAIN)
    assert "alice" not in repr(PLAIN)
