"""The topics of a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.server.resources.settings.topic import InvalidConfig, check_configs
from doorkeeper.server.resources.topics.names import (
    CLUSTER_METADATA_TOPIC,
    INTERNAL_TOPICS,
    collision_key,
    reason_invalid,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.resources.catalog.document import YamlValue

# As many as one request may create.
PARTITIONS_MAX = 10_000

# The field is an int16.
REPLICATION_FACTOR_MAX = 2**15 - 1

_KEYS = ("name", "partitions", "replication_factor", "internal", "configs")


class DeclaredTopic(NamedTuple):
    """A declared topic, without an id."""

    name: str
    partitions: int
    replication_factor: int
    internal: bool
    configs: Mapping[str, str]


def read_topics(document: YamlValue) -> list[DeclaredTopic]:
    """Return the topics of a list; those with faults are left out."""
    topics: dict[str, DeclaredTopic] = {}
    names: dict[str, str] = {}
    for item in document.items():
        fields = item.fields(_KEYS, required=("name",))
        name = _name(fields["name"], names) if "name" in fields else None
        topic = DeclaredTopic(
            name=name or "",
            partitions=_number(fields, "partitions", PARTITIONS_MAX),
            replication_factor=_number(fields, "replication_factor", REPLICATION_FACTOR_MAX),
            internal=fields["internal"].boolean()
            if "internal" in fields
            else name in INTERNAL_TOPICS,
            configs=_configs(fields["configs"]) if "configs" in fields else {},
        )
        if name is not None:
            topics[name] = topic
    return list(topics.values())


def _name(value: YamlValue, names: dict[str, str]) -> str | None:
    """Return a legal, unused name; ``names`` has the earlier ones by their unified form."""
    name = value.text()
    if name is None:
        return None
    reason = reason_invalid(name)
    if name == CLUSTER_METADATA_TOPIC:
        reason = "the log of the controllers cannot be declared"
    other = names.get(collision_key(name) or name)
    if reason is None and other is not None:
        reason = "declared twice" if other == name else f"collides with {other}"
    if reason is not None:
        value.fault(reason)
        return None
    names[collision_key(name) or name] = name
    return name


def _number(fields: Mapping[str, YamlValue], key: str, high: int) -> int:
    number = fields[key].number(1, high) if key in fields else None
    return 1 if number is None else number


def _configs(value: YamlValue) -> dict[str, str]:
    configs: dict[str, str] = {}
    for name, entry in value.entries().items():
        text = entry.scalar()
        if text is None:
            continue
        try:
            # One by one first, so that a fault has the line of its setting; then their
            # combinations.
            check_configs({name: text})
        except InvalidConfig as fault:
            entry.fault(str(fault))
        else:
            configs[name] = text
    try:
        check_configs(configs)
    except InvalidConfig as fault:
        value.fault(str(fault))
    return configs
