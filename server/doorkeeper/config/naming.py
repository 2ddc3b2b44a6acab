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
TYPOS_MAX = 2
"""An unknown key that differs in so many letters from a known one is taken for a typo."""

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
    """Return the known key that a name mistypes, with two letters replaced, swapped, more or less.

    One that is longer by more is none: a key of a plug-in may begin with a key of Kafka's.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - needed for unknown keys only

    size = len(name)
    known = (*KEYS, *WITHOUT_EFFECT, *OF_EARLIER_RELEASES)
    as_long = [key for key in known if abs(len(key) - size) <= TYPOS_MAX]
    cutoff = max(0.5, (size - TYPOS_MAX) / max(size, 1))
    return next(iter(get_close_matches(name, as_long, n=1, cutoff=cutoff)), None)


def is_for_plug_ins(name: str, listener: str = "") -> bool:
    """Say whether only a plug-in of a listener can know a key, of any one where none is given.

    It has the listener's prefix, and nobody declares it.
    """
    prefix = f"listener.name.{listener.lower()}." if listener else "listener.name."
    return name.lower().startswith(prefix) and named(name) == Named()
