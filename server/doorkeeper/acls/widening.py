"""Changes that may permit requests: ALLOWs that are added, and DENYs that are removed.

One that another ACL covers permits nothing: an added ALLOW, that a present ALLOW covers alone; a
removed DENY, that a remaining DENY covers alone. The rest is reported, even where a DENY or a super
user makes it void, so that a plan without widening never permits a request that was refused, where
``allow.everyone.if.no.acl.found`` is false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
)
from doorkeeper.acls.operations import IMPLIED_BY
from doorkeeper.acls.regions import WILD, is_within, names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from doorkeeper.acls.plan import Plan


def widening(present: Collection[AclBinding], plan: Plan) -> tuple[AclBinding, ...]:
    """Return the added ALLOWs and the removed DENYs that may permit a request."""
    before = set(present)
    after = (before | set(plan.added)).difference(plan.removed)
    # An ALLOW counts against the ACLs of before: two added ones may cover each other.
    allows = (
        binding for binding in plan.added if _is_allow(binding) and not _is_covered(binding, before)
    )
    denies = (
        binding
        for binding in plan.removed
        if not _is_allow(binding) and not _is_covered(binding, after)
    )
    return (*allows, *denies)


def _is_allow(binding: AclBinding) -> bool:
    return binding.entry.permission_type is AclPermissionType.ALLOW


def _is_covered(binding: AclBinding, others: set[AclBinding]) -> bool:
    return any(cover in others for cover in _covers(binding))


def _covers(binding: AclBinding) -> Iterator[AclBinding]:
    """Yield each binding that covers a binding alone; itself too."""
    principal, host, operation, permission = binding.entry
    operations = [operation, AclOperation.ALL]
    # A DENY of an operation that implies another one does not deny that one.
    if _is_allow(binding):
        operations += IMPLIED_BY.get(operation, ())
    for pattern in _covering_patterns(binding.pattern):
        for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)):
            for address in dict.fromkeys((host, WILDCARD)):
                for does in operations:
                    entry = AccessControlEntry(who, address, does, permission)
                    yield AclBinding(pattern, entry)


def _covering_patterns(pattern: ResourcePattern) -> Iterator[ResourcePattern]:
    resource_type, name, pattern_type = pattern
    yield pattern
    # It does not cover names that begin with an asterisk and go on.
    if is_within(names_of(pattern), WILD):
        yield ResourcePattern(resource_type, WILDCARD, PatternType.LITERAL)
    # Of a LITERAL asterisk, only the empty prefix covers all names.
    prefixed = "" if (name, pattern_type) == (WILDCARD, PatternType.LITERAL) else name
    for length in range(len(prefixed) + 1):
        yield ResourcePattern(resource_type, prefixed[:length], PatternType.PREFIXED)
