"""How much a grant opens: the severity of what is said about it.

The first rule of the table ``RULES`` that holds gives the severity and the words:

    rule        severity  the grant ...
    deny        LOW       is a DENY: it opens nothing
    acls        CRITICAL  allows to change ACLs, and so everything
    everything  CRITICAL  allows every principal to use every topic
    cluster     HIGH      allows to change the configuration of brokers, or to act as a broker
    identity    HIGH      allows to get delegation tokens of other users
    topics      HIGH      covers every topic
    sensitive   HIGH      covers topics of which somebody said that they are sensitive
    many        HIGH      is for every principal of many, on topics
    everybody   MEDIUM    is for every principal, otherwise
    names       MEDIUM    covers every name of a type, otherwise
    prefix      MEDIUM    covers the names that begin with a text
    control     MEDIUM    allows to delete or reconfigure one name
    name        LOW       allows to use one name

To create or describe a topic is not to use it. Nothing here depends on the use of a grant: what it
was not used for is as open.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Final, NamedTuple

from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)


class Severity(Enum):
    """How much a grant opens, the most first."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Opening(NamedTuple):
    """The severity of a grant, and what it opens in words."""

    severity: Severity
    opens: str


class ClusterContext(NamedTuple):
    """The cluster of the grants: its number of principals, the beginnings of sensitive topics."""

    principals: int = 0
    sensitive: tuple[str, ...] = ()


SEVERITIES: Final = tuple(each.value for each in Severity)
BROAD: Final = (Severity.CRITICAL.value, Severity.HIGH.value)
"""The severities of grants that somebody should know, whatever their use."""

MANY: Final = 10
"""Principals of a cluster for whom a grant to everybody is one to many."""

_USING: Final = frozenset(
    {
        *(AclOperation.ALL, AclOperation.READ, AclOperation.WRITE),
        *(AclOperation.DELETE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS),
    }
)
"""Operations that do more than create a name or describe it."""

_CONTROLLING: Final = _USING - {AclOperation.READ, AclOperation.WRITE}
_OF_ACLS: Final = frozenset({AclOperation.ALL, AclOperation.ALTER})
_OF_BROKERS: Final = frozenset({AclOperation.ALTER_CONFIGS, AclOperation.CLUSTER_ACTION})
_OF_TOKENS: Final = frozenset({AclOperation.ALL, AclOperation.CREATE_TOKENS})


def opening_of(binding: AclBinding, around: ClusterContext) -> Opening:
    """Return the severity of the first rule that holds, and its words."""
    (resource_type, name, pattern_type), entry = binding
    is_one = pattern_type is PatternType.LITERAL and name != WILDCARD
    if not is_one or name.startswith(around.sensitive or "\0"):
        return _first(binding, around)
    # No rule asks which other name it is, or whose.
    principal = WILDCARD_PRINCIPAL if _is_for_all(binding) else ""
    return _of_one_name(resource_type, principal, entry.operation, entry.permission_type, around)


@cache
def _of_one_name(
    resource_type: ResourceType,
    principal: str,
    operation: AclOperation,
    permission: AclPermissionType,
    around: ClusterContext,
) -> Opening:
    pattern = ResourcePattern(resource_type, "", PatternType.LITERAL)
    entry = AccessControlEntry(principal, WILDCARD, operation, permission)
    return _first(AclBinding(pattern, entry), around)


def _first(binding: AclBinding, around: ClusterContext) -> Opening:
    for _, severity, rule in RULES:
        opens = rule(binding, around)
        if opens:
            return Opening(severity, opens)
    raise AssertionError(binding)  # the last rule always holds


def _deny(binding: AclBinding, _around: ClusterContext) -> str:
    denies = binding.entry.permission_type is AclPermissionType.DENY
    return "grants nothing: it is a DENY" if denies else ""


def _acls(binding: AclBinding, _around: ClusterContext) -> str:
    return "may change ACLs and thereby grant everything" if _is_cluster(binding, _OF_ACLS) else ""


def _everything(binding: AclBinding, around: ClusterContext) -> str:
    if not (_is_for_all(binding) and _covers_all(binding.pattern) and _uses_topics(binding)):
        return ""
    return f"every topic, for {_all_principals(around)}"


