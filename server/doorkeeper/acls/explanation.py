"""Explains a decision, and finds the smallest change that would reverse it.

The decision is the engine's own (``decision.explain``). The explanation adds every binding whose
pattern covers the resource, with its bearing on the question, and the fewest changes of bindings
that reverse the decision:

    denied without a DENY         add an ALLOW for this principal, resource and operation
    denied by DENYs               remove them all, and add an ALLOW if none is left
    allowed by one ALLOW          remove it
    allowed otherwise             add a DENY
    allowed to a super user       no binding changes that
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from doorkeeper.acls.decision import RuleKind, allows, explain
from doorkeeper.acls.model import (
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import ALLOW_TESTS, DENY_TESTS, entry_bit
from doorkeeper.acls.regions import covering_patterns, single

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from doorkeeper.acls.decision import Decision, Policy, Question
    from doorkeeper.acls.snapshot import Snapshot

_TOPIC_LETTERS = 65
"""The letters of names of topics: a to z, A to Z, digits, dot, underscore and hyphen."""


class Bearing(Enum):
    """The bearing of a binding that covers the resource."""

    DENIES = "denies it"
    ALLOWS = "allows it"
    IMPLIES = "allows it, by an operation that includes it"
    OTHER_PRINCIPAL = "is for another principal"
    OTHER_HOST = "is for another host"
    OTHER_OPERATION = "is for another operation"


class Considered(NamedTuple):
    """A binding and its bearing on the question."""

    binding: AclBinding
    bearing: Bearing


class Flip(Struct, frozen=True):
    """The fewest changes that reverse a decision; both empty if no binding can."""

    added: tuple[AclBinding, ...] = ()
    removed: tuple[AclBinding, ...] = ()


class Explanation(Struct, frozen=True):
    """A decision with all covering bindings and the change that reverses it.

    ``considered`` is in the order of the bindings' fields, so the deciding one need not be first.
    """

    question: Question
    decision: Decision
    considered: tuple[Considered, ...]
    flip: Flip


def explanation(policy: Policy, snapshot: Snapshot, question: Question) -> Explanation:
    """Explain a decision. Cost: O(number of bindings that cover the resource)."""
    decision = explain(policy, snapshot, question)
    hosts = snapshot.hosts_matching(question.host)
    patterns = snapshot.types[question.resource_type].patterns
    covering = [
        binding
        for pattern in covering_patterns(patterns, single(question.name))
        for binding in patterns.get(*pattern) or ()
    ]
    considered = tuple(
        Considered(binding, bearing_of(binding, question, hosts)) for binding in sorted(covering)
    )
    flip = _flip(policy, snapshot, question, decision, considered)
    return Explanation(question, decision, considered, flip)


def split_size(denying: AclBinding, name: str) -> int | None:
    """Return how many DENYs deny all that a DENY on topics denies, but for one name.

    A prefix of a name is followed by any letter but the next one, at each length; what begins with
    the whole name is denied too. None: other names may have any letters, so that no number does.
    """
    kind, prefix, pattern_type = denying.pattern
    if kind is not ResourceType.TOPIC:
        return None
    if pattern_type is PatternType.LITERAL:
        prefix = ""
    # The shorter names themselves are literals; there is no empty one.
    return _TOPIC_LETTERS * (len(name) - len(prefix) + 1) - (not prefix)


def apply_change(
    snapshot: Snapshot, added: Iterable[AclBinding] = (), removed: Iterable[AclBinding] = ()
) -> Snapshot:
    """Return the snapshot after a change; added bindings have an empty id."""
    return snapshot.without(removed).with_changes(("", binding) for binding in added)


def bearing_of(binding: AclBinding, question: Question, hosts: Collection[str]) -> Bearing:
    """Return the bearing of a binding that covers the resource.

    ``hosts`` are those of ACLs that the client matches.
    """
    principal, host, operation, permission_type = binding.entry
    if principal not in (question.principal, WILDCARD_PRINCIPAL):
        return Bearing.OTHER_PRINCIPAL
    if host not in hosts:
        return Bearing.OTHER_HOST
    bit = entry_bit(operation, permission_type)
    if bit & DENY_TESTS[question.operation]:
        return Bearing.DENIES
    if not bit & ALLOW_TESTS[question.operation]:
        return Bearing.OTHER_OPERATION
    literally = operation in (question.operation, AclOperation.ALL)
    return Bearing.ALLOWS if literally else Bearing.IMPLIES


def _flip(
    policy: Policy,
    snapshot: Snapshot,
    question: Question,
    decision: Decision,
    considered: tuple[Considered, ...],
) -> Flip:
    if decision.rule is RuleKind.SUPER_USER:
        return Flip()
    if decision.allowed:
        allowing = _with(considered, Bearing.ALLOWS, Bearing.IMPLIES)
        if len(allowing) == 1:
            without = apply_change(snapshot, removed=allowing)
            # With allow.everyone.if.no.acl.found, removing the last ACL may open the resource.
            if not allows(policy, without, question):
                return Flip(removed=allowing)
        return Flip(added=(_binding(question, AclPermissionType.DENY),))
    denying = _with(considered, Bearing.DENIES)
    if allows(policy, apply_change(snapshot, removed=denying), question):
        return Flip(removed=denying)
    return Flip(added=(_binding(question, AclPermissionType.ALLOW),), removed=denying)


def _with(considered: tuple[Considered, ...], *bearings: Bearing) -> tuple[AclBinding, ...]:
    return tuple(acl.binding for acl in considered if acl.bearing in bearings)


def _binding(question: Question, permission_type: AclPermissionType) -> AclBinding:
    """Return the narrowest binding that decides the question."""
    return AclBinding(
        ResourcePattern(question.resource_type, question.name, PatternType.LITERAL),
        AccessControlEntry(question.principal, question.host, question.operation, permission_type),
    )
