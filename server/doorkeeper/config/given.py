"""What a configuration gives, key by key, with Kafka's order of prefixes.

A listener's value of a key is the first of ``listener.name.<name>.<mechanism>.<key>``,
``listener.name.<name>.<key>``, ``<key>`` and the default.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.entry import Problem
from doorkeeper.config.keys import KEYS
from doorkeeper.config.values import typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.config.entry import Entry
    from doorkeeper.config.key import Key
    from doorkeeper.config.values import Value


class Place(NamedTuple):
    """A key under its prefix; names are in lower case, None where there is no prefix."""

    key: str
    listener: str | None = None
    mechanism: str | None = None


class Given:
    """The entries that have an effect, typed, and the problems found among them so far."""

    def __init__(self) -> None:
        """Begin with nothing given."""
        self._entries: dict[Place, tuple[Entry, Value]] = {}
        self.entries: Mapping[str, Entry] = {}
        """All that is given, by the whole key."""
        self.problems: list[Problem] = []
        self.warnings: list[str] = []

    def add(self, entry: Entry, place: Place, key: Key) -> None:
        """Take an entry, or note what is wrong with it."""
        try:
            value = typed(key.type, entry.value)
            if key.check is not None:
                key.check(value)
        except ValueError as error:
            found = "" if key.sensitive else f"found {entry.value.strip()!r}; "
            self.problem_at(entry, f"{found}allowed: {_narrower(key, error)}")
            value = _default(key)
        self._entries[place] = (entry, value)

    def problem_at(self, entry: Entry, text: str) -> None:
        """Note that something is wrong with an entry."""
        self.problems.append(Problem(entry.source, entry.key, text))

    def problem(self, place: Place, text: str) -> None:
        """Note that something is wrong with what a place holds, given or not."""
        entry = self.entry(place)
        if entry is None:
            self.problems.append(Problem("", place.key, text))
        else:
            self.problem_at(entry, text)

    def warn(self, text: str) -> None:
        """Note what does no harm, and is not what it looks like; once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def entry(self, place: Place) -> Entry | None:
        """Return the entry that decides a place; None where its default does."""
        for candidate in _candidates(place):
            if candidate in self._entries:
                return self._entries[candidate][0]
        return None

    def value(self, place: Place) -> Value | None:
        """Return the value of a place: given, or the default; None where there is none."""
        for candidate in _candidates(place):
            if candidate in self._entries:
                return self._entries[candidate][1]
        key = KEYS[place.key]
        return None if key.default is None else _default(key)

    def text(self, name: str) -> str:
        """Return a text of the server; empty where there is none."""
        value = self.value(Place(name))
        return value if isinstance(value, str) else ""

    def path(self, name: str) -> Path | None:
        """Return a path of the server; None where there is none."""
        text = self.text(name)
        return Path(text) if text else None

    def number(self, name: str, listener: str | None = None, mechanism: str | None = None) -> int:
        """Return a whole number."""
        value = self.value(Place(name, listener, mechanism))
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean of the server."""
        return self.value(Place(name)) is True

    def list(self, name: str, listener: str | None = None) -> tuple[str, ...]:
        """Return a list without its empty elements."""
        value = self.value(Place(name, listener))
        return tuple(part for part in value if part) if isinstance(value, tuple) else ()


def _candidates(place: Place) -> tuple[Place, ...]:
    return (
        place,
        Place(place.key, place.listener),
        Place(place.key),
    )


def _narrower(key: Key, error: ValueError) -> ValueError:
    """Return what a key allows: less than its type does, where it has a check."""
    if key.check is not None:
        try:
            key.check("")
        except ValueError as narrower:
            return narrower
    return error


def _default(key: Key) -> Value:
    return typed(key.type, key.default or "") if key.default is not None else ""