def _cluster(binding: AclBinding, _around: ClusterContext) -> str:
    if not _is_cluster(binding, _OF_BROKERS):
        return ""
    if binding.entry.operation is AclOperation.CLUSTER_ACTION:
        return "may act as a broker and read every topic"
    return "may change the configuration of brokers"


def _identity(binding: AclBinding, _around: ClusterContext) -> str:
    is_user = binding.pattern.resource_type is ResourceType.USER
    tokens = is_user and binding.entry.operation in _OF_TOKENS
    return "may get delegation tokens of other users" if tokens else ""


def _topics(binding: AclBinding, _around: ClusterContext) -> str:
    return "every topic" if _covers_all(binding.pattern) and _uses_topics(binding) else ""


def _sensitive(binding: AclBinding, around: ClusterContext) -> str:
    _, name, pattern_type = binding.pattern
    for beginning in around.sensitive if _uses_topics(binding) else ():
        is_wide = pattern_type is PatternType.PREFIXED and beginning.startswith(name)
        if is_wide or name.startswith(beginning):
            return f"sensitive topics: {beginning}*"
    return ""


def _many(binding: AclBinding, around: ClusterContext) -> str:
    many = _is_for_all(binding) and around.principals >= MANY and _uses_topics(binding)
    return f"for {_all_principals(around)}" if many else ""


def _everybody(binding: AclBinding, around: ClusterContext) -> str:
    return f"for {_all_principals(around)}" if _is_for_all(binding) else ""


def _names(binding: AclBinding, _around: ClusterContext) -> str:
    if _is_cluster(binding, frozenset({AclOperation.CREATE})):
        return "may create any topic"
    noun = _noun(binding.pattern.resource_type)
    return f"every {noun}" if _covers_all(binding.pattern) else ""


def _prefix(binding: AclBinding, _around: ClusterContext) -> str:
    kind, name, pattern_type = binding.pattern
    is_prefix = pattern_type is PatternType.PREFIXED and binding.entry.operation in _USING
    return f"every {_noun(kind)} that begins with {name}" if is_prefix else ""


def _control(binding: AclBinding, _around: ClusterContext) -> str:
    controls = binding.entry.operation in _CONTROLLING
    return f"may delete or change one {_noun(binding.pattern.resource_type)}" if controls else ""


def _name(binding: AclBinding, _around: ClusterContext) -> str:
    return f"one {_noun(binding.pattern.resource_type)}"


RULES: Final[tuple[tuple[str, Severity, Callable[[AclBinding, ClusterContext], str]], ...]] = (
    ("deny", Severity.LOW, _deny),
    ("acls", Severity.CRITICAL, _acls),
    ("everything", Severity.CRITICAL, _everything),
    ("cluster", Severity.HIGH, _cluster),
    ("identity", Severity.HIGH, _identity),
    ("topics", Severity.HIGH, _topics),
    ("sensitive", Severity.HIGH, _sensitive),
    ("many", Severity.HIGH, _many),
    ("everybody", Severity.MEDIUM, _everybody),
    ("names", Severity.MEDIUM, _names),
    ("prefix", Severity.MEDIUM, _prefix),
    ("control", Severity.MEDIUM, _control),
    ("name", Severity.LOW, _name),
)
"""The rules in their order; each returns what the grant opens, or '' where it does not hold."""


def _is_cluster(binding: AclBinding, operations: frozenset[AclOperation]) -> bool:
    is_cluster = binding.pattern.resource_type is ResourceType.CLUSTER
    return is_cluster and binding.entry.operation in operations


def _is_for_all(binding: AclBinding) -> bool:
    return binding.entry.principal == WILDCARD_PRINCIPAL


def _covers_all(pattern: ResourcePattern) -> bool:
    return pattern.name == WILDCARD and pattern.pattern_type is PatternType.LITERAL


def _uses_topics(binding: AclBinding) -> bool:
    is_topic = binding.pattern.resource_type is ResourceType.TOPIC
    return is_topic and binding.entry.operation in _USING


def _all_principals(around: ClusterContext) -> str:
    return f"every principal, of which {around.principals:,} are known"


def _noun(kind: ResourceType) -> str:
    return kind.name.replace("_", " ").lower()
