"""An entry of a configuration, and a problem with one."""

from __future__ import annotations

from msgspec import Struct


class Entry(Struct, frozen=True):
    """A key, its value as written, and its source. The value may be a secret."""

    key: str
    value: str
    source: str

    def __repr__(self) -> str:
        return f"Entry({self.key}, {self.source})"


class Problem(Struct, frozen=True):
    """An error or a warning.

    ``source`` is a file with its line, ``--override``, or empty; ``key`` may be empty. The text
    never contains the value of a sensitive key.
    """

    source: str
    key: str
    text: str

    def __str__(self) -> str:
        """Return ``source: key: text``."""
        return ": ".join(part for part in (self.source, self.key, self.text) if part)
