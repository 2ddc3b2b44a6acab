"""How much a grant opens: the severity of what is said about it.

The first rule that holds gives the severity and the words. To create or describe a topic is not to
use it. Nothing here depends on the use of a grant: what it was not used for is as open.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

SEVERITIES: Final = ("CRITICAL", "HIGH", "MEDIUM", "LOW")
CRITICAL, HIGH, MEDIUM, LOW = SEVERITIES
BROAD: Final = (CRITICAL, HIGH)
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
_OF_ACLS: Final = (AclOperation.ALL, AclOperation.ALTER)
_OF_TOKENS: Final = (AclOperation.ALL, AclOperation.CREATE_TOKENS)


class ClusterContext(NamedTuple):
    """The cluster of the grants: its number of principals, the beginnings of sensitive topics."""

    principals: int = 0
    sensitive: tuple[str, ...] = ()


class Rule(NamedTuple):
    """A rule for a grant: its name and severity, whether it holds, and what the grant opens."""

    name: str
    severity: str
    holds: bool
    opens: str


def opening_of(binding: AclBinding, around: ClusterContext) -> Rule:
    """Return the first rule that holds."""
    (resource_type, name, pattern_type), entry = binding
    # No rule asks who it is for, if not everybody, from where, or which name it is, if not one of
    # many or a sensitive one: far fewer bindings are asked about than there are.
    is_one = pattern_type is PatternType.LITERAL and name != WILDCARD
    if is_one and not name.startswith(around.sensitive or "\0"):
        name = ""
    principal = entry.principal if entry.principal == WILDCARD_PRINCIPAL else ""
    pattern = ResourcePattern(resource_type, name, pattern_type)
    return _first(AclBinding(pattern, entry._replace(principal=principal, host=WILDCARD)), around)


def rules_of(binding: AclBinding, around: ClusterContext) -> Iterator[Rule]:
    """Yield the rules in their order; the last one always holds."""
    (kind, name, pattern_type), (principal, _, operation, permission) = binding
    noun = kind.name.replace("_", " ").lower()
    is_cluster = kind is ResourceType.CLUSTER
    is_literal = pattern_type is PatternType.LITERAL
    covers_all = is_literal and name == WILDCARD
    uses = operation in _USING
    uses_topics = uses and kind is ResourceType.TOPIC
    for_all = principal == WILDCARD_PRINCIPAL
    everybody = f"every principal, of which {around.principals:,} are known"
    sensitive = [
        prefix
        for prefix in around.sensitive
        if name.startswith(prefix) or (not is_literal and prefix.startswith(name))
    ]
    yield Rule("deny", LOW, permission is AclPermissionType.DENY, "grants nothing: it is a DENY")
    may_change = "may change ACLs and thereby grant everything"
    yield Rule("acls", CRITICAL, is_cluster and operation in _OF_ACLS, may_change)
    is_everything = for_all and covers_all and uses_topics
    yield Rule("everything", CRITICAL, is_everything, f"every topic, for {everybody}")
    acts = is_cluster and operation is AclOperation.CLUSTER_ACTION
    yield Rule("cluster", HIGH, acts, "may act as a broker and read every topic")
    configures = is_cluster and operation is AclOperation.ALTER_CONFIGS
    yield Rule("cluster", HIGH, configures, "may change the configuration of brokers")
    gets_tokens = kind is ResourceType.USER and operation in _OF_TOKENS
    yield Rule("identity", HIGH, gets_tokens, "may get delegation tokens of other users")
    yield Rule("topics", HIGH, covers_all and uses_topics, "every topic")
    yield Rule(
        "sensitive",
        HIGH,
        uses_topics and bool(sensitive),
        f"sensitive topics: {''.join(sensitive[:1])}*",
    )
    is_many = for_all and around.principals >= MANY and uses_topics
    yield Rule("many", HIGH, is_many, f"for {everybody}")
    yield Rule("everybody", MEDIUM, for_all, f"for {everybody}")
    creates = is_cluster and operation is AclOperation.CREATE
    yield Rule("names", MEDIUM, creates, "may create any topic")
    yield Rule("names", MEDIUM, covers_all, f"every {noun}")
    yield Rule("prefix", MEDIUM, uses and not is_literal, f"every {noun} that begins with {name}")
    yield Rule("control", MEDIUM, operation in _CONTROLLING, f"may delete or change one {noun}")
    yield Rule("name", LOW, holds=True, opens=f"one {noun}")


@lru_cache(1 << 16)
def _first(binding: AclBinding, around: ClusterContext) -> Rule:
    return next(rule for rule in rules_of(binding, around) if rule.holds)
