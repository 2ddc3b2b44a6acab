"""The configuration as the server uses it: values by key, and those made from several keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.entry import Entry
from doorkeeper.base.key import Applies, Key
from doorkeeper.base.values import KeyType, without_login
from doorkeeper.server.config.jaas_file import NO_FILE, JaasFile
from doorkeeper.server.config.kafka_keys import without_effect
from doorkeeper.server.config.keys import (
    BROKER_ID,
    DELEGATION_TOKEN_MASTER_KEY,
    DELEGATION_TOKEN_SECRET_KEY,
    KEYS,
    NODE_ID,
    TEST_BROKER,
    TEST_BROKER_MEMORY_BYTES,
)
from doorkeeper.server.config.naming import declaration_of, find_key

if TYPE_CHECKING:
    from doorkeeper.server.config.http import HttpSettings
    from doorkeeper.server.config.listeners import Listener
    from doorkeeper.server.config.shared_store import SharedStore

T = TypeVar("T")

_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


# The value of a new Kafka cluster (4.3.1) with eligible leader replicas; it can be changed, but not
# deleted.
OF_EVERY_CLUSTER: Final[Mapping[str, str]] = {"min.insync.replicas": "1"}

_SOURCES = {True: "the dynamic value of the cluster", False: "the dynamic value of this broker"}


class DynamicValues(NamedTuple):
    """Dynamic values by key: of this node, and of the whole cluster.

    The node's value precedes the cluster's, which precedes the file and the overrides, and those
    the default.

    Source: KIP-226; ``DynamicBrokerConfig`` (4.3.1).
    """

    broker: Mapping[str, str] = {}
    cluster: Mapping[str, str] = {}

    @property
    def shown_of_cluster(self) -> dict[str, str]:
        """Return the cluster's values for DescribeConfigs."""
        return {**OF_EVERY_CLUSTER, **self.cluster}

    def entries(self) -> Iterator[Entry]:
        """Yield the values as entries: the cluster's, then the node's."""
        for values, of_cluster in ((self.cluster, True), (self.broker, False)):
            for key, value in values.items():
                yield Entry(key, value, _SOURCES[of_cluster])

    def without(self, keys: Iterable[str]) -> DynamicValues:
        left_out = frozenset(keys)
        return DynamicValues(*({k: v for k, v in m.items() if k not in left_out} for m in self))


def is_dynamic_source(source: str) -> bool:
    """Return whether the source of a problem is a dynamic value."""
    return source in _SOURCES.values()


class ConfigSource(IntEnum):
    """The source of a value; the codes are those of DescribeConfigs."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


# As on a broker, one of them is shown as the value of both.
SAME_ID = {BROKER_ID.name: NODE_ID.name, NODE_ID.name: BROKER_ID.name}


class Synonym(Struct, frozen=True):
    """A source of a value; the first of a list is in effect."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedKey(Struct, frozen=True):
    """A key for DescribeConfigs. ``value`` is None if the key is sensitive.

    ``type`` is None for the level of a logger.
    """

    name: str
    value: str | None
    type: KeyType | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    doc: str
    synonyms: tuple[Synonym, ...]


