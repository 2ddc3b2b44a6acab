"""The values of a configuration by key, with Kafka's precedence of prefixes, and its problems.

A listener's value of a key is the first of ``listener.name.<name>.<mechanism>.<key>``,
``listener.name.<name>.<key>``, ``<key>`` and the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.key import Key
from doorkeeper.base.values import NotAllowed

T = TypeVar("T")


class RawConfig:
    """The entries that have an effect with their values, and the problems found so far.

    ``listener`` and ``mechanism`` are prefixes in lower case, None without that prefix.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[Key[object], str | None, str | None], tuple[Entry, Any]] = {}
        self.entries: Mapping[str, Entry] = {}
        """All entries by their full key."""
        self.problems: list[Problem] = []

    def add(
        self, entry: Entry, key: Key[object], listener: str | None, mechanism: str | None
    ) -> None:
        """Add an entry, or record its problems."""
        try:
            value = key.parse(entry.value)
        except ValueError as error:
            if isinstance(error, NotAllowed):
                for element in error.elements:
                    self.problem_at(entry, f"found {element!r}; allowed: {error}")
            else:
                written = "" if key.sensitive else f"found {entry.value.strip()!r}; "
                self.problem_at(entry, f"{written}allowed: {_narrower(key, error)}")
            # The default, so that further checks can run.
            value = key.default_value
        self._entries[key, listener, mechanism] = (entry, value)

    def problem_at(self, entry: Entry, text: str) -> None:
        self.problems.append(Problem(entry.source, entry.key, text))

    def problem(
        self, key: Key[object], text: str, listener: str | None = None, mechanism: str | None = None
    ) -> None:
        """Record a problem of a key, which may have no entry."""
        entry = self.entry(key, listener, mechanism)
        if entry is None:
            self.problems.append(Problem("", key.name, text))
        else:
            self.problem_at(entry, text)

    def entry(
        self, key: Key[object], listener: str | None = None, mechanism: str | None = None
    ) -> Entry | None:
        """Return the entry in effect; None for the default."""
        entry = self._find(key, listener, mechanism)
        return None if entry is None else entry[0]

    def of(self, key: Key[T], listener: str, mechanism: str | None = None) -> T:
        """Return the value in effect on a listener, or for a mechanism of it."""
        entry = self._find(key, listener, mechanism)
        value: T = key.default_value if entry is None else entry[1]
        return value

    def __getitem__(self, key: Key[T]) -> T:
        """Return the value in effect on the server, or the default."""
        entry = self._find(key, None, None)
        value: T = key.default_value if entry is None else entry[1]
        return value

    def _find(
        self, key: Key[object], listener: str | None, mechanism: str | None
    ) -> tuple[Entry, Any] | None:
        for of_listener, of_mechanism in ((listener, mechanism), (listener, None), (None, None)):
            if (key, of_listener, of_mechanism) in self._entries:
                return self._entries[key, of_listener, of_mechanism]
        return None


def _narrower(key: Key[object], error: ValueError) -> ValueError:
    """Return the error of a key's check, which is more specific than that of its type."""
    if key.check is not None:
        try:
            # The empty text fails every check, whose error then describes the allowed values.
            key.check("")
        except ValueError as narrower:
            return narrower
    return error
