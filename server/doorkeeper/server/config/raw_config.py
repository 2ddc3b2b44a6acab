"""The values of a configuration by key, with Kafka's precedence of prefixes, and its problems.

A value comes from the first of ``listener.name.<name>.<mechanism>.<key>``,
``listener.name.<name>.<key>``, ``<key>`` and the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.key import Key, Scope
from doorkeeper.base.values import NotAllowed, trim
from doorkeeper.server.config.kafka_keys import rows
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import full_names
from doorkeeper.server.config.sasl_keys import SASL_JAAS_CONFIG

T = TypeVar("T")


class RawConfig:
    """The entries that have an effect with their values, and the problems found so far.

    ``listener`` and ``mechanism`` are as in ``full_names``.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        """Those of entries that have an effect, by their full key."""
        self.entries: Mapping[str, Entry] = {}
        """All entries by their full key."""
        self.problems: list[Problem] = []

    def add(self, entry: Entry, key: Key[object]) -> None:
        """Add the value of one of the entries, or record its problems."""
        if not _is_text(entry.value):
            text = r"found a NUL or half of a surrogate pair, written with \u; expected: a text"
            self.problem_at(entry, text)
            self._values[entry.key] = key.default_value
            return
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
        self._values[entry.key] = value

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
        names = full_names(key.name, listener, mechanism)
        return next((self.entries[name] for name in names if name in self._values), None)

    def of(self, key: Key[T], listener: str | None) -> T:
        """Return the value in effect on a listener, or on the server, or the default."""
        entry = self.entry(key, listener)
        value: T = key.default_value if entry is None else self._values[entry.key]
        return value

    def __getitem__(self, key: Key[T]) -> T:
        return self.of(key, None)

    def values_of(
        self, listener: str, mechanism: str | None = None
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return values, and the full keys that gave them, both by the key without prefix.

        They are those of all keys that may have a listener's prefix, and of all SASL keys; a key
        without a value is absent. Defaults have no full key. ``sasl.jaas.config`` is not among
        them: it is parsed once into login modules.
        """
        values: dict[str, str] = {}
        given_as: dict[str, str] = {}
        for name, default, of_mechanisms in _prefixed_keys():
            # Of all entries: plug-ins also get values of keys that have no effect here.
            for full in full_names(name, listener, mechanism if of_mechanisms else None):
                entry = self.entries.get(full)
                if entry is not None:
                    values[name], given_as[name] = trim(entry.value), full
                    break
            else:
                if default is not None:
                    values[name] = default
        return values, given_as


@cache
def _prefixed_keys() -> tuple[tuple[str, str | None, bool], ...]:
    """Return name, default, and whether a mechanism may precede it.

    Plug-ins may read SASL keys that have no effect here.
    """
    return tuple(
        (key.name, key.default, key.scope is Scope.MECHANISM)
        for key in KEYS.values()
        if key.scope is not Scope.SERVER and key is not SASL_JAAS_CONFIG
    ) + tuple((name, row[1], True) for name, row in rows().items() if name.startswith("sasl."))


def _is_text(value: str) -> bool:
    """Return whether the system can take a value, as a path for example."""
    try:
        # Bytes of the command line that are not UTF-8 are surrogates too, and valid in paths.
        return b"\0" not in value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False


def _narrower(key: Key[object], error: ValueError) -> ValueError:
    """Return the error of a key's check, which is more specific than that of its type."""
    if key.check is not None:
        try:
            # The empty text fails every check, whose error then describes the allowed values.
            key.check("")
        except ValueError as narrower:
            return narrower
    return error
