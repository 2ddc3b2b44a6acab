"""The file of clusters: ``doorkeeper.clusters.file``.

``docs/how-to/clusters.md`` is its reference, ``examples/clusters.yaml`` a complete one,
``schemas/records/clusters.json`` its JSON schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct

from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.owned_parts import WORDS, owned_parts
from doorkeeper.acls.live_changes import OVERRIDES, RemovalLimits, Rule
from doorkeeper.acls.plan import EVERYTHING, Selector, SelectorUnion
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.properties import CommandConfigError, client_config_of
from doorkeeper.sync.document import YamlValue, read

ALL: Final = "everything"
"""The scope of a cluster whose ACLs all belong to Doorkeeper."""

_REQUIRED: Final = ("name", "bootstrap", "scope")
_STORE_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SECRET_KEY: Final = re.compile(r".*\.password|ssl\.keystore\.key|.*\.secret")
_SECRET_OPTION: Final = re.compile(r"""(?:password|secret)\s*=(?!\s*["']?\$\{)""", re.IGNORECASE)

_DAY_MS: Final = 86_400_000
_MANY: Final = 1_000_000_000
_REQUEST_ACLS_MAX: Final = 10_000
"""The most ACLs that a controller takes in one request."""


ACCEPTED: Final = tuple(rule.value for rule in OVERRIDES)
"""The words of ``accept``; another owner is not accepted, but written as ``store``."""

C = TypeVar("C", bound=Enum)


class Mode(Enum):
    """Whether differences of a cluster are only reported, or removed."""

    OBSERVE = "observe"
    ENFORCE = "enforce"


class Foreign(Enum):
    """The treatment of changes within the scope that others made."""

    REVERT = "revert"
    REPORT = "report"


class EnforcementLimits(Struct, frozen=True):
    """The limits of enforcement; ``per_second`` is in ACLs, 0 for no limit."""

    removals: RemovalLimits = RemovalLimits()
    per_second: int = 0
    batch: int = 1_000


class ClusterConfig(Struct, frozen=True):
    """A cluster of the file. ``properties`` are as written: variables are not resolved."""

    name: str
    bootstrap: str
    properties: Mapping[str, str]
    scope: SelectorUnion
    mode: Mode = Mode.OBSERVE
    order: int = 0
    foreign: Foreign = Foreign.REVERT
    interval_s: float = 10.0
    limits: EnforcementLimits = EnforcementLimits()
    controllers: str = ""
    """Addresses of controllers, whose log is followed; empty to poll."""
    store: str = ""
    """The id of the store that the cluster belongs to; empty for none."""
    accepted: frozenset[Rule] = frozenset()
    """The rules of changes that do not hold for this cluster."""

    @property
    def is_enforced(self) -> bool:
        return self.mode is Mode.ENFORCE

    def refusal_of(self, store_id: str) -> str:
        """Return why a store may not change the cluster; empty if it may."""
        if self.store == store_id:
            return ""
        owner = f"store {self.store}" if self.store else "no store"
        return (
            f"the cluster belongs to {owner}, and this is store {store_id}: nothing is changed"
            f" until its entry has store: {store_id} (see doorkeeper clusters adopt)"
        )

    def client_config(self) -> ClientConfig:
        """Resolve the secrets, and return the configuration of a client."""
        return client_config_of(self.bootstrap, self.properties)


def load(path: Path) -> tuple[ClusterConfig, ...]:
    """Load and validate a file of clusters.

    Raises:
        StartError: with all faults of the file.
    """
    document = read(path)
    if document.is_null():
        document.fault("is empty; expected: clusters:")
        document.faults.raise_any()
    fields = document.fields(("clusters",), ("clusters",))
    items = fields["clusters"].items() if "clusters" in fields else []
    clusters = [(cluster, item) for item in items if (cluster := _cluster(item)) is not None]
    _check_together(clusters)
    document.faults.raise_any()
    return tuple(cluster for cluster, _ in clusters)


def _cluster(value: YamlValue) -> ClusterConfig | None:
    fields = value.fields(tuple(_READERS), _REQUIRED)
    values = {
        attribute: read
        for key, (attribute, reader) in _READERS.items()
        if key in fields and (read := reader(fields[key])) is not None
    }
    if "bootstrap" in values and "properties" in values:
        _check_client(values["bootstrap"], values["properties"], fields["properties"])
    if not values.keys() >= set(_REQUIRED):
        return None
    return ClusterConfig(**{"properties": {}, **values})


def _name(value: YamlValue) -> str | None:
    name = value.text()
    if name is not None and not _NAME.fullmatch(name):
        value.fault(f"found {name!r}; allowed: letters, digits, dots, _ and -")
    return name


def _addresses(value: YamlValue) -> str | None:
    text = value.text()
    if text is None:
        return None
    try:
        addresses = ClientConfig(bootstrap=text).addresses()
    except ValueError as error:
        value.fault(str(error))
        return None
    if not addresses:
        value.fault("has no address; expected: host:port, comma-separated")
        return None
    return text


def _interval_s(value: YamlValue) -> float | None:
    interval_ms = value.number(100, _DAY_MS)
    return None if interval_ms is None else interval_ms / 1000


def _properties(value: YamlValue) -> dict[str, str]:
    """Return the properties of a Java client; secrets must be variables."""
    properties = {}
    for key, entry in value.entries().items():
        text = entry.scalar()
        if text is None:
            continue
        is_secret = _SECRET_KEY.fullmatch(key) and "${" not in text
        if is_secret or (key == "sasl.jaas.config" and _SECRET_OPTION.search(text)):
            entry.fault(
                "a secret is given by reference, such as ${file:/run/secrets/kafka:password}"
                " with config.providers"
            )
        properties[key] = text.strip()
    return properties


def _check_client(bootstrap: str, properties: Mapping[str, str], value: YamlValue) -> None:
    try:
        client_config_of(bootstrap, properties)
    except (CommandConfigError, ValueError, OSError) as error:
        key = str(error).partition(":")[0]
        value.entries().get(key, value).fault(str(error).removeprefix(f"{key}: "))


def _scope(value: YamlValue) -> SelectorUnion | None:
    """Return the owned part: the words of ``owns`` in files of ACLs, or ``everything``."""
    if value.is_text():
        if value.scalar() == ALL:
            return SelectorUnion((EVERYTHING,))
        value.fault(f"expected {ALL}, or a mapping with {', '.join(WORDS)}")
        return None
    parts = value.items() if value.is_list() else [value]
    if not parts:
        value.fault(f"is empty; expected: {ALL}, or a mapping with {', '.join(WORDS)}")
    selectors = [_part(part) for part in parts]
    return SelectorUnion(tuple(selector for selector in selectors if selector is not None))


def _part(value: YamlValue) -> Selector | None:
    words = {
        word: [text for item in _one_or_more(field) if (text := item.text()) is not None]
        for word, field in value.fields(WORDS).items()
    }
    try:
        (owned,) = owned_parts(words, lambda text: text)
    except FormatError as error:
        value.fault(str(error).removeprefix("owns: "))
        return None
    return owned.selector


def _one_or_more(value: YamlValue) -> list[YamlValue]:
    return value.items() if value.is_list() else [value]


def _choice(words: type[C], value: YamlValue) -> C | None:
    text = value.text()
    allowed = [word.value for word in words]
    if text is not None and text not in allowed:
        value.fault(f"found {text!r}; allowed: {', '.join(allowed)}")
    return words(text) if text in allowed else None


def _limits(value: YamlValue) -> EnforcementLimits:
    fields = value.fields(("max.removals", "max.removals.share", "rate", "batch"))

    def number(key: str, default: int, low: int = 0, high: int = _MANY) -> int:
        read = fields[key].number(low, high) if key in fields else None
        return default if read is None else read

    defaults = EnforcementLimits()
    removals = defaults.removals
    share = number("max.removals.share", round(removals.share * 100), high=100) / 100
    return EnforcementLimits(
        RemovalLimits(number("max.removals", removals.number), share),
        number("rate", defaults.per_second),
        number("batch", defaults.batch, 1, _REQUEST_ACLS_MAX),
    )


def _store(value: YamlValue) -> str:
    text = value.text() or ""
    if text and not _STORE_ID.fullmatch(text):
        value.fault(f"found {text!r}; expected: the id that doorkeeper clusters adopt prints")
    return text


def _accepted(value: YamlValue) -> frozenset[Rule]:
    rules = set()
    for word in value.items():
        text = word.text()
        if text in ACCEPTED:
            rules.add(Rule(text))
        elif text == Rule.OWNER.value:
            word.fault(
                "another owner is written as store: ID, which doorkeeper clusters adopt prints"
            )
        elif text is not None:
            word.fault(f"found {text!r}; allowed: {', '.join(ACCEPTED)}")
    return frozenset(rules)


def _check_together(clusters: Sequence[tuple[ClusterConfig, YamlValue]]) -> None:
    """Record faults of pairs: a name twice, and the same ACLs of one cluster in two scopes."""
    for (one, _), (other, value) in combinations(clusters, 2):
        if one.name == other.name:
            value.fault(f"the name {one.name} occurs twice")
        elif _servers(one) & _servers(other) and any(
            left.overlap(right) for left in one.scope.selectors for right in other.scope.selectors
        ):
            value.fault(f"the scope overlaps that of {one.name} on the same cluster")


def _servers(cluster: ClusterConfig) -> set[str]:
    return {
        str(address).lower() for address in ClientConfig(bootstrap=cluster.bootstrap).addresses()
    }


_READERS: Final[Mapping[str, tuple[str, Callable[[YamlValue], Any]]]] = {
    "name": ("name", _name),
    "bootstrap": ("bootstrap", _addresses),
    "controllers": ("controllers", _addresses),
    "properties": ("properties", _properties),
    "mode": ("mode", partial(_choice, Mode)),
    "scope": ("scope", _scope),
    "order": ("order", lambda value: value.number(0, _MANY)),
    "foreign": ("foreign", partial(_choice, Foreign)),
    "interval.ms": ("interval_s", _interval_s),
    "limits": ("limits", _limits),
    "store": ("store", _store),
    "accept": ("accepted", _accepted),
}
"""The keys of a cluster: the attribute of each, and what reads it; None after a fault."""
