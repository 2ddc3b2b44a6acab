"""The SASL mechanisms of a listener, and the users of PLAIN.

Source: Kafka's ``JaasContext.loadServerContext`` and ``PlainServerCallbackHandler``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.config import jaas
from doorkeeper.config.given import Given, Place

if TYPE_CHECKING:
    from collections.abc import Mapping

SUPPORTED_MECHANISMS = ("PLAIN",)
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_USER_PREFIX = "user_"
_EXAMPLE = f'{PLAIN_MODULE} required user_alice="...";'


def mechanisms_of(given: Given, listener: str) -> tuple[str, ...]:
    """Return the mechanisms of a SASL listener; one that is not supported is noted."""
    place = Place("sasl.enabled.mechanisms", listener)
    mechanisms = given.list(place.key, listener)
    supported = " and ".join(SUPPORTED_MECHANISMS)
    if given.entry(place) is None:
        given.problem(
            place,
            f"listener {listener.upper()} would offer GSSAPI, Kafka's default; this version"
            f" supports {supported}: give sasl.enabled.mechanisms=PLAIN",
        )
        return ()
    others = [name for name in mechanisms if name not in SUPPORTED_MECHANISMS]
    if others or not mechanisms:
        found = f"found {', '.join(others) or 'nothing'}"
        given.problem(
            place, f"{found} for listener {listener.upper()}; this version supports {supported}"
        )
    return tuple(name for name in mechanisms if name in SUPPORTED_MECHANISMS)


def plain_users_of(given: Given, listener: str) -> Mapping[str, str]:
    """Return the passwords of the users of PLAIN on a listener; what is wrong is noted."""
    place = Place("sasl.jaas.config", listener, "plain")
    entry = given.entry(place)
    wanted = f"listener.name.{listener}.plain.sasl.jaas.config"
    if entry is None or not entry.key.lower().endswith(".plain.sasl.jaas.config"):
        text = f"listener {listener.upper()} has no users: give {wanted}={_EXAMPLE}"
        given.problem(Place("sasl.jaas.config"), text)
        return {}
    try:
        modules = jaas.parse(entry.value)
    except jaas.JaasError as error:
        given.problem_at(entry, str(error))
        return {}
    if len(modules) != 1:
        given.problem_at(entry, f"found {len(modules)} login modules; allowed: one")
    elif modules[0].name != PLAIN_MODULE:
        given.problem_at(entry, f"the login module is not {PLAIN_MODULE}")
    return {
        name.removeprefix(_USER_PREFIX): password
        for name, password in modules[0].options.items()
        if name.startswith(_USER_PREFIX)
    }
