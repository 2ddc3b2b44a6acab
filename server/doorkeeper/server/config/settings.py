"""The configuration as the server uses it: named, typed values.

The attribute of a single key has its name with underscores, without the prefix ``doorkeeper.``.
Keys of listeners, the audit log, the operations port and a shared store are grouped.
"""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.base.key import Applies
from doorkeeper.base.value import Value, hidden
from doorkeeper.base.values import KeyType, without_login
from doorkeeper.server.config.audit import AuditSettings
from doorkeeper.server.config.dynamic_values import DynamicValues
from doorkeeper.server.config.jaas_file import NO_FILE, JaasFile
from doorkeeper.server.config.kafka_dynamic_keys import DYNAMIC
from doorkeeper.server.config.kafka_keys import WITHOUT_EFFECT
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.naming import find_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.base.entry import Entry
    from doorkeeper.server.config.client_rules import ClientRule
    from doorkeeper.server.config.http import HttpSettings
    from doorkeeper.server.config.listeners import Listener
    from doorkeeper.server.config.shared_store import SharedStore


_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


class ConfigSource(IntEnum):
    """The source of a value; the codes are those of DescribeConfigs."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


# As on a broker, one of them is shown as the value of both.
SAME_ID = {"broker.id": "node.id", "node.id": "broker.id"}


class Synonym(NamedTuple):
    """A source of a value; the first of a list is in effect."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedKey(NamedTuple):
    """A key for DescribeConfigs. ``value`` is None if the key is sensitive."""

    name: str
    value: str | None
    type: KeyType
    source: ConfigSource
    read_only: bool
    sensitive: bool
    doc: str
    synonyms: tuple[Synonym, ...]


class Settings(Value):
    """All values. ``originals`` are the keys as given, for plug-ins; it contains secrets.

    ``given`` are the entries of the file and the overrides, ``dynamic`` the dynamic values over
    them; ``originals`` combines both. ``jaas_file`` is the content of the file. ``store`` is None
    for the embedded one, ``test_broker_memory_bytes`` None without a test broker. ``log_levels``
    are numbers of ``logging``, with 5 for TRACE.
    """

    node_id: int
    broker_rack: str | None
    listeners: tuple[Listener, ...]
    inter_broker_listener_name: str
    authorizer_class_name: str
    super_users: str
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
    kafka_release: str | None
    store_max_age_ms: int
    store_identity_file: Path | None
    broker_heartbeat_interval_ms: int
    broker_session_timeout_ms: int
    groups_file: Path | None
    clusters_file: Path | None
    acknowledge_clusters: bool
    change_log_retention_days: int
    update_timeout_ms: int
    update_waiting_max: int
    authorizer_slow_ms: int
    authorizer_updates_thread: bool
    authorizer_log_file: Path | None
    clients_withhold: tuple[ClientRule, ...]
    clients_answer_max_bytes: tuple[ClientRule, ...]
    clients_join_group: bool
    test_broker_memory_bytes: int | None
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
        """Return all entries by increasing precedence: the last one of a key is in effect."""
        return (*self.given, *self.dynamic.entries())

    @property
    def controller_listener_names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.listeners if each.controller)

    @property
    def early_start_listeners(self) -> frozenset[str]:
        """Return the names of the listeners that open before the authorizer has loaded."""
        return frozenset(each.name for each in self.listeners if each.early_start)

    def listener(self, name: str) -> Listener:
        """Return the listener with this name.

        Raises:
            KeyError: there is none.

        """
        for listener in self.listeners:
            if listener.name == name:
                return listener
        raise KeyError(name)

    def values_of(self, name: str) -> list[Synonym]:
        """Return the given values of a key, the one in effect first; without the default."""
        static = {entry.key: entry.value for entry in self.given}
        # broker.id and node.id are synonyms (KIP-631).
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

    def number(self, name: str) -> int:
        """Return a key's value as a number; its default where the given text is none."""
        texts = (*(each.value for each in self.values_of(name)), default_of(name))
        return next(int(text) for text in texts if text is not None and _WHOLE.fullmatch(text))

    def describe(self) -> list[DescribedKey]:
        """Return the keys of this node for DescribeConfigs, sorted by name.

        They are all keys with an effect, and all other given ones. As on a broker, an undeclared
        key is sensitive: ``super.users``, plug-ins' keys.
        """
        names = {key.name for key in KEYS.values() if key.declared}
        names |= self.originals.keys() | self.dynamic.shown_of_cluster.keys()
        return [self._describe(name) for name in sorted(names)]

    def describe_cluster(self) -> list[DescribedKey]:
        """Return the dynamic values of the whole cluster, sorted by name."""
        rows = []
        for name, value in sorted(self.dynamic.shown_of_cluster.items()):
            _, key_type, read_only, sensitive, doc = meaning_of(name)
            shown = None if sensitive else value.strip()
            source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            told = (read_only, sensitive, doc, (Synonym(name, shown, source),))
            rows.append(DescribedKey(name, shown, key_type, source, *told))
        return rows

    def _describe(self, name: str) -> DescribedKey:
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
    """Properties of a key for DescribeConfigs; ``base`` is the key without its prefix."""

    base: str
    type: KeyType
    read_only: bool
    sensitive: bool
    doc: str


def meaning_of(name: str) -> Meaning:
    """Return the properties of a key for DescribeConfigs; undeclared keys are sensitive."""
    if name in WITHOUT_EFFECT:
        key_type = KeyType[WITHOUT_EFFECT[name][0]]
        secret = key_type is KeyType.PASSWORD
        return Meaning(name, key_type, secret or name not in DYNAMIC, secret, "Has no effect here.")
    key = find_key(name).key
    if key is None:
        return Meaning(name, KeyType.UNKNOWN, True, True, "")
    read_only = name != key.name or key.applies is not Applies.DYNAMIC
    if not key.declared:
        return Meaning(name, KeyType.UNKNOWN, read_only, True, key.doc)
    if not key.ours:
        # A key that is dynamic here, but not in Kafka, is shown as in Kafka.
        read_only = read_only or name not in DYNAMIC
    return Meaning(key.name, key.type, read_only, key.sensitive, key.doc)


def default_of(name: str) -> str | None:
    """Return the default text of a declared key; None if there is none."""
    if name in WITHOUT_EFFECT:
        return WITHOUT_EFFECT[name][1]
    return KEYS[name].default if name in KEYS and KEYS[name].declared else None
