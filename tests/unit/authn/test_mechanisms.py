"""The mechanisms of a listener."""

from __future__ import annotations

import pytest

from doorkeeper.authn.contract import Success
from doorkeeper.authn.mechanisms import SaslConfig, offered_mechanisms


def test_mechanisms_come_in_the_configured_order() -> None:
    """Each enabled mechanism is offered under its name, with its bound on sessions."""
    config = SaslConfig(
        enabled_mechanisms=("PLAIN",), plain_users={"a": "b"}, max_reauth_ms={"PLAIN": 5}
    )

    offered = offered_mechanisms(config)

    assert list(offered) == ["PLAIN"]
    assert offered["PLAIN"].max_reauth_ms == 5
    assert isinstance(offered["PLAIN"].begin().step(b"\0a\0b"), Success)


def test_each_login_gets_a_mechanism_of_its_own() -> None:
    """Two authentications never share state."""
    offered = offered_mechanisms(SaslConfig(enabled_mechanisms=("PLAIN",)))["PLAIN"]

    assert offered.begin() is not offered.begin()


def test_an_unknown_mechanism_stops_the_start() -> None:
    """The error names what was asked for and what is served."""
    with pytest.raises(ValueError, match="GSSAPI is not served; served are PLAIN"):
        offered_mechanisms(SaslConfig(enabled_mechanisms=("PLAIN", "GSSAPI")))


def test_a_configuration_does_not_show_its_passwords() -> None:
    """The repr of a listener's SASL settings has no users in it."""
    config = SaslConfig(enabled_mechanisms=("PLAIN",), plain_users={"alice": "hush"})

    assert "hush" not in repr(config)
    assert "alice" not in repr(config)
