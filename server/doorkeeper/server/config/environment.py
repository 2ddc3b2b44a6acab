"""Environment variables of Kafka's images, which configure a broker and not this server.

    KAFKA_SUPER_USERS=User:admin                                 super.users
    KAFKA_LISTENER_NAME_CLIENTS_PLAIN_SASL_JAAS_CONFIG=...       listener.name.clients.plain...
    KAFKA_OPTS=-Djava.security.auth.login.config=/x              a file of login modules

Kubernetes has variables of its own for a service that is named kafka: KAFKA_PORT with a URL.

Source: ``KafkaDockerWrapper`` of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from doorkeeper.server.config.naming import declaration_of, find_key

PREFIX: Final = "KAFKA_"
_OPTIONS: Final = "KAFKA_OPTS"
_LOGIN: Final = "java.security.auth.login.config"
_SERVICE: Final = "tcp://"
_SHOWN_MAX: Final = 5


def ignored_variables(environment: Mapping[str, str]) -> str | None:
    """Return a sentence on the variables that have no effect; None without one.

    Values, which may be passwords, are not in it.
    """
    keys = {
        name: key
        for name in sorted(environment)
        if name.startswith(PREFIX)
        and not environment[name].startswith(_SERVICE)
        and _is_key(key := key_of_variable(name))
    }
    shown = [f"{name} ({key})" for name, key in keys.items()]
    if _LOGIN in environment.get(_OPTIONS, ""):
        shown.append(f"{_OPTIONS} ({_LOGIN})")
    if not shown:
        return None
    more = f" and {len(shown) - _SHOWN_MAX} more" if len(shown) > _SHOWN_MAX else ""
    return (
        f"the variables of Kafka's images have no effect: {', '.join(shown[:_SHOWN_MAX])}{more};"
        " use --config or --override KEY=VALUE for keys, and DOORKEEPER_JAAS_FILE for login"
        " modules"
    )


def key_of_variable(name: str) -> str:
    """Return the key of a variable: three underscores are a hyphen, two an underscore."""
    text = name.removeprefix(PREFIX).lower()
    hyphens = text.replace("___", "\0").replace("__", "\1")
    return hyphens.replace("_", ".").replace("\0", "-").replace("\1", "_")


def _is_key(key: str) -> bool:
    named = find_key(key)
    return named.key is not None or named.without_effect or declaration_of(key) is not None
