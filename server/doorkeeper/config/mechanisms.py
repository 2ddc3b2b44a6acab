"""What the configuration says of one SASL mechanism on one listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.value import NOTHING, Value, hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.config.jaas import LoginModule


class MechanismSettings(Value):
    """What the configuration says of one mechanism on one listener.

    ``login_module`` is the mechanism's own in ``sasl.jaas.config`` or a JAAS file, None without.
    ``callback_handler`` is ``sasl.server.callback.handler.class``, empty for none. ``values`` are
    the texts of every key that may stand behind a listener's prefix, by the name without prefix,
    in Kafka's order of prefixes and with defaults; one without a value is absent. ``given_as``
    has, by the same names, the whole key that gave each. ``originals`` are all keys, for plug-ins.
    """

    name: str
    listener_name: str
    login_module: LoginModule | None = None
    callback_handler: str = ""
    values: Mapping[str, str] = hidden(default=NOTHING)
    given_as: Mapping[str, str] = NOTHING
    originals: Mapping[str, str] = hidden(default=NOTHING)
    max_reauth_ms: int = 0
