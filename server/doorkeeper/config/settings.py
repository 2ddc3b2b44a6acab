"""The configuration as the server reads it: values with names and types.

An attribute is named as its key, with underscores; ours lose ``doorkeeper.``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.kafka_keys import WITHOUT_EFFECT
from doorkeeper.config.keys import KEYS
from doorkeeper.config.naming import named
from doorkeeper.config.values import KeyType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from doorkeeper.config.listeners import Listener


class ConfigSource(IntEnum):
    """Where a value comes from; the codes are those of DescribeConfigs."""

    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All values. ``originals`` are the keys as given, for plug-ins; it holds secrets.

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
    max_request_partition_size_limit: int
    data_dir: Path
    store: str
    catalog_file: Path | None
    change_log_retention_days: int
    update_timeout_ms: int
    update_waiting_max: int
    authorizer_slow_ms: int
    shutdown_drain_ms: int
    log_format: str
    log_levels: Mapping[str, int]
    originals: Mapping[str, str] = field(repr=False)

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

    def described(self) -> list[DescribedKey]:
        """Return what DescribeConfigs tells of this node, sorted by name.

        These are all keys that have an effect, and the others that were given. As on a broker,
        a key that is not declared is sensitive: ``super.users``, prefixed keys, plug-ins' keys.
        """
        return sorted(_described(self))


def _described(settings: Settings) -> Iterator[DescribedKey]:
    for key in KEYS.values():
        if key.declared:
            default = str(settings.node_id) if key.name == "node.id" else key.default
            given = settings.originals.get(key.name)
            yield _row(key.name, key.type, given, default, key.doc)
    for name, given in settings.originals.items():
        if name in WITHOUT_EFFECT:
            type_name, default = WITHOUT_EFFECT[name]
            yield _row(name, KeyType[type_name], given, default, "Has no effect here.")
        elif name not in KEYS or not KEYS[name].declared:
            key_of = named(name).key
            yield _row(name, KeyType.UNKNOWN, given, None, "" if key_of is None else key_of.doc)


def _row(
    name: str, key_type: KeyType, given: str | None, default: str | None, doc: str
) -> DescribedKey:
    sensitive = key_type in (KeyType.PASSWORD, KeyType.UNKNOWN)
    synonyms = []
    if given is not None:
        shown = None if sensitive else given.strip()
        synonyms.append(Synonym(name, shown, ConfigSource.STATIC_BROKER_CONFIG))
    if default is not None:
        shown = None if sensitive else default
        synonyms.append(Synonym(name, shown, ConfigSource.DEFAULT_CONFIG))
    first = synonyms[0] if synonyms else Synonym(name, None, ConfigSource.DEFAULT_CONFIG)
    return DescribedKey(
        name=name,
        value=first.value,
        type=key_type,
        source=first.source,
        read_only=True,
        sensitive=sensitive,
        doc=doc,
        synonyms=tuple(synonyms),
    )
