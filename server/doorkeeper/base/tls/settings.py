"""The TLS settings of one listener."""

from __future__ import annotations

from collections.abc import Mapping

from doorkeeper.base.value import NOTHING, Value, hidden


class TlsError(ValueError):
    """A setting cannot be used; the text begins with the key."""


class TlsSettings(Value):
    """The TLS keys of one listener.

    ``values`` are texts by the key without prefix, defaults included; they contain secrets.
    ``given_as`` are the keys as written in the configuration.
    """

    listener_name: str
    security_protocol: str
    values: Mapping[str, str] = hidden()
    given_as: Mapping[str, str] = NOTHING

    def text(self, key: str) -> str | None:
        """Return a value, or None if it is missing or empty."""
        return self.values.get(key, "").strip() or None

    def words(self, key: str) -> tuple[str, ...]:
        """Return the elements of a list in order, without duplicates."""
        parts = (part.strip() for part in self.values.get(key, "").split(","))
        return tuple(dict.fromkeys(part for part in parts if part))

    def flag(self, key: str) -> bool:
        return self.values.get(key, "").strip().lower() == "true"

    def is_given(self, key: str) -> bool:
        """Return whether the configuration names the key, with a prefix or without."""
        return key in self.given_as

    def is_given_here(self, key: str) -> bool:
        """Return whether the configuration names the key with this listener's prefix."""
        return self.given_as.get(key, "").startswith("listener.name.")

    def key(self, key: str) -> str:
        """Return a key as written in the configuration, or its plain name if it is not set."""
        return self.given_as.get(key, key)

    def problem(self, key: str, text: str) -> TlsError:
        """Return an error about the value of a key."""
        return TlsError(f"{self.key(key)}: {text}")
