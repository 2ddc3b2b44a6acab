"""Kafka's keys that have no effect here."""

from doorkeeper.config.kafka_keys import OF_EARLIER_RELEASES, WITHOUT_EFFECT
from doorkeeper.config.keys import KEYS


def test_a_key_is_of_one_kind() -> None:
    """No key both has an effect and has none."""
    assert not WITHOUT_EFFECT.keys() & KEYS.keys()
    assert not OF_EARLIER_RELEASES & (KEYS.keys() | WITHOUT_EFFECT.keys())


def test_all_keys_of_a_broker_are_known() -> None:
    """Kafka 4.3.1 declares 360 keys: each is honoured or listed as without effect."""
    declared = [name for name, key in KEYS.items() if key.declared and not key.ours]

    assert len(declared) + len(WITHOUT_EFFECT) == 360
