"""Which of Kafka's keys may change while a broker runs; the interop suite compares them."""

from __future__ import annotations

from doorkeeper.config.kafka_dynamic_keys import (
    DYNAMIC,
    OF_LISTENERS_OF_ALL,
    PER_BROKER,
    PER_LISTENER,
)
from doorkeeper.config.key import Applies, Scope
from doorkeeper.config.keys import KEYS


def test_the_sets_are_parts_of_one() -> None:
    """Whatever has a rule of its own may change."""
    assert PER_LISTENER <= PER_BROKER
    assert OF_LISTENERS_OF_ALL <= DYNAMIC


def test_kafkas_keys_change_here_where_they_do_in_kafka() -> None:
    """A declared key of Kafka's that is dynamic here is so there, or with a listener before it."""
    ours = [
        key
        for key in KEYS.values()
        if key.declared and not key.ours and key.applies is Applies.DYNAMIC
    ]

    assert ours
    assert all(key.name in DYNAMIC or key.scope is not Scope.SERVER for key in ours)
