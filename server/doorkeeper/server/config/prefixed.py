"""The texts of values for one listener, or for one of its mechanisms.

A value comes from the first of ``listener.name.<name>.<mechanism>.<key>``,
``listener.name.<name>.<key>``, ``<key>`` and the default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.base.key import Scope
from doorkeeper.server.config.kafka_keys import WITHOUT_EFFECT
from doorkeeper.server.config.keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.config.raw_config import RawConfig

# It is parsed once into login modules; its text is not passed on.
READ_ELSEWHERE: Final = "sasl.jaas.config"


def values_of(
    given: RawConfig, listener: str, mechanism: str | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return values, and the full keys that gave them, both by the key without prefix.

    They are those of all keys that may have a listener's prefix, and of all SASL keys; a key
    without a value is absent. Defaults have no full key.
    """
    values: dict[str, str] = {}
    given_as: dict[str, str] = {}
    for name, default, of_mechanisms in _KEYS:
        # By the full key, not by RawConfig: plug-ins also get values of keys that are not typed
        # here.
        for full in _candidates(name, listener, mechanism if of_mechanisms else None):
            entry = given.entries.get(full)
            if entry is not None:
                values[name], given_as[name] = entry.value.strip(), full
                break
        else:
            if default is not None:
                values[name] = default
    return values, given_as


def _candidates(name: str, listener: str, mechanism: str | None) -> Iterator[str]:
    if mechanism is not None:
        yield f"listener.name.{listener}.{mechanism}.{name}"
    yield f"listener.name.{listener}.{name}"
    yield name


# Name, default, and whether a mechanism may precede it. Plug-ins may read SASL keys that have no
# effect here.
_KEYS: Final = tuple(
    (key.name, key.default, key.scope is Scope.MECHANISM)
    for key in KEYS.values()
    if key.scope is not Scope.SERVER and key.name != READ_ELSEWHERE
) + tuple(
    (name, default, True)
    for name, (_, default) in WITHOUT_EFFECT.items()
    if name.startswith("sasl.")
)
