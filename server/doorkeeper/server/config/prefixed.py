"""The texts of values for one listener, or for one of its mechanisms."""

from __future__ import annotations

from functools import cache

from doorkeeper.base.key import Scope
from doorkeeper.base.values import trim
from doorkeeper.server.config.kafka_keys import rows
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import full_names
from doorkeeper.server.config.raw_config import RawConfig
from doorkeeper.server.config.sasl_keys import SASL_JAAS_CONFIG


def values_of(
    raw: RawConfig, listener: str, mechanism: str | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return values, and the full keys that gave them, both by the key without prefix.

    They are those of all keys that may have a listener's prefix, and of all SASL keys; a key
    without a value is absent. Defaults have no full key. ``sasl.jaas.config`` is not among them: it
    is parsed once into login modules.
    """
    values: dict[str, str] = {}
    given_as: dict[str, str] = {}
    for name, default, of_mechanisms in _keys():
        # Of all entries: plug-ins also get values of keys that have no effect here.
        for full in full_names(name, listener, mechanism if of_mechanisms else None):
            entry = raw.entries.get(full)
            if entry is not None:
                values[name], given_as[name] = trim(entry.value), full
                break
        else:
            if default is not None:
                values[name] = default
    return values, given_as


@cache
def _keys() -> tuple[tuple[str, str | None, bool], ...]:
    """Return name, default, and whether a mechanism may precede it.

    Plug-ins may read SASL keys that have no effect here.
    """
    return tuple(
        (key.name, key.default, key.scope is Scope.MECHANISM)
        for key in KEYS.values()
        if key.scope is not Scope.SERVER and key is not SASL_JAAS_CONFIG
    ) + tuple((name, row[1], True) for name, row in rows().items() if name.startswith("sasl."))
