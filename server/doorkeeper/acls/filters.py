"""Which bindings a filter asks for, one binding at a time.

``find`` in ``doorkeeper.acls.search`` answers the same question through the indexes.

Source: ``ResourcePatternFilter.matches``, ``AccessControlEntryFilter.matches`` (4.3.1).
"""

from __future__ import annotations

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


def matches(wanted: AclBindingFilter, binding: AclBinding) -> bool:
    """Say whether the filter asks for the binding."""
    return pattern_matches(wanted.pattern, binding.pattern) and entry_matches(
        wanted.entry, binding.entry
    )


def pattern_matches(wanted: ResourcePatternFilter, pattern: ResourcePattern) -> bool:
    """Say whether the filter asks for the pattern.

    A name of None asks for every name, MATCH or not. MATCH with a name asks for every pattern
    that covers it: the literal, the literal ``*`` and each prefix. Every other pattern type
    compares names as they are, so that PREFIXED ``foo`` asks for the pattern ``foo`` alone.
    """
    if wanted.resource_type not in (_ANY_TYPE, pattern.resource_type):
        return False
    either = wanted.pattern_type in (_ANY_PATTERN, _MATCH)
    if not either and wanted.pattern_type is not pattern.pattern_type:
        return False
    if wanted.name is None:
        return True
    if wanted.pattern_type is not _MATCH:
        return wanted.name == pattern.name
    if pattern.pattern_type is _LITERAL:
        return pattern.name in (wanted.name, WILDCARD)
    return wanted.name.startswith(pattern.name)


def entry_matches(wanted: AccessControlEntryFilter, entry: AccessControlEntry) -> bool:
    """Say whether the filter asks for the entry.

    Principal and host are compared as texts: ``User:*`` and ``*`` ask for those very texts. ALL
    asks for entries of ALL only, ANY for every operation.
    """
    return (
        (wanted.principal is None or wanted.principal == entry.principal)
        and (wanted.host is None or wanted.host == entry.host)
        and wanted.operation in (_ANY_OPERATION, entry.operation)
        and wanted.permission_type in (_ANY_PERMISSION, entry.permission_type)
    )
