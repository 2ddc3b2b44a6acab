"""The TLS settings of one listener."""

from __future__ import annotations

from typing import TypeVar

from doorkeeper.base.key import Key, KeyValues

T = TypeVar("T")


class TlsError(ValueError):
    """A setting cannot be used; the text begins with the key."""


class TlsSettings(KeyValues, frozen=True, kw_only=True):
    """The TLS keys of one listener."""

    listener_name: str
    security_protocol: str

    def __getitem__(self, key: Key[T]) -> T:
        try:
            return super().__getitem__(key)
        except ValueError as error:
            written = "" if key.sensitive else f"found {self.values[key.name].strip()!r}; "
            raise self.problem(key, f"{written}allowed: {error}") from None

    def is_given(self, key: Key[object]) -> bool:
        """Return whether the configuration names the key, with a prefix or without."""
        return key.name in self.given_as

    def is_given_here(self, key: Key[object]) -> bool:
        """Return whether the configuration names the key with this listener's prefix."""
        return self.full_name(key).startswith("listener.name.")

    def problem(self, key: Key[object], text: str) -> TlsError:
        """Return an error about the value of a key."""
        return TlsError(f"{self.full_name(key)}: {text}")
