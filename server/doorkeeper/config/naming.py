"""Which key a name means: known, without effect, prefixed, or nearly a known one."""

from __future__ import annotations

from typing import NamedTuple

from doorkeeper.config.kafka_keys import (
    OF_EARLIER_RELEASES,
    SECURITY_LISTENER_PREFIXES,
    WITHOUT_EFFECT,
)
from doorkeeper.config.key import Key, Scope
from doorkeeper.config.keys import KEYS

LISTENER_PREFIX = "listener.name."
EDITS_MAX = 2
"""An unknown key so close to a known one is taken for a slip."""

MECHANISMS = ("plain", "gssapi", "oauthbearer", "scram-sha-256", "scram-sha-512")


class Named(NamedTuple):
    """What a name means.

    ``key`` is set for a key that has an effect; ``without_effect`` says that it is one of Kafka's
    own that has none here; neither is set for an unknown key, whose ``resembles`` may name a
    known one. ``listener`` and ``mechanism``, both in lower case, are what stood before the key.
    """

    key: Key | None = None
    listener: str | None = None
    mechanism: str | None = None
    without_effect: bool = False
    resembles: str | None = None


def named(name: str) -> Named:
    """Return what a name means."""
    if not name.startswith(LISTENER_PREFIX):
        key = KEYS.get(name)
        if key is not None:
            return Named(key)
        if is_without_effect(name):
            return Named(without_effect=True)
        return Named(resembles=resembling(name))
    listener, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    mechanism, bare = _split_mechanism(rest)
    key = KEYS.get(bare)
    if key is not None and _fits(key.scope, mechanism):
        return Named(key, listener, mechanism)
    if key is not None or is_without_effect(bare):
        return Named(without_effect=True)
    near = resembling(bare)
    return Named(resembles=None if near is None else name.removesuffix(bare) + near)


def is_without_effect(name: str) -> bool:
    """Say whether this is one of Kafka's own keys that has no effect here."""
    return name in WITHOUT_EFFECT or name in OF_EARLIER_RELEASES


def _split_mechanism(rest: str) -> tuple[str | None, str]:
    """Split ``plain.sasl.jaas.config`` into the mechanism and the key."""
    first, _, bare = rest.partition(".")
    if rest in KEYS:
        # As doorkeeper.ssl.x, which no mechanism called doorkeeper has.
        return None, rest
    if bare.startswith((*SECURITY_LISTENER_PREFIXES, "connections.max.reauth")):
        return first, bare
    return (first, bare) if first in MECHANISMS else (None, rest)


def _fits(scope: Scope, mechanism: str | None) -> bool:
    if mechanism is None:
        return scope is not Scope.SERVER
    return scope is Scope.MECHANISM


def resembling(name: str) -> str | None:
    """Return the known key nearest to a name, where it is at most two edits away."""
    known = (*KEYS, *WITHOUT_EFFECT, *OF_EARLIER_RELEASES)
    nearest = min(known, key=lambda key: (edits(name, key), key))
    return nearest if edits(name, nearest) <= EDITS_MAX else None


def edits(left: str, right: str) -> int:
    """Count the insertions, deletions, replacements and swaps of neighbours between two texts.

    Counts to three at most: what is further apart is not alike. Optimal string alignment, O(n m).
    """
    if abs(len(left) - len(right)) > EDITS_MAX:
        return EDITS_MAX + 1
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        current = [i]
        for j, b in enumerate(right, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(*current, *previous) > EDITS_MAX:
            return EDITS_MAX + 1
        before, previous = previous, current
    return min(previous[-1], EDITS_MAX + 1)


def is_for_plug_ins(name: str, listener: str = "") -> bool:
    """Say whether only a plug-in of a listener can know a key, of any one where none is given.

    It has the listener's prefix, and nobody declares it.
    """
    prefix = f"listener.name.{listener.lower()}." if listener else "listener.name."
    return name.lower().startswith(prefix) and named(name) == Named()
