"""Which bindings a filter asks for, one binding at a time.

``find`` in ``doorkeeper.acls.search`` answers the same question through the indexes.

Source: ``ResourcePatternFilter.matches``, ``AccessControlEntryFilter.matches`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable

from doorkeeper.acls.model import (
    WILDCARD,
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_ANY_TYPE = ResourceType.ANY
_ANY_PATTERN = PatternType.ANY
_MATCH = PatternType.MATCH
_LITERAL = PatternType.LITERAL
_ANY_OPERATION = AclOperation.ANY
_ANY_PERMISSION = AclPermissionType.ANY


def matches(filter: AclBindingFilter, binding: AclBinding) -> bool:
    return pattern_matches(filter.pattern, binding.pattern) and entry_matches(
        filter.entry, binding.entry
    )


def known_bindings(bindings: Iterable[AclBinding]) -> list[AclBinding]:
    """Return the bindings without UNKNOWN codes.

    Only they may be compared with a desired set: that set cannot name the others, so that each
    comparison would remove them.
    """
    return [binding for binding in bindings if not has_unknown(binding)]


def has_unknown(item: AclBinding | AclBindingFilter) -> bool:
    """Say whether a code of a binding or a filter is UNKNOWN, which is 0 in each enumeration."""
    (resource_type, _, pattern_type), (_, _, operation, permission_type) = item
    return 0 in (resource_type, pattern_type, operation, permission_type)


def pattern_matches(filter: ResourcePatternFilter, pattern: ResourcePattern) -> bool:
    """Say whether the filter asks for the pattern.

    A name of None asks for every name, MATCH or not. MATCH with a name asks for every pattern
    that covers it: the literal, the literal ``*`` and each prefix. Every other pattern type
    compares names as they are, so that PREFIXED ``foo`` asks for the pattern ``foo`` alone.
    """
    if filter.resource_type not in (_ANY_TYPE, pattern.resource_type):
        return False
    either = filter.pattern_type in (_ANY_PATTERN, _MATCH)
    if not either and filter.pattern_type is not pattern.pattern_type:
        return False
    if filter.name is None:
        return True
    if filter.pattern_type is not _MATCH:
        return filter.name == pattern.name
    return covers(pattern, filter.name)


def covers(pattern: ResourcePattern, name: str) -> bool:
    """Say whether the pattern is for the resource of this name: the literal, ``*`` or a prefix."""
    if pattern.pattern_type is _LITERAL:
        return pattern.name in (name, WILDCARD)
    return name.startswith(pattern.name)


def entry_matches(filter: AccessControlEntryFilter, entry: AccessControlEntry) -> bool:
    """Say whether the filter asks for the entry.

    Principal and host are compared as texts: ``User:*`` and ``*`` ask for those very texts. ALL
    asks for entries of ALL only, ANY for every operation.
    """
    return (
        (filter.principal is None or filter.principal == entry.principal)
        and (filter.host is None or filter.host == entry.host)
        and filter.operation in (_ANY_OPERATION, entry.operation)
        and filter.permission_type in (_ANY_PERMISSION, entry.permission_type)
    )
