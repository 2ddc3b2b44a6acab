"""Lookup of a key by name: known, without effect, prefixed, or similar to a known one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from doorkeeper.base.key import Key, Scope
from doorkeeper.server.config.kafka_keys import (
    SECURITY_LISTENER_PREFIXES,
    of_earlier_releases,
    rows,
    without_effect,
)
from doorkeeper.server.config.keys import KEYS

LISTENER_PREFIX = "listener.name."
# Greatest number of different letters at which an unknown key counts as a typo.
TYPOS_MAX = 2

MECHANISMS = ("plain", "gssapi", "oauthbearer", "scram-sha-256", "scram-sha-512")


def full_names(
    name: str, listener: str | None = None, mechanism: str | None = None
) -> Iterator[str]:
    """Yield a key with its prefixes, then with fewer; None for none."""
    if listener is not None:
        prefix = f"{LISTENER_PREFIX}{listener.lower()}."
        if mechanism is not None:
            yield f"{prefix}{mechanism.lower()}.{name}"
        yield f"{prefix}{name}"
    yield name


class KeyLookup(Struct, frozen=True):
    """The result of a lookup.

    ``key`` is set for a key with an effect; ``without_effect`` marks a key of Kafka without an
    effect here; both are unset for an unknown key, for which ``resembles`` may name a known one.
    """

    key: Key[object] | None = None
    without_effect: bool = False
    resembles: str | None = None


def find_key(name: str) -> KeyLookup:
    bare, scopes = name, tuple(Scope)
    if name.startswith(LISTENER_PREFIX):
        rest = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
        bare = _without_mechanism(rest)
        scopes = scopes[1:] if bare == rest else scopes[2:]
    key = KEYS.get(bare)
    if key is not None and key.scope in scopes:
        return KeyLookup(key)
    if key is not None or is_without_effect(bare):
        return KeyLookup(without_effect=True)
    near = resembling(bare)
    return KeyLookup(resembles=None if near is None else name.removesuffix(bare) + near)


def declaration_of(name: str) -> Key[object] | None:
    """Return the row of a name without prefix, with or without an effect; None without one."""
    return KEYS.get(name) or without_effect().get(name)


def is_without_effect(name: str) -> bool:
    """Return whether this is a key of Kafka without an effect here."""
    return name in rows() or name in of_earlier_releases()


def _without_mechanism(rest: str) -> str:
    """Return the key in ``plain.sasl.jaas.config``, or in a text without a mechanism."""
    first, _, bare = rest.partition(".")
    # A security key may follow any mechanism name, including those of plug-ins.
    is_security_key = bare.startswith((*SECURITY_LISTENER_PREFIXES, "connections.max.reauth"))
    # Such as doorkeeper.ssl.x: there is no mechanism called doorkeeper.
    return bare if rest not in KEYS and (is_security_key or first in MECHANISMS) else rest


def resembling(name: str) -> str | None:
    """Return the known key that a name mistypes by up to two letters.

    A longer name is not a typo: a plug-in's key may start with a key of Kafka.
    """
    from difflib import get_close_matches

    size = len(name)
    known = (*KEYS, *rows(), *of_earlier_releases())
    as_long = [key for key in known if abs(len(key) - size) <= TYPOS_MAX]
    # difflib's ratio is at least this if at most TYPOS_MAX letters differ; 0.5 keeps short keys
    # apart.
    cutoff = max(0.5, (size - TYPOS_MAX) / max(size, 1))
    return next(iter(get_close_matches(name, as_long, n=1, cutoff=cutoff)), None)


def is_for_plug_ins(name: str, listener: str = "") -> bool:
    """Return whether only a plug-in of a listener (of any one by default) can know a key.

    Such a key has the listener's prefix, and no declaration.
    """
    prefix = f"listener.name.{listener.lower()}." if listener else "listener.name."
    return name.lower().startswith(prefix) and find_key(name) == KeyLookup()
