"""Load ``Settings`` from a file and overrides; report all errors at once with their sources.

Without a file the server is open to the users of this machine: see ``WITHOUT_A_FILE``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry, Problem
from doorkeeper.server.config import jaas_file
from doorkeeper.server.config.dynamic_values import DynamicValues, is_dynamic_source
from doorkeeper.server.config.http import http_of
from doorkeeper.server.config.jaas_file import JaasFile
from doorkeeper.server.config.keys import (
    ACKNOWLEDGE,
    ACKNOWLEDGE_CLUSTERS,
    CLUSTERS_FILE,
    DELEGATION_TOKEN_MASTER_KEY,
    DELEGATION_TOKEN_SECRET_KEY,
    JAAS_FILE,
    KEYS,
    SUPER_USERS,
    TEST_BROKER,
    TEST_BROKER_KEYS,
)
from doorkeeper.server.config.listeners import Listener, inter_broker_listener_of, listeners_of
from doorkeeper.server.config.naming import LISTENER_PREFIX, find_key
from doorkeeper.server.config.raw_config import RawConfig
from doorkeeper.server.config.settings import Settings
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


class Loaded(NamedTuple):
    """A valid configuration, and warnings of one line each."""

    settings: Settings
    warnings: tuple[str, ...]


def load(file: Path | None, overrides: Sequence[str] = ()) -> Loaded:
    """Load the configuration; overrides are ``key=value`` and come last."""
    entries, problems = _entries(file, overrides)
    try:
        loaded = resolve(entries, DynamicValues(), _jaas_file(entries))
    except ConfigError as error:
        raise ConfigError((*problems, *error.problems), error.entries, error.settings) from None
    if problems:
        raise ConfigError(problems, entries, loaded.settings)
    if file is not None:
        if any(entry.source.startswith(f"{file} line ") for entry in entries):
            return loaded
        empty = f"{file}: there is no key in the file: all keys have their defaults"
        return Loaded(loaded.settings, (empty, *loaded.warnings))
    first = _without_a_file(loaded.settings)
    return Loaded(loaded.settings, (first, *loaded.warnings))


def load_values(values: Mapping[str, str], source: str) -> Loaded:
    """Return the configuration of values by key."""
    entries = [Entry(key, value, source) for key, value in values.items()]
    return resolve(entries, DynamicValues(), _jaas_file(entries))


def _entries(file: Path | None, overrides: Sequence[str]) -> tuple[list[Entry], list[Problem]]:
    """Return the readable entries and the problems of the others.

    Raises:
        ConfigError: the file cannot be read at all: overrides alone would cause misleading errors.
    """
    entries, problems = list(WITHOUT_A_FILE), list[Problem]()
    if file is not None:
        try:
            entries = properties.read(file)
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
    return entries, problems


def _jaas_file(entries: Iterable[Entry]) -> JaasFile:
    named = [entry.value.strip() for entry in entries if entry.key == JAAS_FILE.name]
    return jaas_file.read(named[-1]) if named else jaas_file.NO_FILE


def resolve(
    entries: Iterable[Entry], dynamic: DynamicValues, jaas: JaasFile = jaas_file.NO_FILE
) -> Loaded:
    """Return the settings of entries with dynamic values over them.

    ``jaas`` is the JAAS file that they name.
    """
    # Static values alone first: they are what a reload compares and keeps.
    static, warnings = _last_of_each(entries)
    # Dynamic values come last: they win over the file, as on a broker.
    final, _ = _last_of_each((*static.values(), *dynamic.entries()))
    raw = RawConfig()
    raw.entries = final
    warnings += _take(raw, final)
    for problem in jaas.problems:
        if problem.key:
            raw.problem(JAAS_FILE, problem.text)
        else:
            raw.problems.append(problem)
    # Only keys with an effect: plug-ins may have references of their own.
    _check_indirect(raw, final)
    settings = _settings(raw, tuple(static.values()), dynamic, jaas)
    if raw.problems:
        raise ConfigError(raw.problems, tuple(final.values()), settings)
    warnings += (*raw.warnings, *_prefixes_without_listener(final, settings))
    warnings += _token_warnings(raw, settings)
    return Loaded(settings, tuple(warnings))


def with_stored_values(
    settings: Settings, dynamic: DynamicValues
) -> tuple[Settings, list[Problem]]:
    """Return the settings with the stored dynamic values, and the problems of some.

    Values that do not fit the current file are left out, as by a broker.
    """
    problems: list[Problem] = []
    while True:
        try:
            return resolve(settings.static, dynamic, settings.jaas_file).settings, problems
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


def _last_of_each(entries: Iterable[Entry]) -> tuple[dict[str, Entry], list[str]]:
    """Return the last entry of each key, and a warning for each key that a file repeats."""
    final: dict[str, Entry] = {}
    # Popped and set again, so that the order is that of the last entries.
    warnings = []
    for entry in entries:
        before = final.pop(entry.key, None)
        # Only a repetition within files is suspicious: overrides are meant to replace.
        if before is not None and " line " in before.source and " line " in entry.source:
            warnings.append(f"{entry.source}: {entry.key} replaces the one of {before.source}")
        final[entry.key] = entry
    return final, warnings


def _take(raw: RawConfig, entries: Mapping[str, Entry]) -> list[str]:
    """Add every entry that has an effect; return warnings about the others."""
    without_effect = []
    unknown = []
    for entry in entries.values():
        meaning = find_key(entry.key)
        if meaning.key is not None:
            raw.add(entry, meaning.key, meaning.listener, meaning.mechanism)
        elif meaning.without_effect:
            without_effect.append(entry.key)
        elif meaning.resembles is not None:
            raw.problem_at(entry, f"unknown key; did you mean {meaning.resembles}?")
        elif entry.key.startswith("doorkeeper."):
            raw.problem_at(
                entry, "unknown key; docs/reference/configuration.md lists those of Doorkeeper"
            )
        else:
            unknown.append(entry.key)
    if not raw[TEST_BROKER]:
        without_effect += [key for key in entries if key in TEST_BROKER_KEYS]
    warnings = []
    if without_effect:
        warnings.append(f"keys of Kafka that have no effect here: {', '.join(without_effect)}")
    if unknown:
        warnings.append(f"unknown keys, which only plug-ins may read: {', '.join(unknown)}")
    return warnings


def _why_nobody_reads(listener: str, names: set[str]) -> str:
    if listener.lower() in names:
        return f"has no effect: the prefix is {LISTENER_PREFIX}{listener.lower()}, in lower case"
    return f"there is no listener {listener.upper()}"


def _prefixes_without_listener(entries: Mapping[str, Entry], settings: Settings) -> list[str]:
    """Warn of keys for a listener that does not exist: probably a misspelt name."""
    names = {listener.name.lower() for listener in settings.listeners}
    prefixed = ((entry, find_key(entry.key).listener) for entry in entries.values())
    return [
        f"{entry.source}: {entry.key}: {_why_nobody_reads(listener, names)}"
        for entry, listener in prefixed
        if listener is not None and listener not in names
    ]


def _check_indirect(raw: RawConfig, entries: Mapping[str, Entry]) -> None:
    """Reject values that a broker would get from a config provider, if it has any.

    Without providers a broker takes the reference as it stands, as a password for example.
    """
    providers = entries.get("config.providers")
    has_any = providers is not None and bool(providers.value.strip())
    reference = _INDIRECT if has_any else _USUAL_PROVIDERS
    for entry in entries.values():
        if reference.search(entry.value) and find_key(entry.key).key is not None:
            raw.problem_at(entry, "config providers are not supported: give the value itself")


def _settings(
    raw: RawConfig, static: tuple[Entry, ...], dynamic: DynamicValues, jaas: JaasFile
) -> Settings:
    listeners = listeners_of(raw, jaas)
    _check_together(raw)
    return Settings(
        values={key: raw[key] for key in KEYS.values()},
        listeners=listeners,
        inter_broker_listener_name=inter_broker_listener_of(raw, listeners),
        store=shared_store_of(raw),
        http=http_of(raw),
        originals={entry.key: entry.value for entry in raw.entries.values()},
        static=static,
        dynamic=dynamic,
        jaas_file=jaas,
    )


def _check_together(raw: RawConfig) -> None:
    """Record the problems of keys that need others."""
    if raw[ACKNOWLEDGE] == ACKNOWLEDGE_CLUSTERS and raw[CLUSTERS_FILE] is None:
        raw.problem(ACKNOWLEDGE, f"{ACKNOWLEDGE_CLUSTERS} needs {CLUSTERS_FILE}")
    if raw[TEST_BROKER] and raw[STORE] not in ("", EMBEDDED):
        text = "found true with a shared store; allowed: the embedded store, for one node alone"
        raw.problem(TEST_BROKER, text)


def _token_warnings(raw: RawConfig, settings: Settings) -> Iterator[str]:
    """Yield warnings about the secret of delegation tokens, one line each.

    Source: ``DelegationTokenManagerConfigs`` of Kafka 4.3.1, ``KafkaConfig`` of 3.9.1.
    """
    older = raw.entry(DELEGATION_TOKEN_MASTER_KEY)
    if older is not None:
        yield f"{older.source}: {older.key} is deprecated: use {DELEGATION_TOKEN_SECRET_KEY}"
    if not settings.token_secret:
        return
    offered = {
        mechanism.name for listener in settings.listeners for mechanism in listener.mechanisms
    }
    # Clients send tokens over SCRAM only (KIP-48).
    if not any(name.startswith("SCRAM-") for name in offered):
        yield (
            f"{DELEGATION_TOKEN_SECRET_KEY} is given, but no listener offers SCRAM: nobody can log"
            " in with a delegation token; add SCRAM-SHA-256 or SCRAM-SHA-512 to"
            " sasl.enabled.mechanisms"
        )


def _without_a_file(settings: Settings) -> str:
    """Return a line about the defaults without a file, unless overrides have replaced them."""
    text = "no configuration file is given"
    if "User:ANONYMOUS" not in [user.strip() for user in settings[SUPER_USERS].split(";")]:
        return text
    # Listeners with SASL have no anonymous clients, so the super user ANONYMOUS does not open them.
    open_to = [listener for listener in settings.listeners if not listener.authenticates]
    if not open_to:
        return text
    who = "on this machine" if all(map(_local, open_to)) else "who reaches this server"
    return f"{text}: everyone {who} is an administrator (super.users=User:ANONYMOUS)"


def _local(listener: Listener) -> bool:
    return listener.host in ("localhost", "::1") or listener.host.startswith("127.")
