"""A decision as a value: the answer, the rule that gave it, and the binding behind the rule.

``allows`` decides by masks. ``explain`` also names the rule, the way the broker reports it:
it walks the ACLs that cover the resource in the broker's order, stops at the first DENY that
matches, and otherwise keeps the last ALLOW. The answer is the same; only the rule needs the walk.

The broker's order: names from the longest prefix to the shortest, the literal before the prefix of
the same name, then operation, principal, host, permission; at the end the literal ``*``.

Source: ``StandardAuthorizerData.findAclRule`` and ``StandardAcl.compareTo`` (4.3.1).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.cells import masks
from doorkeeper.acl.model import (
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
from doorkeeper.acl.names import wildcard_covers
from doorkeeper.acl.operations import ALLOW_TESTS, DENY_TESTS, entries_of, entry_bit
from doorkeeper.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acl.snapshot import Snapshot


class RuleKind(Enum):
    """What gave the answer; the values are the broker's words for them."""

    SUPER_USER = "SuperUser"
    MATCHING_ACL = "MatchingAcl"
    DEFAULT_ALLOW = "DefaultAllow"
    DEFAULT_DENY = "DefaultDeny"


class Decision(NamedTuple):
    """The answer to a question, and why. Only MATCHING_ACL has a binding and its id."""

    allowed: bool
    rule: RuleKind
    binding: AclBinding | None = None
    binding_id: str | None = None


class Question(NamedTuple):
    """May this principal (``type:name``), at this address, do this with this resource?"""

    principal: str
    host: str
    operation: AclOperation
    resource_type: ResourceType
    name: str


class Policy(Value):
    """What decides beside the ACLs: ``super.users`` and ``allow.everyone.if.no.acl.found``."""

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False


SUPER_USER = Decision(allowed=True, rule=RuleKind.SUPER_USER)
DEFAULT_ALLOW = Decision(allowed=True, rule=RuleKind.DEFAULT_ALLOW)
DEFAULT_DENY = Decision(allowed=False, rule=RuleKind.DEFAULT_DENY)


def allows(policy: Policy, snapshot: Snapshot, question: Question) -> bool:
    """Answer the question."""
    principal, host, operation, resource_type, name = question
    if principal in policy.super_users:
        return True
    mask = snapshot.effective_mask(resource_type, name, principal, host)
    # A DENY overrides every ALLOW, whatever the length or type of their patterns.
    if mask & DENY_TESTS[operation]:
        return False
    if mask & ALLOW_TESTS[operation]:
        return True
    return policy.allow_everyone and not snapshot.covers(resource_type, name)


def explain(policy: Policy, snapshot: Snapshot, question: Question) -> Decision:
    """Answer the question, and name the rule that the broker would report."""
    if question.principal in policy.super_users:
        return SUPER_USER
    allowing = None
    for binding in _matching(snapshot, question):
        if binding.entry.permission_type is AclPermissionType.DENY:
            return _decision(snapshot, binding)
        # The broker reports the last ALLOW of its walk, not the first.
        allowing = binding
    if allowing is not None:
        return _decision(snapshot, allowing)
    if policy.allow_everyone and not snapshot.covers(question.resource_type, question.name):
        return DEFAULT_ALLOW
    return DEFAULT_DENY


def _decision(snapshot: Snapshot, binding: AclBinding) -> Decision:
    return Decision(
        allowed=binding.entry.permission_type is AclPermissionType.ALLOW,
        rule=RuleKind.MATCHING_ACL,
        binding=binding,
        binding_id=snapshot.id_of(binding),
    )


def _matching(snapshot: Snapshot, question: Question) -> Iterator[AclBinding]:
    """Return the bindings that answer the question, in the broker's order."""
    operation = question.operation
    tests = DENY_TESTS[operation] | ALLOW_TESTS[operation]
    for pattern, entries in _covering(snapshot, question):
        matching = (entry for entry in entries if tests & entry_bit(entry[2], entry[3]))
        for entry in sorted(matching, key=_walk_key):
            yield AclBinding(pattern, entry)


def _covering(
    snapshot: Snapshot, question: Question
) -> Iterator[tuple[ResourcePattern, list[AccessControlEntry]]]:
    """Return what the two principals have on each pattern that covers, the longest name first."""
    resource_type, name = question.resource_type, question.name
    principals = snapshot.types[resource_type].principals
    both = {
        who: cells
        for who in (question.principal, WILDCARD_PRINCIPAL)
        if (cells := principals.get(who)) is not None
    }
    lengths = {size for cells in both.values() for size in cells.lengths if size <= len(name)}
    hosts = snapshot.hosts_matching(question.host)
    # ``StandardAcl.compareTo`` sorts names in reverse, so that a walk meets longer names first.
    order = [(name, PatternType.LITERAL)]
    order += [(name[:size], PatternType.PREFIXED) for size in sorted(lengths, reverse=True)]
    if name != WILDCARD and wildcard_covers(name):
        order.append((WILDCARD, PatternType.LITERAL))
    for pattern_name, pattern_type in order:
        entries = [
            AccessControlEntry(who, host, operation, permission_type)
            for who, cells in both.items()
            for host, mask in masks(cells.get(pattern_name, pattern_type) or 0)
            if host in hosts
            for operation, permission_type in entries_of(mask)
        ]
        yield ResourcePattern(resource_type, pattern_name, pattern_type), entries


def _walk_key(entry: AccessControlEntry) -> tuple[AclOperation, str, str, AclPermissionType]:
    # Java compares texts by UTF-16 code unit and Python by code point. Here the two always agree:
    # one side of every comparison of principals is ``User:*``, which is ASCII, and hosts that match
    # have no character beyond the basic plane.
    return entry.operation, entry.principal, entry.host, entry.permission_type
