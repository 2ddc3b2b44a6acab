"""Which mechanisms are spoken."""

from __future__ import annotations

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings

PLAIN = MechanismSettings(
    name="PLAIN",
    listener_name="A",
    login_module=LoginModule("PlainLoginModule", "REQUIRED", {"user_alice": "hush"}),
)


def test_repr_hides_secrets() -> None:
    assert "hush" not in repr(PLAIN)
    assert "alice" not in repr(PLAIN)
