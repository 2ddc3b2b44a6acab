"""The SASL mechanisms of a listener, and the login module of each.

Source: Kafka's ``JaasContext.loadServerContext`` and ``PlainServerCallbackHandler``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.config import jaas
from doorkeeper.config.given import Given, Place
from doorkeeper.config.mechanisms import MechanismSettings

if TYPE_CHECKING:
    from doorkeeper.config.jaas import LoginModule

SUPPORTED_MECHANISMS = ("PLAIN",)
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_EXAMPLE = f'{PLAIN_MODULE} required user_alice="...";'


def mechanisms_of(given: Given, listener_name: str) -> tuple[MechanismSettings, ...]:
    """Return the mechanisms of a SASL listener; what is wrong is noted."""
    prefix = listener_name.lower()
    return tuple(
        MechanismSettings(
            name=name,
            listener_name=listener_name,
            login_module=_login_module(given, prefix, name.lower()),
            max_reauth_ms=given.number("connections.max.reauth.ms", prefix, name.lower()),
        )
        for name in _enabled(given, prefix)
    )


def _enabled(given: Given, listener: str) -> tuple[str, ...]:
    """Return the names of the mechanisms; one that is not supported is noted."""
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


def _login_module(given: Given, listener: str, mechanism: str) -> LoginModule | None:
    """Return the module of a mechanism on a listener; what is wrong is noted."""
    place = Place("sasl.jaas.config", listener, mechanism)
    entry = given.entry(place)
    wanted = f"listener.name.{listener}.{mechanism}.sasl.jaas.config"
    if entry is None or not entry.key.lower().endswith(f".{mechanism}.sasl.jaas.config"):
        text = f"listener {listener.upper()} has no users: give {wanted}={_EXAMPLE}"
        given.problem(Place("sasl.jaas.config"), text)
        return None
    try:
        modules = jaas.parse(entry.value)
    except jaas.JaasError as error:
        given.problem_at(entry, str(error))
        return None
    if len(modules) != 1:
        given.problem_at(entry, f"found {len(modules)} login modules; allowed: one")
    elif modules[0].name != PLAIN_MODULE:
        given.problem_at(entry, f"the login module is not {PLAIN_MODULE}")
    return modules[0]
