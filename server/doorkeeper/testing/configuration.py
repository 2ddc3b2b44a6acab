"""Converts the options of a test to the keys of a server and its initial state."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct

from doorkeeper.acls.model import AclBinding
from doorkeeper.base.credentials import DIGESTS, credential_of
from doorkeeper.base.values import NotAllowed
from doorkeeper.server.config.kafka_versions import TEST_API_VERSIONS
from doorkeeper.server.config.store_keys import KAFKA_RELEASE
from doorkeeper.server.schema.acls import BindingIds, StoredBinding
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import ACL, CREDENTIAL, TOPIC, StoredCredential, StoredTopic
from doorkeeper.server.schema.features import LEVELS, OLDEST
from doorkeeper.testing.acl_options import bindings_of
from doorkeeper.testing.options import Options, Topics

T = TypeVar("T")

LISTENERS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "MTLS": "SSL",
}
"""The available listeners and their protocols; MTLS requires a client certificate."""

CONTROL: Final = "TESTING"
"""The additional listener of a process, on which the test reads and changes its ACLs."""

_SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": _SCRAM_MODULE,
    "SCRAM-SHA-512": _SCRAM_MODULE,
}
"""The available mechanisms, and the login module of each."""

MECHANISMS: Final = tuple(MODULES)
ADMIN: Final = "admin"
ADMIN_PASSWORD: Final = "admin-secret"  # noqa: S105  known to every test

_ADMINISTRATORS = {
    "PLAINTEXT": "User:ANONYMOUS",
    "SSL": "User:ANONYMOUS",
    "SASL_PLAINTEXT": f"User:{ADMIN}",
    "SASL_SSL": f"User:{ADMIN}",
    "MTLS": f"User:CN={ADMIN}",
}
_SCRAM_ITERATIONS = 4096
_STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_LEARNING = "doorkeeper.cli.learn.authorizer.LearningAuthorizer"
_TOPIC_WORDS = {"replication_factor": "replicationFactor"}
"""Words of the option ``topics`` that files of ACLs spell in another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Complete and valid options."""

    users: Mapping[str, str] = field(repr=False)
    bindings: tuple[AclBinding, ...]
    super_users: tuple[str, ...]
    principals: tuple[str, ...]
    allow_everyone: bool
    topics: tuple[Mapping[str, Any], ...]
    listeners: tuple[str, ...]
    mechanisms: tuple[str, ...]
    records: bool
    learn: bool
    kafka: str
    properties: Mapping[str, str] = field(repr=False)

    @property
    def has_users(self) -> bool:
        """Return whether the test has users of its own."""
        return len(self.users) > 1

    @property
    def authenticates(self) -> bool:
        """Return whether a listener has SASL."""
        return any(name.startswith("SASL") for name in self.listeners)

    @property
    def encrypts(self) -> bool:
        """Return whether a listener has TLS."""
        return any(LISTENERS[name].endswith("SSL") for name in self.listeners)


class Beginning(Struct, frozen=True):
    """What a process begins with, in JSON; without a configuration its store is there."""

    keys: Mapping[str, str]
    configuration: Configuration | None


def configuration_of(options: Options) -> Configuration:
    """Validate options and add defaults.

    Raises:
        ValueError: a listener or mechanism is unknown; a record or file of ACLs is wrong; there are
            users but no listener with SASL; a topic cannot be; a list is a single text; a release
            of Kafka is unknown; a switch is not a boolean; a key or its value is not a text.
        TypeError: an option is unknown.
    """
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        allowed = ", ".join(Options.__annotations__)
        raise TypeError(f"unknown option: {', '.join(unknown)}; allowed: {allowed}")
    users = users_of(options.get("users", {}))
    usual = ("SASL_PLAINTEXT",) if users else ("PLAINTEXT",)
    listeners = _out_of(LISTENERS, options.get("listeners", usual), "listener")
    mechanisms = _out_of(MECHANISMS, options.get("mechanisms", MECHANISMS), "mechanism")
    administrators = dict.fromkeys(_ADMINISTRATORS[name] for name in listeners)
    config = Configuration(
        users={ADMIN: ADMIN_PASSWORD, **users},
        bindings=tuple(bindings_of(options.get("acls", ()))),
        super_users=_several(options.get("super_users", administrators), "super_users"),
        principals=_several(options.get("principals", ()), "principals"),
        allow_everyone=_switch(options, "allow_everyone"),
        topics=_entries(options.get("topics", ()), "topics", "name", "partitions"),
        listeners=listeners,
        mechanisms=mechanisms,
        records=_switch(options, "records"),
        learn=_switch(options, "learn"),
        kafka=_versions_of(options.get("kafka", "")),
        properties=_properties(options.get("properties", {})),
    )
    stored_topics(config)
    if users and not config.authenticates:
        names = ", ".join(listeners)
        raise ValueError(f"users cannot log in: found only {names}; expected: a listener with SASL")
    return config


def _switch(options: Options, name: Literal["allow_everyone", "records", "learn"]) -> bool:
    """Return a switch; a text is none, since each that is not empty would switch it on."""
    switch: object = options.get(name, False)
    if not isinstance(switch, bool):
        raise ValueError(f"{name}: found {switch!r}; allowed: True, False")
    return switch


def _properties(properties: object) -> dict[str, str]:
    if not isinstance(properties, Mapping):
        raise ValueError(f"properties: found a {type(properties).__name__}; allowed: values by key")
    for key, value in properties.items():
        wrong = [part for part in (key, value) if not isinstance(part, str)]
        if wrong:
            # Without the value: it may be a password.
            kind = type(wrong[0]).__name__
            text = f"properties: {key!r}: expected strings, as in server.properties; found: {kind}"
            raise ValueError(text)
    return dict(properties)


def keys_of(config: Configuration, *, tls: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of server.properties; those of the test come last.

    ``tls`` are the keys of the stores, empty if no listener uses TLS.
    """
    keys = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in config.listeners),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in LISTENERS.items()
        ),
        "inter.broker.listener.name": config.listeners[0],
        "authorizer.class.name": _LEARNING if config.learn else _STANDARD,
        "super.users": ";".join(config.super_users),
        "allow.everyone.if.no.acl.found": str(config.allow_everyone).lower(),
        # A failed login is reported at once, and the stop hardly waits for clients.
        "connection.failed.authentication.delay.ms": "0",
        "doorkeeper.shutdown.drain.ms": "200",
        **tls,
    }
    if config.records:
        keys["doorkeeper.test.broker"] = "true"
    keys |= _release_keys(config.kafka)
    if config.authenticates:
        keys["sasl.enabled.mechanisms"] = ",".join(config.mechanisms)
        keys["sasl.mechanism.inter.broker.protocol"] = config.mechanisms[0]
    for name in config.listeners:
        prefix = f"listener.name.{name.lower()}"
        if name.startswith("SASL"):
            for mechanism in config.mechanisms:
                keys[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = _jaas(config, mechanism)
        if LISTENERS[name].endswith("SSL"):
            keys[f"{prefix}.ssl.client.auth"] = "required" if name == "MTLS" else "none"
    return {**keys, **config.properties}


def _release_keys(kafka: str) -> dict[str, str]:
    """Return the keys of a server that clients take for a release of Kafka."""
    if not kafka:
        return {}
    release = TEST_API_VERSIONS.parse(kafka).release
    # The store follows the same rules: of the releases that it can follow, the nearest.
    rules = {KAFKA_RELEASE.name: release if release in LEVELS else OLDEST} if release else {}
    return {TEST_API_VERSIONS.name: kafka, **rules}


def initial_change(config: Configuration, credentials: Iterable[StoredCredential]) -> Change:
    """Return the change that fills an empty store with the initial state."""
    new = dict.fromkeys(config.bindings)
    bindings = list(map(StoredBinding, BindingIds()(len(new)), new))
    return {
        **edit(ACL, set=bindings),
        **edit(TOPIC, set=stored_topics(config)),
        **edit(CREDENTIAL, set=credentials),
    }


def credentials_of(config: Configuration) -> list[StoredCredential]:
    """Return the SCRAM credentials of all users; costs a few milliseconds for each."""
    if not config.authenticates:
        return []

    return [
        StoredCredential(
            user,
            mechanism,
            *credential_of(mechanism, password, _SCRAM_ITERATIONS, os.urandom(16)),
        )
        for user, password in config.users.items()
        for mechanism in config.mechanisms
        if mechanism in DIGESTS
    ]


def stored_topics(config: Configuration) -> list[StoredTopic]:
    """Return the rows of the topics.

    Raises:
        ValueError: one of them cannot be.
    """
    if not config.topics:
        return []
    from doorkeeper.acls.formats.entities import entities_of  # noqa: PLC0415
    from doorkeeper.server.resources.topics.creation import (  # noqa: PLC0415
        PARTITIONS_PER_REQUEST_MAX,
    )
    from doorkeeper.server.resources.topics.initial import initial_topics  # noqa: PLC0415

    rows = [{_TOPIC_WORDS.get(key, key): topic[key] for key in topic} for topic in config.topics]
    topics = initial_topics(entities_of({"topics": rows}, str).entities, os.urandom)
    for topic in topics:
        # More cost memory before the first request.
        if topic.partitions > PARTITIONS_PER_REQUEST_MAX:
            raise ValueError(
                f"topic {topic.name}: found {topic.partitions} partitions; allowed: 1 to"
                f" {PARTITIONS_PER_REQUEST_MAX}, as in CreateTopics"
            )
    return topics


def _versions_of(kafka: object) -> str:
    """Return the option ``kafka`` as it was given.

    Raises:
        ValueError: it is no text, or names no release or API.
    """
    if not isinstance(kafka, str):
        raise ValueError(f'kafka: found {kafka!r}; expected: a string such as "2.8"')
    try:
        TEST_API_VERSIONS.parse(kafka)
    except NotAllowed as error:
        raise ValueError(f"kafka: found {', '.join(error.elements)!r}; allowed: {error}") from None
    return kafka


def _jaas(config: Configuration, mechanism: str) -> str:
    if mechanism != "PLAIN":
        return f"{_SCRAM_MODULE} required;"
    words = (f"{_word(f'user_{user}')}={quote(p)}" for user, p in config.users.items())
    return f"{MODULES['PLAIN']} required {' '.join(words)};"


def _word(text: str) -> str:
    # The words of JAAS that need no quotes.
    return text if re.fullmatch("[A-Za-z0-9_$-]+", text) else quote(text)


def quote(text: str) -> str:
    """Return a value of JAAS in quotation marks."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _out_of(allowed: Iterable[str], names: Iterable[str], what: str) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in allowed:
            raise ValueError(f"{what}: found {name!r}; allowed: {', '.join(allowed)}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{what}s: found {', '.join(names)!r}; allowed: one or more, each once")
    return names


def _entries(values: Topics, what: str, name: str, number: str) -> tuple[Mapping[str, Any], ...]:
    """Return entries as mappings; ``number`` is the field for a bare number."""
    if isinstance(values, Mapping):
        return tuple(
            {name: key, **(value if isinstance(value, Mapping) else {number: value})}
            for key, value in values.items()
        )
    return tuple(
        entry if isinstance(entry, Mapping) else {name: entry} for entry in _several(values, what)
    )


def _several(values: Iterable[T], what: str) -> tuple[T, ...]:
    """Return the values as a tuple; a single text is an error, not a list of letters."""
    if isinstance(values, str):
        raise ValueError(f"{what}: found {values!r}; expected: a list, as [{values!r}]")
    return tuple(values)


def users_of(users: object) -> dict[str, str]:
    """Return passwords by name.

    Raises:
        ValueError: a name or password is not a text; a line of a file is not ``name=password``, or
            repeats a name.
        OSError: the file cannot be read.
    """
    if isinstance(users, (str, Path)):
        path = Path(users)
        return users_of(_of_lines(path.read_text(encoding="utf-8-sig").splitlines(), path.name))
    if not isinstance(users, Mapping):
        kind = type(users).__name__
        text = f"users: found a {kind}; allowed: passwords by name, or a file"
        raise ValueError(text)
    for name, password in users.items():
        if isinstance(name, str) and name.upper() in MECHANISMS:
            text = (
                f"users: {name!r} is a mechanism, as in kafka-configs.sh; expected: name and"
                f" password, with {name.upper()} in mechanisms"
            )
            raise ValueError(text)
        if not isinstance(name, str) or not isinstance(password, str):
            # Without the value: it may be a password without quotes.
            text = f"users: {name!r}: expected strings, a name and a password"
            raise ValueError(text)
        if not name or not password:
            # Neither PLAIN nor SCRAM lets an empty one in.
            text = f"users: {name!r}: the {'password' if name else 'name'} is empty"
            raise ValueError(text)
    return dict(users)


def _of_lines(lines: Iterable[str], name: str) -> dict[str, str]:
    passwords: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        user, sign, password = (part.strip() for part in line.partition("="))
        if not sign:
            # Without the line: it may be a password.
            raise ValueError(f"users: {name} line {number}: expected name=password")
        if user in passwords:
            raise ValueError(f"users: {name} line {number}: duplicate user {user!r}")
        passwords[user] = password
    return passwords
