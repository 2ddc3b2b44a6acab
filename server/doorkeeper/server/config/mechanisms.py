"""Settings of one SASL mechanism on one listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.base.value import NOTHING, Value, hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.base.jaas import LoginModule


class MechanismSettings(Value):
    """Settings of one SASL mechanism on one listener.

    ``login_module`` is that of ``sasl.jaas.config`` or a JAAS file, or None. ``callback_handler``
    is ``sasl.server.callback.handler.class`` or empty. ``values`` are the texts of every key that
    may have a listener's prefix, by the name without prefix, in Kafka's precedence of prefixes and
    with defaults. ``given_as`` has the full key of each by the same names. ``originals`` are all
    keys, for plug-ins.
    """

    name: str
    listener_name: str
    login_module: LoginModule | None = None
    callback_handler: str = ""
    values: Mapping[str, str] = hidden(default=NOTHING)
    given_as: Mapping[str, str] = NOTHING
    originals: Mapping[str, str] = hidden(default=NOTHING)
    max_reauth_ms: int = 0
