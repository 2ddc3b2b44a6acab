"""The configuration as a plug-in gets it."""

from __future__ import annotations

from doorkeeper.server.config.plug_ins import configs_of

ORIGINALS = {
    "ldap.url": "all",
    "listener.name.clients.ldap.url": "clients",
    "listener.name.clients.plain.ldap.url": "plain of clients",
    "listener.name.others.ldap.url": "others",
    "ldap.port": "389",
}


def test_longest_prefix_is_used() -> None:
    """Kafka's order: mechanism of the listener, listener, none; other listeners' stay away."""
    assert configs_of(ORIGINALS, "CLIENTS", "PLAIN")["ldap.url"] == "plain of clients"
    assert configs_of(ORIGINALS, "CLIENTS", "SCRAM-SHA-256")["ldap.url"] == "clients"
    assert configs_of(ORIGINALS, "CLIENTS")["ldap.url"] == "clients"
    assert configs_of(ORIGINALS, "OTHER")["ldap.url"] == "all"


def test_prefix_in_upper_case_has_no_effect() -> None:
    """As a broker reads it, and as ``config check`` says of such a key (C210)."""
    originals = {
        "listener.name.CLIENTS.ldap.url": "clients",
        "listener.name.clients.PLAIN.ldap.url": "plain",
    }

    assert "ldap.url" not in configs_of(originals, "CLIENTS", "PLAIN")
