"""Load ``Settings`` from a file and overrides; report all errors at once with their sources.

Without a file the server is open to the users of this machine: see ``WITHOUT_A_FILE``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry, Problem
from doorkeeper.base.key import NOTHING
from doorkeeper.server.config import jaas_file
from doorkeeper.server.config.http import http_of
from doorkeeper.server.config.jaas_file import JaasFile
from doorkeeper.server.config.keys import (
    ACKNOWLEDGE,
    ACKNOWLEDGE_CLUSTERS,
    CLUSTERS_FILE,
    JAAS_FILE,
    KEYS,
    TEST_BROKER,
)
from doorkeeper.server.config.listeners import check_apart, inter_broker_listener_of, listeners_of
from doorkeeper.server.config.naming import find_key
from doorkeeper.server.config.raw_config import RawConfig
from doorkeeper.server.config.settings import DynamicValues, Settings, is_dynamic_source
from doorkeeper.server.config.shared_store import EMBEDDED, shared_store_of
from doorkeeper.server.config.store_keys import STORE

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

WITHOUT_A_FILE = tuple(
    Entry(key, value, "the default without a file")
    for key, value in (
        ("listeners", "PLAINTEXT://localhost:9092"),
        ("authorizer.class.name", STANDARD_AUTHORIZER),
        ("super.users", "User:ANONYMOUS"),
    )
)
"""The entries without a file, before the overrides."""

_INDIRECT = re.compile(r"\$\{[^}]*:[^}]*\}")
_USUAL_PROVIDERS = re.compile(r"\$\{(file|dir|directory|env)[\w-]*:[^}]*\}")
"""References to the providers that Kafka ships, by their usual names."""


NO_FILE = "no configuration file"
"""The name of a configuration without a file."""


class ConfigFile(NamedTuple):
    """The configuration of one node as it was read, before it is understood.

    ``entries`` are all, in order, also those that later ones replace. ``data`` are the bytes of a
    properties file, for faults that its reader hides; ``jaas`` is the JAAS file of its process,
    None where it is not known; ``more`` are variables of a container that become no key.
    """

    name: str
    entries: Sequence[Entry]
    data: bytes | None = None
    jaas: JaasFile | None = None
    more: Sequence[Entry] = ()
    is_image: bool = False
    dollar_signs: Sequence[Problem] = ()
    """Variables that Compose replaces in values, found where the file was made from its format."""
    files: Mapping[str, bytes | None] = NOTHING
    """Content of the stores that are on this machine; None where only their folder is."""


class Loaded(NamedTuple):
    """A valid configuration, and what it was made from."""

    settings: Settings
    source: ConfigFile


def load(file: Path | None, overrides: Sequence[str] = ()) -> Loaded:
    """Load the configuration; overrides are ``key=value`` and come last."""
    source, jaas, problems = _read(file, overrides)
    try:
        settings = resolve(source.entries, DynamicValues(), jaas)
    except ConfigError as error:
        problems += error.problems
        raise ConfigError(problems, error.entries, error.settings, source) from None
    if problems:
        raise ConfigError(problems, source.entries, settings, source)
    return Loaded(settings, source)


def load_values(values: Mapping[str, str], source: str) -> Loaded:
    """Return the configuration of values by key."""
    entries = tuple(Entry(key, value, source) for key, value in values.items())
    jaas = _jaas_file(entries)
    settings = resolve(entries, DynamicValues(), jaas)
    return Loaded(settings, ConfigFile(source, entries, jaas=jaas))


def _read(
    file: Path | None, overrides: Sequence[str]
) -> tuple[ConfigFile, JaasFile, list[Problem]]:
    """Return the readable entries, their JAAS file, and the problems of the other lines.

    Raises:
        ConfigError: the file cannot be read at all: overrides alone would cause misleading errors.
    """
    data: bytes | None = None
    entries, problems = list(WITHOUT_A_FILE), list[Problem]()
    if file is not None:
        data = properties.read_bytes(file)
        try:
            entries = properties.parse(data, str(file))
        except ConfigError as error:
            entries, problems = list(error.entries), list(error.problems)
    readable = file is None or not problems or bool(entries)
    for argument in overrides:
        try:
            entries.append(properties.override(argument))
        except ConfigError as error:
            problems += error.problems
    if not readable:
        raise ConfigError(problems)
    name = NO_FILE if file is None else str(file)
    jaas = _jaas_file(entries)
    return ConfigFile(name, tuple(entries), data, jaas), jaas, problems


def _jaas_file(entries: Iterable[Entry]) -> JaasFile:
    named = [entry.value.strip() for entry in entries if entry.key == JAAS_FILE.name]
    return jaas_file.read(named[-1]) if named else jaas_file.NO_FILE


def resolve(
    entries: Iterable[Entry], dynamic: DynamicValues, jaas: JaasFile = jaas_file.NO_FILE
) -> Settings:
    """Return the settings of entries with dynamic values over them.

    ``jaas`` is the JAAS file that they name.
    """
    # Static values alone first: they are what a reload compares and keeps.
    static = _last_of_each(entries)
    # Dynamic values come last: they win over the file, as on a broker.
    final = _last_of_each((*static.values(), *dynamic.entries()))
    raw = RawConfig()
    raw.entries = final
    _take(raw, final)
    for problem in jaas.problems:
        if problem.key:
            raw.problem(JAAS_FILE, problem.text)
        else:
            raw.problems.append(problem)
    listeners = listeners_of(raw, jaas)
    _check_together(raw)
    http = http_of(raw)
    check_apart(raw, listeners, http)
    settings = Settings(
        values={key: raw[key] for key in KEYS.values()},
        listeners=listeners,
        inter_broker_listener_name=inter_broker_listener_of(raw, listeners),
        store=shared_store_of(raw),
        http=http,
        originals={entry.key: entry.value for entry in raw.entries.values()},
        static=tuple(static.values()),
        dynamic=dynamic,
        jaas_file=jaas,
    )
    if raw.problems:
        raise ConfigError(raw.problems, tuple(final.values()), settings)
    return settings


def with_stored_values(
    settings: Settings, dynamic: DynamicValues
) -> tuple[Settings, list[Problem]]:
    """Return the settings with the stored dynamic values, and the problems of some.

    Values that do not fit the current file are left out, as by a broker.
    """
    problems: list[Problem] = []
    while True:
        try:
            return resolve(settings.static, dynamic, settings.jaas_file), problems
        except ConfigError as error:
            # Each round removes at least one dynamic value, so the loop ends.
            culprits = [problem for problem in error.problems if is_dynamic_source(problem.source)]
            if not culprits:
                # The file alone is valid, so a dynamic value has broken another key.
                problems += error.problems
                dynamic = DynamicValues()
                continue
            problems += culprits
            dynamic = dynamic.without(culprit.key for culprit in culprits)


def _last_of_each(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the last entry of each key, in the order of these entries."""
    final: dict[str, Entry] = {}
    for entry in entries:
        # Popped and set again, so that the order is that of the last entries.
        final.pop(entry.key, None)
        final[entry.key] = entry
    return final