class Settings(Struct, frozen=True, kw_only=True):
    """All values: ``settings[KEY]`` is that of a key, and the fields are made from several.

    ``originals`` are the keys as given, for plug-ins; it contains secrets. ``static`` are the
    entries of the file and the overrides, ``dynamic`` the dynamic values over them; ``originals``
    combines both. ``jaas_file`` is the content of the file. ``store`` is None for the embedded one.
    """

    values: Mapping[Key[object], Any]
    listeners: tuple[Listener, ...]
    inter_broker_listener_name: str
    store: SharedStore | None
    http: HttpSettings | None
    originals: Mapping[str, str]
    static: tuple[Entry, ...] = ()
    dynamic: DynamicValues = DynamicValues()
    jaas_file: JaasFile = NO_FILE

    def __repr__(self) -> str:
        return f"Settings(listeners={self.listeners!r}, store={self.store!r}, http={self.http!r})"

    def __getitem__(self, key: Key[T]) -> T:
        """Return the value of a key on the server."""
        value: T = self.values[key]
        return value

    @property
    def node_id(self) -> int:
        named, older = self[NODE_ID], self[BROKER_ID]
        return named if named is not None else older if older >= 0 else 1

    @property
    def token_secret(self) -> str:
        """Return the secret of delegation tokens; empty without one."""
        secret = self[DELEGATION_TOKEN_SECRET_KEY]
        return (self[DELEGATION_TOKEN_MASTER_KEY] if secret is None else secret) or ""

    @property
    def test_broker_memory_bytes(self) -> int | None:
        """Return the bound on the records of the test broker; None without one."""
        return self[TEST_BROKER_MEMORY_BYTES] if self[TEST_BROKER] else None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all entries by increasing precedence: the last one of a key is in effect."""
        return (*self.static, *self.dynamic.entries())

    @property
    def controller_listener_names(self) -> frozenset[str]:
        return frozenset(listener.name for listener in self.listeners if listener.controller)

    @property
    def early_start_listeners(self) -> frozenset[str]:
        """Return the names of the listeners that open before the authorizer has loaded."""
        return frozenset(listener.name for listener in self.listeners if listener.early_start)

    def values_of(self, name: str) -> list[Synonym]:
        """Return the given values of a key, the one in effect first; without the default."""
        static = {entry.key: entry.value for entry in self.static}
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
        texts = (*(value.value for value in self.values_of(name)), default_of(name))
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
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        values = sorted(self.dynamic.shown_of_cluster.items())
        return [_described(name, [Synonym(name, value.strip(), source)]) for name, value in values]

    def _describe(self, name: str) -> DescribedKey:
        base = meaning_of(name).base
        synonyms = self.values_of(name)
        if base != name:
            synonyms += self.values_of(base)
        default = str(self.node_id) if name == NODE_ID.name else default_of(base)
        if default is not None:
            synonyms.append(Synonym(base, default, ConfigSource.DEFAULT_CONFIG))
        return _described(name, synonyms)


def _described(name: str, synonyms: Iterable[Synonym]) -> DescribedKey:
    """Return a key with the sources of its value, without secrets."""
    meaning = meaning_of(name)
    shown = tuple(
        replace(synonym, value=None if meaning.sensitive else without_login(synonym.value))
        for synonym in synonyms
    )
    first = shown[0] if shown else Synonym(name, None, ConfigSource.DEFAULT_CONFIG)
    return DescribedKey(
        name,
        first.value,
        meaning.type,
        first.source,
        meaning.read_only,
        meaning.sensitive,
        meaning.doc,
        shown,
    )


class Meaning(Struct, frozen=True):
    """Properties of a key for DescribeConfigs; ``base`` is the key without its prefix."""

    base: str
    type: KeyType
    read_only: bool
    sensitive: bool
    doc: str


def meaning_of(name: str) -> Meaning:
    """Return the properties of a key for DescribeConfigs; undeclared keys are sensitive."""
    key = without_effect().get(name)
    if key is not None:
        return Meaning(name, key.type, key.sensitive or not key.in_kafka, key.sensitive, key.doc)
    key = find_key(name).key
    if key is None:
        return Meaning(name, KeyType.UNKNOWN, True, True, "")
    # A key that is dynamic here, but not in Kafka, is shown as in Kafka.
    fixed_in_kafka = key.declared and not key.ours and not key.in_kafka
    read_only = name != key.name or key.applies is not Applies.DYNAMIC or fixed_in_kafka
    key_type = key.type if key.declared else KeyType.UNKNOWN
    return Meaning(key.name, key_type, read_only, key.sensitive, key.doc)


def default_of(name: str) -> str | None:
    """Return the default text of a declared key; None if there is none."""
    key = declaration_of(name)
    return key.default if key is not None and key.declared else None
