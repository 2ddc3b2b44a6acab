"""The file of clusters; ``docs/how-to/clusters.md`` is its reference.

``schemas/records/clusters.json`` is its JSON schema. It is parsed as files of ACLs are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from doorkeeper.acls.formats import values
from doorkeeper.acls.formats.documents import document_of_yaml, lines_of
from doorkeeper.acls.formats.entities import is_entity_part
from doorkeeper.acls.formats.names import FormatError, wrong
from doorkeeper.acls.formats.owned_parts import WORDS, owned_parts
from doorkeeper.acls.live_changes import OVERRIDES, RemovalLimits, Rule
from doorkeeper.acls.plan import EVERYTHING, SelectorUnion
from doorkeeper.base.encodings import not_utf8
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.properties import CommandConfigError, client_config_of
from doorkeeper.server.app.errors import StartError

ALL: Final = "everything"
"""The scope of a cluster whose ACLs all belong to Doorkeeper."""

# Reading must not take minutes.
FILE_BYTES_MAX: Final = 16 * 1024 * 1024

_REQUIRED: Final = ("name", "bootstrap", "scope")
_STORE_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_CLUSTER_ID: Final = re.compile(r"[!-~]{1,249}")
_STORE_TEXT: Final = "the id printed by doorkeeper clusters adopt"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SECRET_KEY: Final = re.compile(r".*\.password|ssl\.keystore\.key|.*\.secret")
_SECRET_OPTION: Final = re.compile(r"""(?:password|secret)\s*=(?!\s*["']?\$\{)""", re.IGNORECASE)

_DAY_MS: Final = 86_400_000
_MANY: Final = 1_000_000_000
_REQUEST_ACLS_MAX: Final = 10_000
"""The most ACLs that a controller takes in one request."""

Mode = Literal["observe", "enforce"]
"""Whether differences of a cluster are only reported, or removed."""

Foreign = Literal["revert", "report"]
"""The treatment of changes within the scope that others made."""


class ClusterConfig(Struct, frozen=True):
    """A cluster of the file. ``properties`` are as written: variables are not resolved."""

    name: str
    bootstrap: str
    properties: Mapping[str, str]
    scope: SelectorUnion
    mode: Mode = "observe"
    order: int = 0
    foreign: Foreign = "revert"
    interval_s: float = 10.0
    limits: RemovalLimits = RemovalLimits()
    batch: int = 1_000
    """ACLs per request."""
    rate: int = 0
    """ACLs per second; 0 for no limit."""
    controllers: str = ""
    """Addresses of controllers, whose log is followed; empty to poll."""
    store: str = ""
    """The id of the store that the cluster belongs to; empty for none."""
    cluster: str = ""
    """The id of the cluster; empty for that of whichever answered first."""
    accepted: frozenset[Rule] = frozenset()
    """The rules of changes that do not hold for this cluster."""

    @property
    def is_enforced(self) -> bool:
        return self.mode == "enforce"

    def refusal_of(self, store_id: str) -> str:
        """Return why a store may not change the cluster; empty if it may, or is not to."""
        if self.store == store_id or not self.is_enforced:
            return ""
        owner = f"store {self.store}" if self.store else "no store"
        return (
            f"the cluster belongs to {owner}, but this is store {store_id}; nothing is changed"
            f" until its entry has store: {store_id} (see doorkeeper clusters adopt)"
        )

    def client_config(self) -> ClientConfig:
        """Resolve the secrets, and return the configuration of a client."""
        return client_config_of(self.bootstrap, self.properties)


def load(path: Path) -> tuple[ClusterConfig, ...]:
    """Load and validate a file of clusters.

    Raises:
        StartError: with the first fault of the file, its line, and the path to it.
    """
    content = ""
    try:
        # The size first: a huge file must not be read into memory.
        if (size := path.stat().st_size) > FILE_BYTES_MAX:
            raise StartError(f"{path}: {size} bytes; at most {FILE_BYTES_MAX}")
        content = path.read_bytes().decode()
        return tuple(_read(_FILE, document_of_yaml(content), ("clusters",))["clusters"])
    except OSError as error:
        raise StartError(f"{path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise StartError(f"{path}: {not_utf8(error)}") from None
    except FormatError as error:
        line = error.line or lines_of(content)(error.path)
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.path)
        source, field = f"{path}:{line}" if line else str(path), "".join(steps).removeprefix(".")
        fault = str(error).removeprefix(f"line {error.line}: ")
        raise StartError(": ".join(filter(None, (source, field, fault)))) from None


# --- readers: each returns the meaning of a value, or raises a FormatError

Readers = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""The attribute of each key of a mapping, and the reader of its value."""


def _read(readers: Readers, value: object, required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the values of a mapping by attribute; a key without a value counts as absent."""
    if isinstance(value, dict):
        value = {key: entry for key, entry in value.items() if entry is not None}
    entries = values.record(value, tuple(readers), required)
    return {readers[key][0]: values.part(readers[key][1], key, entries[key]) for key in entries}


def _word(words: Sequence[str], value: object) -> str:
    values.expect(value in words, f"one of {', '.join(words)}", value)
    return str(value)


def _matching(pattern: re.Pattern[str], expected: str, value: object) -> str:
    values.expect(pattern.fullmatch(values.text(value)), expected, value)
    return str(value)


def _clusters(value: object) -> list[ClusterConfig]:
    """Return the clusters; no two have one name, or ACLs of one cluster in both their scopes."""
    clusters = values.items(_cluster, value)
    for (_, one), (index, other) in combinations(enumerate(clusters), 2):
        if one.name == other.name:
            raise FormatError(f"the name {one.name} occurs twice", path=(index,))
        if _servers(one) & _servers(other) and any(
            left.overlap(right) for left in one.scope.selectors for right in other.scope.selectors
        ):
            fault = f"the scope overlaps that of {one.name} on the same cluster"
            raise FormatError(fault, path=(index,))
    return clusters


def _servers(cluster: ClusterConfig) -> set[str]:
    return {
        str(address).lower() for address in ClientConfig(bootstrap=cluster.bootstrap).addresses()
    }


def _cluster(value: object) -> ClusterConfig:
    keys = {"properties": {}, **_read(_KEYS, value, _REQUIRED)}
    limits = keys.pop("limits", {})
    batching = {word: limits.pop(word) for word in ("batch", "rate") if word in limits}
    cluster = ClusterConfig(**keys, **batching, limits=RemovalLimits(**limits))
    try:
        cluster.client_config()
    except (CommandConfigError, ValueError, OSError) as error:
        key, _, fault = str(error).partition(": ")
        if key in cluster.properties:
            raise FormatError(fault, path=("properties", key)) from None
        raise FormatError(str(error), path=("properties",)) from None
    return cluster


def _addresses(value: object) -> str:
    try:
        addresses = ClientConfig(bootstrap=values.text(value)).addresses()
    except ValueError as error:
        raise error if isinstance(error, FormatError) else FormatError(str(error)) from None
    values.expect(addresses, "host:port, comma-separated", value)
    return str(value)


def _properties(value: object) -> dict[str, str]:
    """Return the properties of a Java client; secrets must be variables, and no error shows one."""
    if not isinstance(value, dict):
        raise wrong(value, "a mapping of a client's properties; secrets are references")
    return {str(key): values.part(partial(_property, str(key)), key, value[key]) for key in value}


def _property(key: str, value: object) -> str:
    if not isinstance(value, (str, int, float)):
        raise wrong(value, "a single value; secrets are references")
    property_ = str(value).lower() if isinstance(value, bool) else str(value)
    is_secret = _SECRET_KEY.fullmatch(key) and "${" not in property_
    if is_secret or (key == "sasl.jaas.config" and _SECRET_OPTION.search(property_)):
        raise FormatError(
            "secrets must be references, such as ${file:/run/secrets/kafka:password} with"
            " config.providers"
        )
    return property_.strip()


def _scope(value: object) -> SelectorUnion:
    """Return the owned part: the words of ``owns`` in files of ACLs, or ``everything``."""
    if value == ALL:
        return SelectorUnion((EVERYTHING,))
    expected = f"{ALL}, or a mapping with {', '.join(WORDS)}"
    parts = value if isinstance(value, list) else [value]
    # Parts of topics, users and quotas are of no use here: only ACLs are sent.
    are_parts = all(isinstance(part, dict) and not is_entity_part(part) for part in parts)
    values.expect(parts and are_parts, expected, value)
    try:
        owned = owned_parts(value, lambda text: text)
    except FormatError as error:
        raise FormatError(str(error).removeprefix("owns: "), path=error.path[1:]) from None
    return SelectorUnion(tuple(part.selector for part in owned))


def _rule(value: object) -> Rule:
    if value == Rule.OWNER.value:
        raise FormatError(
            "for another store, write store: ID, as printed by doorkeeper clusters adopt"
        )
    return Rule(_word([rule.value for rule in OVERRIDES], value))


_LIMITS: Final[Readers] = {
    "max.removals": ("number", partial(values.number, 0, _MANY)),
    "max.removals.share": ("share", lambda value: values.number(0, 100, value) / 100),
    "rate": ("rate", partial(values.number, 0, _MANY)),
    "batch": ("batch", partial(values.number, 1, _REQUEST_ACLS_MAX)),
}
_KEYS: Final[Readers] = {
    "name": ("name", partial(_matching, _NAME, "letters, digits, dots, _ and -")),
    "bootstrap": ("bootstrap", _addresses),
    "controllers": ("controllers", _addresses),
    "properties": ("properties", _properties),
    "mode": ("mode", partial(_word, get_args(Mode))),
    "scope": ("scope", _scope),
    "order": ("order", partial(values.number, 0, _MANY)),
    "foreign": ("foreign", partial(_word, get_args(Foreign))),
    "interval.ms": ("interval_s", lambda value: values.number(100, _DAY_MS, value) / 1000),
    "limits": ("limits", partial(_read, _LIMITS)),
    "store": ("store", partial(_matching, _STORE_ID, _STORE_TEXT)),
    "cluster": ("cluster", partial(_matching, _CLUSTER_ID, _STORE_TEXT)),
    "accept": ("accepted", lambda value: frozenset(values.items(_rule, value))),
}
_FILE: Final[Readers] = {"clusters": ("clusters", _clusters)}
