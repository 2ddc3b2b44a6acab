"""Settings of one SASL mechanism on one listener."""

from __future__ import annotations

from collections.abc import Mapping

from doorkeeper.base.jaas import LoginModule
from doorkeeper.base.key import NOTHING, KeyValues


class MechanismSettings(KeyValues, frozen=True, kw_only=True):
    """Settings of one SASL mechanism on one listener: ``settings[KEY]`` is the value of a key.

    ``login_module`` is that of ``sasl.jaas.config`` or a JAAS file, or None. ``originals`` are all
    keys, for plug-ins.
    """

    name: str
    listener_name: str
    login_module: LoginModule | None = None
    originals: Mapping[str, str] = NOTHING
