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
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from doorkeeper.acls.index import masks, wildcard_covers
from doorkeeper.acls.model import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import ALLOW_TESTS, DENY_TESTS, allowed_mask, entries_of, full_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acls.index import Cell, Names
    from doorkeeper.acls.snapshot import Snapshot


class RuleKind(Enum):
    """What gave the answer; the values are the broker's words for them."""

    SUPER_USER = "SuperUser"
    MATCHING_ACL = "MatchingAcl"
    DEFAULT_ALLOW = "DefaultAllow"
    DEFAULT_DENY = "DefaultDeny"


class Decision(Struct, frozen=True):
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


class Policy(Struct, frozen=True, kw_only=True):
    """What decides beside the ACLs: ``super.users`` and ``allow.everyone.if.no.acl.found``."""

    super_users: frozenset[str] = frozenset()
    allow_everyone: bool = False


SUPER_USER = Decision(allowed=True, rule=RuleKind.SUPER_USER)
DEFAULT_ALLOW = Decision(allowed=True, rule=RuleKind.DEFAULT_ALLOW)
DEFAULT_DENY = Decision(allowed=False, rule=RuleKind.DEFAULT_DENY)


def allows(policy: Policy, snapshot: Snapshot, question: Question) -> bool:
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


def permissions_mask(
    policy: Policy,
    snapshot: Snapshot,
    principal: str,
    host: str,
    resource_type: ResourceType,
    name: str,
) -> int:
    """Answer for all operations of the type at once: bit ``code`` of each one that is allowed."""
    if principal in policy.super_users:
        return full_mask(resource_type)
    held = snapshot.effective_mask(resource_type, name, principal, host)
    if held:
        return allowed_mask(resource_type, held)
    is_open = policy.allow_everyone and not snapshot.covers(resource_type, name)
    return full_mask(resource_type) if is_open else 0


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
    principal, host, operation, resource_type, name = question
    tests = DENY_TESTS[operation] | ALLOW_TESTS[operation]
    both = snapshot.types[resource_type].concerning(principal)
    hosts = snapshot.hosts_matching(host)
    for pattern_name, pattern_type in _order(name, [cells for _, cells in both]):
        # Of many patterns few have an entry that answers: nothing is made for the others.
        matching: list[AccessControlEntry] = []
        for who, cells in both:
            cell = cells.get(pattern_name, pattern_type)
            for acl_host, mask in () if cell is None else masks(cell):
                if mask & tests and acl_host in hosts:
                    matching += (
                        AccessControlEntry(who, acl_host, *of) for of in _entries(mask & tests)
                    )
        if matching:
            pattern = ResourcePattern(resource_type, pattern_name, pattern_type)
            for entry in sorted(matching, key=_walk_key):
                yield AclBinding(pattern, entry)


# Of thousands of cells most have one of a few masks.
@lru_cache(maxsize=1024)
def _entries(mask: int) -> tuple[tuple[AclOperation, AclPermissionType], ...]:
    return tuple(entries_of(mask))


def _order(name: str, tables: Iterable[Names[Cell]]) -> Iterator[tuple[str, PatternType]]:
    """Yield the patterns that may cover a name, the longest first."""
    lengths = {size for cells in tables for size in cells.lengths if size <= len(name)}
    # ``StandardAcl.compareTo`` sorts names in reverse, so that a walk meets longer names first.
    yield name, PatternType.LITERAL
    for size in sorted(lengths, reverse=True):
        yield name[:size], PatternType.PREFIXED
    if name != WILDCARD and wildcard_covers(name):
        yield WILDCARD, PatternType.LITERAL


def _walk_key(entry: AccessControlEntry) -> tuple[AclOperation, str, str, AclPermissionType]:
    # Java compares texts by UTF-16 code unit and Python by code point. Here the two always agree:
    # one side of every comparison of principals is ``User:*``, which is ASCII, and hosts that match
    # have no character beyond the basic plane.
    return entry.operation, entry.principal, entry.host, entry.permission_type
