"""The configuration as the server reads it: values with names and types.

An attribute is named as its key, with underscores; ours lose ``doorkeeper.``.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.audit import AuditSettings
from doorkeeper.config.dynamic_values import DynamicValues
from doorkeeper.config.jaas_file import NO_FILE, JaasFile
from doorkeeper.config.kafka_dynamic_keys import DYNAMIC
from doorkeeper.config.kafka_keys import WITHOUT_EFFECT
from doorkeeper.config.key import Applies
from doorkeeper.config.keys import KEYS
from doorkeeper.config.naming import named
from doorkeeper.config.values import KeyType, without_login
from doorkeeper.value import Value, hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.config.client_rules import ClientRule
    from doorkeeper.config.entry import Entry
    from doorkeeper.config.http import HttpSettings
    from doorkeeper.config.listeners import Listener
    from doorkeeper.config.shared_store import SharedStore


class ConfigSource(IntEnum):
    """Where a value comes from; the codes are those of DescribeConfigs."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


SAME_ID = {"broker.id": "node.id", "node.id": "broker.id"}
"""Either of them, given alone, is shown as the value of both, as on a broker."""


class Synonym(NamedTuple):
    """One of the places that could give a value; the first of a list is the one that does."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedKey(NamedTuple):
    """A key as DescribeConfigs tells of it. ``value`` is None where the key is sensitive."""

    name: str
    value: str | None
    type: KeyType
    source: ConfigSource
    read_only: bool
    sensitive: bool
    doc: str
    synonyms: tuple[Synonym, ...]


class Settings(Value):
    """All values. ``originals`` are the keys as given, for plug-ins; it holds secrets.

    ``given`` are the entries of the file and the overrides, ``dynamic`` what was given over them
    while the server runs; in ``originals`` both are one. ``jaas_file`` is the file as it was read.

    ``store`` is None where it is the embedded one.

    Times are in milliseconds where the name ends so. ``log_levels`` are numbers as in
    ``logging``, TRACE being 5.
    """

    node_id: int
    broker_rack: str | None
    listeners: tuple[Listener, ...]
    inter_broker_listener_name: str
    authorizer_class_name: str
    super_users: str
    allow_everyone_if_no_acl_found: bool
    connection_failed_authentication_delay_ms: int
    max_connections: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: Mapping[str, int]
    connections_max_idle_ms: int
    socket_request_max_bytes: int
    socket_listen_backlog_size: int
    sasl_server_max_receive_size: int
    auto_create_topics_enable: bool
    num_partitions: int
    default_replication_factor: int
    delete_topic_enable: bool
    delegation_token_secret_key: str = hidden()
    delegation_token_max_lifetime_ms: int
    delegation_token_expiry_time_ms: int
    delegation_token_expiry_check_interval_ms: int
    max_request_partition_size_limit: int
    data_dir: Path
    store: SharedStore | None
    store_create: bool
    store_max_age_ms: int
    store_identity_file: Path | None
    broker_heartbeat_interval_ms: int
    broker_session_timeout_ms: int
    catalog_file: Path | None
    change_log_retention_days: int
    update_timeout_ms: int
    update_waiting_max: int
    authorizer_slow_ms: int
    authorizer_log_file: Path | None
    clients_withhold: tuple[ClientRule, ...]
    clients_answer_max_bytes: tuple[ClientRule, ...]
    clients_join_group: bool
    shutdown_drain_ms: int
    http: HttpSettings | None
    log_format: str
    log_levels: Mapping[str, int]
    originals: Mapping[str, str] = hidden()
    audit: AuditSettings = AuditSettings()
    given: tuple[Entry, ...] = hidden(default=())
    dynamic: DynamicValues = hidden(default=DynamicValues())
    jaas_file: JaasFile = hidden(default=NO_FILE)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return what is given, in the order in which it counts: the last of a key does."""
        return (*self.given, *self.dynamic.entries())

    @property
    def controller_listener_names(self) -> frozenset[str]:
        """Return the names of the listeners that answer as a controller."""
        return frozenset(each.name for each in self.listeners if each.controller)

    @property
    def early_start_listeners(self) -> frozenset[str]:
        """Return the names of the listeners that open before the authorizer has loaded."""
        return frozenset(each.name for each in self.listeners if each.early_start)

    def listener(self, name: str) -> Listener:
        """Return the listener of this name.

        Raises:
            KeyError: there is none.

        """
        for listener in self.listeners:
            if listener.name == name:
                return listener
        raise KeyError(name)

    def values_of(self, name: str) -> list[Synonym]:
        """Return what is given for a key, the value that counts first; not its default."""
        static = {entry.key: entry.value for entry in self.given}
        twin = SAME_ID.get(name)
        if twin in static:
            static.setdefault(name, static[twin])
        return [
            Synonym(name, values[name].strip(), source)
            for values, source in (
                (self.dynamic.broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
                (self.dynamic.shown_of_cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
                (static, ConfigSource.STATIC_BROKER_CONFIG),
            )
            if name in values
        ]

    def described(self) -> list[DescribedKey]:
        """Return what DescribeConfigs tells of this node, sorted by name.

        These are all keys that have an effect, and the others that were given. As on a broker,
        a key that is not declared is sensitive: ``super.users``, plug-ins' keys.
        """
        names = {key.name for key in KEYS.values() if key.declared}
        names |= self.originals.keys() | self.dynamic.shown_of_cluster.keys()
        return [self._described(name) for name in sorted(names)]

    def described_of_cluster(self) -> list[DescribedKey]:
        """Return the dynamic values of the cluster as a whole, sorted by name."""
        rows = []
        for name, value in sorted(self.dynamic.shown_of_cluster.items()):
            _, key_type, read_only, sensitive, doc = meaning_of(name)
            shown = None if sensitive else value.strip()
            source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            told = (read_only, sensitive, doc, (Synonym(name, shown, source),))
            rows.append(DescribedKey(name, shown, key_type, source, *told))
        return rows

    def _described(self, name: str) -> DescribedKey:
        base, key_type, read_only, sensitive, doc = meaning_of(name)
        synonyms = self.values_of(name)
        if base != name:
            synonyms += self.values_of(base)
        default = str(self.node_id) if name == "node.id" else default_of(base)
        if default is not None:
            synonyms.append(Synonym(base, default, ConfigSource.DEFAULT_CONFIG))
        synonyms = [
            each._replace(value=None if sensitive else without_login(each.value))
            for each in synonyms
        ]
        first = synonyms[0] if synonyms else Synonym(name, None, ConfigSource.DEFAULT_CONFIG)
        return DescribedKey(
            name=name,
            value=first.value,
            type=key_type,
            source=first.source,
            read_only=read_only,
            sensitive=sensitive,
            doc=doc,
            synonyms=tuple(synonyms),
        )


class Meaning(NamedTuple):
    """What a name means: the key without its prefix, and how it is told."""

    base: str
    type: KeyType
    read_only: bool
    sensitive: bool
    doc: str


def meaning_of(name: str) -> Meaning:
    """Return how DescribeConfigs tells of a key; one that nobody declares is sensitive."""
    if name in WITHOUT_EFFECT:
        key_type = KeyType[WITHOUT_EFFECT[name][0]]
        secret = key_type is KeyType.PASSWORD
        return Meaning(name, key_type, secret or name not in DYNAMIC, secret, "Has no effect here.")
    key = named(name).key
    if key is None:
        return Meaning(name, KeyType.UNKNOWN, True, True, "")
    read_only = name != key.name or key.applies is not Applies.DYNAMIC
    if not key.declared:
        return Meaning(name, KeyType.UNKNOWN, read_only, True, key.doc)
    if not key.ours:
        read_only = read_only or name not in DYNAMIC
    return Meaning(key.name, key.type, read_only, key.sensitive, key.doc)


def default_of(name: str) -> str | None:
    """Return the text that stands for a declared key which nobody gives; None if there is none."""
    if name in WITHOUT_EFFECT:
        return WITHOUT_EFFECT[name][1]
    return KEYS[name].default if name in KEYS and KEYS[name].declared else None
