"""The tables of keys with and without an effect."""

from doorkeeper.server.config.kafka_keys import of_earlier_releases, without_effect
from doorkeeper.server.config.keys import KEYS


def test_defaults_are_valid() -> None:
    for key in KEYS.values():
        if key.default is not None:
            assert key.parse(key.default) == key.default_value


def test_passwords_and_undeclared_keys_are_sensitive() -> None:
    """What a broker never shows is never shown here."""
    sensitive = {name for name, key in KEYS.items() if key.sensitive}

    assert sensitive == {
        *("super.users", "allow.everyone.if.no.acl.found", "sasl.jaas.config"),
        *("ssl.keystore.password", "ssl.key.password", "ssl.truststore.password"),
        *("delegation.token.secret.key", "delegation.token.master.key"),
        *("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates"),
    }


def test_all_kafka_keys_are_known() -> None:
    """Each of the 360 keys of Kafka 4.3.1 either has an effect or is listed as without one."""
    declared = [name for name, key in KEYS.items() if key.declared and not key.ours]

    assert len(declared) + len(without_effect()) == 360
    assert not without_effect().keys() & KEYS.keys()
    assert not of_earlier_releases() & (KEYS.keys() | without_effect().keys())
