"""Kafka's keys without an effect here, so that the file of a broker starts unchanged.

``kafka_keys.json`` has type, default and, for a dynamic key, its ``Dynamic``, from
``KafkaConfig.configDef()`` of Kafka 4.3.1; a default of null is null or required. Then names of
earlier releases. ``kafka_keys_list`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from doorkeeper.base.key import Dynamic, Key
from doorkeeper.base.values import KeyType

FILE: Final = Path(__file__).with_suffix(".json")

SECURITY_LISTENER_PREFIXES: Final = ("ssl.", "sasl.")
"""Prefixes of keys that may have the prefix ``listener.name.<name>.`` and a mechanism."""


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data


def rows() -> Mapping[str, Sequence[str | None]]:
    """Return type, default and perhaps ``Dynamic`` of each key of the reference release."""
    keys: Mapping[str, Sequence[str | None]] = _data()["keys"]
    return keys


@cache
def without_effect() -> Mapping[str, Key[object]]:
    """Return the keys of the reference release, by name: a start needs only their ``rows``."""
    doc = "Has no effect here."
    return {
        name: Key(name, KeyType[kind], default, doc, in_kafka=Dynamic[more[0]] if more else None)
        for name, (kind, default, *more) in _data()["keys"].items()
    }


@cache
def of_earlier_releases() -> frozenset[str]:
    """Return the names of keys of Kafka 3.9 and before, most of them about ZooKeeper."""
    return frozenset(_data()["earlier"])
