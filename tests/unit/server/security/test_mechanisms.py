"""Which mechanisms are spoken."""

from __future__ import annotations

import pytest

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.provider import provider_of
from testkit.plain import NO_SOURCES

PLAIN = MechanismSettings(
    name="PLAIN",
    listener_name="A",
    login_module=LoginModule("PlainLoginModule", "REQUIRED", {"user_alice": "hush"}),
)


def test_unknown_mechanism_is_rejected() -> None:
    settings = MechanismSettings(name="CRAM-MD5", listener_name="A")

    with pytest.raises(ValueError, match=r"sasl\.enabled\.mechanisms: found CRAM-MD5; allowed: "):
        provider_of(settings, NO_SOURCES)


def test_repr_hides_secrets() -> None:
    assert "hush" not in repr(PLAIN)
    assert "alice" not in repr(PLAIN)
