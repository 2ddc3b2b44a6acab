"""Prefixed ACLs that could stand for several literal ones: suggestions, since they allow more.

The internal topics, groups and transactional ids of Kafka Streams and Connect are recognised:

    wordcount-counts-changelog      Streams, application.id=wordcount, which is its group too
    wordcount-5b2f...-1             the transactional id of a thread of it; the middle is random
    connect-configs, connect-offsets, connect-status      a Connect cluster
    connect-files                   the group of a sink connector called files

Source: ``StreamsProducer`` and KIP-213 of Streams; ``SinkUtils`` of Connect.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct

from doorkeeper.acls.model import AclBinding, PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.recorded_access import RecordedAccess, prefixed_acls

_STREAMS_TOPIC: Final = re.compile(
    r"-.+-(?:changelog|repartition)|-.*SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-\d+-topic", re.DOTALL
)
# Exactly-once processing v2 has a transactional id for each thread, the older one for each task.
_STREAMS_TRANSACTION: Final = re.compile(
    r"-(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-\d+|\d+_\d+)"
)
_CONNECT_TOPICS: Final = {
    "config.storage.topic": ("configs", "config"),
    "offset.storage.topic": ("offsets", "offset"),
    "status.storage.topic": ("status", "statuses"),
}
"""By key of a worker, the usual endings of its topic."""

_SINK_GROUP: Final = "connect-"
_DELIMITERS: Final = "-._"


class InternalName(Struct, frozen=True):
    """The purpose of a name, in words, and the prefix that names of its kind share.

    The prefix is empty if there is none.
    """

    purpose: str
    prefix: str


class InternalNames:
    """The internal names among the resources of ACLs, each principal by itself."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._names: dict[tuple[str, ResourceType], set[str]] = defaultdict(set)
        for (resource_type, name, _), entry in bindings:
            self._names[entry.principal, resource_type].add(name)

    def find(self, binding: AclBinding) -> InternalName | None:
        """Return the purpose of an ACL's resource; None if it is not recognised."""
        (resource_type, name, _), entry = binding
        principal = entry.principal
        match resource_type:
            case ResourceType.TOPIC:
                return self._streams_name(
                    principal, name, _STREAMS_TOPIC, "internal topic"
                ) or self._connect_topic(principal, name)
            case ResourceType.TRANSACTIONAL_ID:
                return self._streams_name(
                    principal,
                    name,
                    _STREAMS_TRANSACTION,
                    "transactional id, another one in each process,",
                )
            case ResourceType.GROUP if name.startswith(_SINK_GROUP) and name != _SINK_GROUP:
                connector = name.removeprefix(_SINK_GROUP)
                return InternalName(f"group of Connect's sink connector {connector}", _SINK_GROUP)
            case _:
                return None

    def _streams_name(
        self, principal: str, name: str, rest: re.Pattern[str], kind: str
    ) -> InternalName | None:
        # An application.id may be the beginning of another one: the longest is meant.
        groups = self._names.get((principal, ResourceType.GROUP), ())
        for group in sorted(groups, key=len, reverse=True):
            if name.startswith(group) and rest.fullmatch(name, len(group)):
                return InternalName(f"{kind} of the Streams application {group}", f"{group}-")
        return None

    def _connect_topic(self, principal: str, name: str) -> InternalName | None:
        topics = self._names[principal, ResourceType.TOPIC]
        for key, endings in _CONNECT_TOPICS.items():
            for ending in endings:
                stem = name.removesuffix(ending)
                # All three must be there: many topics of applications end with "status".
                if stem != name and all(
                    any(stem + other in topics for other in others)
                    for others in _CONNECT_TOPICS.values()
                ):
                    # Without a delimiter the prefix would cover names of other applications.
                    prefix = stem if stem.endswith(tuple(_DELIMITERS)) else ""
                    return InternalName(f"topic of a Connect cluster ({key})", prefix)
        return None


class Alternative(Struct, frozen=True):
    """A prefixed ACL, the literal ones for which it stands, and why such names share a prefix."""

    binding: AclBinding
    instead_of: tuple[AclBinding, ...]
    reason: str


def alternatives(
    bindings: Collection[AclBinding], accesses: Iterable[RecordedAccess]
) -> list[Alternative]:
    """Return alternatives to the least ACLs of accesses, sorted.

    Names of Streams and Connect become a prefix even if there is one of them. Of other names at
    least three do, if they share a beginning up to a delimiter that no other principal uses.
    """
    names = InternalNames(bindings)
    purposes: dict[AclBinding, str] = {}
    for binding in bindings:
        internal = names.find(binding)
        if internal is not None and internal.prefix:
            purposes[_with_prefix(binding, internal.prefix)] = internal.purpose
    # A prefix found both ways keeps the words about Streams or Connect, which say more.
    for binding in prefixed_acls(accesses):
        purposes.setdefault(binding, "names with this beginning")
    return [
        Alternative(binding, instead_of, reason)
        for binding, reason in sorted(purposes.items())
        if (instead_of := tuple(other for other in bindings if _covers(binding, other)))
    ]


def _with_prefix(binding: AclBinding, prefix: str) -> AclBinding:
    resource_type = binding.pattern.resource_type
    return binding._replace(pattern=ResourcePattern(resource_type, prefix, PatternType.PREFIXED))


def _covers(wide: AclBinding, binding: AclBinding) -> bool:
    pattern, entry = binding
    return (
        pattern.resource_type is wide.pattern.resource_type
        and pattern.name.startswith(wide.pattern.name)
        and entry.principal == wide.entry.principal
        and satisfied_by(entry.operation, wide.entry.operation)
    )
