"""Typed entries of a configuration by key path, with Kafka's precedence of prefixes.

A listener's value of a key is the first of ``listener.name.<name>.<mechanism>.<key>``,
``listener.name.<name>.<key>``, ``<key>`` and the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.key import Key
from doorkeeper.base.values import Value, parse_value
from doorkeeper.server.config.keys import KEYS


class KeyPath(NamedTuple):
    """A key with its prefix; names are in lower case, None without that prefix."""

    key: str
    listener: str | None = None
    mechanism: str | None = None


class RawConfig:
    """The typed entries that have an effect, and the problems found so far."""

    def __init__(self) -> None:
        self._entries: dict[KeyPath, tuple[Entry, Value]] = {}
        self.entries: Mapping[str, Entry] = {}
        """All entries by their full key."""
        self.problems: list[Problem] = []
        # Warnings do not prevent the start; problems do.
        self.warnings: list[str] = []

    def add(self, entry: Entry, place: KeyPath, key: Key) -> None:
        """Add an entry, or record its problem."""
        try:
            value = parse_value(key.type, entry.value)
            if key.check is not None:
                key.check(value)
        except ValueError as error:
            found = "" if key.sensitive else f"found {entry.value.strip()!r}; "
            self.problem_at(entry, f"{found}allowed: {_narrower(key, error)}")
            # The default, so that further checks can run.
            value = _default(key)
        self._entries[place] = (entry, value)

    def problem_at(self, entry: Entry, text: str) -> None:
        """Record a problem of an entry."""
        self.problems.append(Problem(entry.source, entry.key, text))

    def problem(self, place: KeyPath, text: str) -> None:
        """Record a problem of a key path, which may have no entry."""
        entry = self.entry(place)
        if entry is None:
            self.problems.append(Problem("", place.key, text))
        else:
            self.problem_at(entry, text)

    def warn(self, text: str) -> None:
        """Record a warning once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def entry(self, place: KeyPath) -> Entry | None:
        """Return the entry in effect; None for the default."""
        for candidate in _candidates(place):
            if candidate in self._entries:
                return self._entries[candidate][0]
        return None

    def value(self, place: KeyPath) -> Value | None:
        """Return the value in effect or the default; None if there is none."""
        for candidate in _candidates(place):
            if candidate in self._entries:
                return self._entries[candidate][1]
        key = KEYS[place.key]
        return None if key.default is None else _default(key)

    def text(self, name: str) -> str:
        """Return a text of the server; empty if there is none."""
        value = self.value(KeyPath(name))
        return value if isinstance(value, str) else ""

    def path(self, name: str) -> Path | None:
        """Return a path of the server; None if there is none."""
        text = self.text(name)
        return Path(text) if text else None

    def number(self, name: str, listener: str | None = None, mechanism: str | None = None) -> int:
        value = self.value(KeyPath(name, listener, mechanism))
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        return self.value(KeyPath(name)) is True

    def list(self, name: str, listener: str | None = None) -> tuple[str, ...]:
        """Return a list without its empty elements."""
        value = self.value(KeyPath(name, listener))
        return tuple(part for part in value if part) if isinstance(value, tuple) else ()


def _candidates(place: KeyPath) -> tuple[KeyPath, ...]:
    return (
        place,
        KeyPath(place.key, place.listener),
        KeyPath(place.key),
    )


def _narrower(key: Key, error: ValueError) -> ValueError:
    """Return the error of a key's check, which is more specific than that of its type."""
    if key.check is not None:
        try:
            # The empty text fails every check, whose error then describes the allowed values.
            key.check("")
        except ValueError as narrower:
            return narrower
    return error


def _default(key: Key) -> Value:
    return parse_value(key.type, key.default or "") if key.default is not None else ""
