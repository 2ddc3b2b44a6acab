"""Which key a name means."""

import pytest

from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import KeyLookup, find_key, is_for_plug_ins


def test_prefixed_names() -> None:
    """A listener and a mechanism may stand before keys that allow it."""
    for name, key in (
        ("listener.name.sasl.plain.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.s.sasl.enabled.mechanisms", "sasl.enabled.mechanisms"),
        ("listener.name.plain.plain.connections.max.reauth.ms", "connections.max.reauth.ms"),
        ("listener.name.s.max.connections", "max.connections"),
        ("listener.name.s.ssl.keystore.location", "ssl.keystore.location"),
        (
            "listener.name.s.oauthbearer.sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.expected.issuer",
        ),
    ):
        assert find_key(name) == KeyLookup(KEYS[key])


def test_invalid_prefix_has_no_effect() -> None:
    """Kafka ignores a prefix before a key of the whole server; so do we, and say so."""
    assert find_key("listener.name.s.num.partitions") == KeyLookup(without_effect=True)
    assert find_key("listener.name.s.ssl.provider") == KeyLookup(without_effect=True)
    assert find_key("listener.name.s.gssapi.sasl.kerberos.service.name") == KeyLookup(
        without_effect=True
    )


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("num.partitons", "num.partitions"),
        ("autohrizer.class.name", "authorizer.class.name"),
        ("node_id", "node.id"),
        ("log.dir.", "log.dir"),
        ("doorkeeper.datadir", "doorkeeper.data.dir"),
        ("prot", "port"),
    ],
)
def test_misspelled_key_suggests_the_known_key(name: str, known: str) -> None:
    assert find_key(name) == KeyLookup(resembles=known)


def test_plug_in_keys_have_listener_prefixes() -> None:
    """And nobody declares them: neither Kafka nor we."""
    assert is_for_plug_ins("listener.name.door.plain.ldap.url")
    assert is_for_plug_ins("listener.name.door.ldap.url", "DOOR")
    assert not is_for_plug_ins("listener.name.other.ldap.url", "DOOR")
    for known in ("ldap.url", "listener.name.door.ssl.provider", "listener.name.door.ssl.protocol"):
        assert not is_for_plug_ins(known)
