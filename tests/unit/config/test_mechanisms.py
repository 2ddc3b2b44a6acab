"""What the configuration says of one mechanism on one listener."""

from __future__ import annotations

from doorkeeper.config.jaas import LoginModule
from doorkeeper.config.mechanisms import MechanismSettings


def test_no_secret_is_shown() -> None:
    """The repr has neither the module's options nor any value."""
    settings = MechanismSettings(
        name="PLAIN",
        listener_name="A",
        login_module=LoginModule("PlainLoginModule", "REQUIRED", {"user_alice": "hush"}),
        values={"ssl.key.password": "hush"},
        originals={"com.example.key": "hush"},
    )

    assert "hush" not in repr(settings)
    assert "PLAIN" in repr(settings)
