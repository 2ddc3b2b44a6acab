"""Settings of one SASL mechanism on one listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from doorkeeper.base.value import NOTHING, Value, hidden

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from doorkeeper.base.jaas import LoginModule
    from doorkeeper.base.key import Key

T = TypeVar("T")


class MechanismSettings(Value):
    """Settings of one SASL mechanism on one listener.

    ``settings[KEY]`` is the value of a key. ``login_module`` is that of ``sasl.jaas.config`` or a
    JAAS file, or None. ``values`` are the texts of every key that may have a listener's prefix, by
    the name without prefix, in Kafka's precedence of prefixes and with defaults. ``given_as`` has
    the full key of each by the same names. ``originals`` are all keys, for plug-ins.
    """

    name: str
    listener_name: str
    login_module: LoginModule | None = None
    values: Mapping[str, str] = hidden(default=NOTHING)
    given_as: Mapping[str, str] = NOTHING
    originals: Mapping[str, str] = hidden(default=NOTHING)

    def __getitem__(self, key: Key[T]) -> T:
        return key.value_in(self.values)

    def full_name(self, key: Key[Any]) -> str:
        """Return the key as it is given, or its plain name."""
        return self.given_as.get(key.name, key.name)
