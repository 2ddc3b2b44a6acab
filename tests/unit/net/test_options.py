"""A listener as the configuration describes it."""

from __future__ import annotations

from doorkeeper.net import ListenerSpec
from testkit.edge import LOGIN


def test_a_listener_shows_no_secret() -> None:
    """The repr of a listener has no password in it."""
    spec = ListenerSpec(name="A", security_protocol="SASL", host="", port=1, security=LOGIN)

    assert "secret" not in repr(spec)
