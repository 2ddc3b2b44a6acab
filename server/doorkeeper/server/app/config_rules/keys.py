"""Which keys concern security, and how a key with a prefix is taken apart."""

from __future__ import annotations

import re
from typing import Final

from doorkeeper.server.config.kafka_keys import rows
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import LISTENER_PREFIX

_SECURITY: Final = (
    *("ssl.", "sasl.", "listener", "advertised.listeners", "controller.listener.names"),
    *("inter.broker.listener.name", "security.", "early.start.listeners", "authorizer."),
    *("super.users", "allow.everyone.", "principal.builder.", "delegation.token."),
    *("connections.max.reauth.ms", "process.roles", "config.providers"),
)
_SECRET: Final = re.compile(r"password|secret|jaas|keystore\.key|credential|\.key$")
_LIKE_A_KEY: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)+")


def is_security_key(name: str) -> bool:
    """Return whether a key, with or without prefix, concerns security."""
    return name.lower().startswith(_SECURITY)


def is_secret(name: str) -> bool:
    """Return whether the value of a key may be a secret."""
    return _SECRET.search(name.lower()) is not None


def bare_name(name: str) -> str:
    """Return a key without its listener's and mechanism's prefixes."""
    if not name.startswith(LISTENER_PREFIX):
        return name
    rest = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
    if is_known(rest):
        return rest
    mechanism, _, bare = rest.partition(".")
    return bare if mechanism and bare.startswith(("ssl.", "sasl.", "connections.")) else rest


def is_known(name: str) -> bool:
    """Return whether the reference release of Kafka, or Doorkeeper, declares a key."""
    return name in KEYS or name in rows()


def looks_like_a_key(name: str) -> bool:
    """Return whether a name may be shown: an unknown one may be a line of a secret."""
    return is_known(bare_name(name)) or _LIKE_A_KEY.fullmatch(name) is not None