def _take(raw: RawConfig, entries: Mapping[str, Entry]) -> None:
    """Add every entry that has an effect; record unknown keys that are mistyped.

    Values that a broker would get from a config provider, if it has any, are rejected. Without
    providers a broker takes the reference as it stands, as a password for example.
    """
    providers = entries.get("config.providers")
    has_any = providers is not None and bool(providers.value.strip())
    reference = _INDIRECT if has_any else _USUAL_PROVIDERS
    for entry in entries.values():
        meaning = find_key(entry.key)
        if meaning.key is not None:
            raw.add(entry, meaning.key)
            # Only keys with an effect: plug-ins may have references of their own.
            if reference.search(entry.value):
                text = "config providers are not supported; give the value itself"
                raw.problem_at(entry, text)
        elif meaning.without_effect:
            continue
        elif meaning.resembles is not None:
            raw.problem_at(entry, f"unknown key; did you mean {meaning.resembles}?")
        elif entry.key.startswith("doorkeeper."):
            raw.problem_at(entry, "unknown key; see docs/reference/configuration.md")


def _check_together(raw: RawConfig) -> None:
    """Record the problems of keys that need others."""
    if raw[ACKNOWLEDGE] == ACKNOWLEDGE_CLUSTERS and raw[CLUSTERS_FILE] is None:
        raw.problem(ACKNOWLEDGE, f"{ACKNOWLEDGE_CLUSTERS} requires {CLUSTERS_FILE}")
    if raw[TEST_BROKER] and raw[STORE] not in ("", EMBEDDED):
        text = "found true with a shared store; allowed: only with an embedded store"
        raw.problem(TEST_BROKER, text)
