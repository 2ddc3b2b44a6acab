"""The keys of TLS that hold for one listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.value import NOTHING, Value, hidden

if TYPE_CHECKING:
    from collections.abc import Mapping


class TlsError(ValueError):
    """Something that the configuration names cannot be used; begins with the key."""


class TlsSettings(Value):
    """What the configuration says.

    ``values`` are texts by the key without prefix, defaults among them; they hold secrets.
    ``given_as`` are the whole keys that gave them.
    """

    listener_name: str
    security_protocol: str
    values: Mapping[str, str] = hidden()
    given_as: Mapping[str, str] = NOTHING

    def text(self, key: str) -> str | None:
        """Return a value; None where there is none, or an empty one."""
        return self.values.get(key, "").strip() or None

    def words(self, key: str) -> tuple[str, ...]:
        """Return the elements of a list, in order and once each."""
        parts = (part.strip() for part in self.values.get(key, "").split(","))
        return tuple(dict.fromkeys(part for part in parts if part))

    def flag(self, key: str) -> bool:
        """Return a boolean."""
        return self.values.get(key, "").strip().lower() == "true"

    def is_given(self, key: str) -> bool:
        """Say whether the configuration names the key, with a prefix or without."""
        return key in self.given_as

    def is_given_here(self, key: str) -> bool:
        """Say whether the configuration names the key for this very listener."""
        return self.given_as.get(key, "").startswith("listener.name.")

    def key(self, key: str) -> str:
        """Return a key as the configuration gives it; of one that it does not give, its name."""
        return self.given_as.get(key, key)

    def problem(self, key: str, text: str) -> TlsError:
        """Return the error about the value of a key."""
        return TlsError(f"{self.key(key)}: {text}")
