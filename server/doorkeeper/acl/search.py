"""Finds the bindings that a filter asks for, through the indexes.

A filter that names a principal visits only what this principal has; one that names a resource
visits only the patterns that can match it; only a filter with neither visits everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from doorkeeper.acl.cells import masks
from doorkeeper.acl.filters import entry_matches
from doorkeeper.acl.model import (
    WILDCARD,
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acl.operations import entries_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acl.model import AclBindingFilter, ResourcePatternFilter
    from doorkeeper.acl.names import Names
    from doorkeeper.acl.snapshot import Snapshot, TypeIndex

V = TypeVar("V")

_ALL_ENTRIES = AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY)


def find(snapshot: Snapshot, wanted: AclBindingFilter) -> list[AclBinding]:
    """Return the bindings that the filter asks for.

    They are sorted by resource type, name, pattern type, principal, host, operation, permission.
    An UNKNOWN in the filter finds nothing.
    """
    found: list[AclBinding] = []
    for resource_type in _types(wanted.pattern.resource_type):
        groups = list(_in_type(snapshot.types[resource_type], resource_type, wanted))
        groups.sort(key=_pattern_of)
        for pattern, entries in groups:
            found.extend([AclBinding(pattern, entry) for entry in sorted(entries)])
    return found


def _types(wanted: ResourceType) -> Iterable[ResourceType]:
    if wanted is ResourceType.ANY:
        return (each for each in ResourceType if each > ResourceType.ANY)
    return (wanted,)


def _pattern_of(group: tuple[ResourcePattern, Iterable[AccessControlEntry]]) -> ResourcePattern:
    return group[0]


def _in_type(
    index: TypeIndex, resource_type: ResourceType, wanted: AclBindingFilter
) -> Iterator[tuple[ResourcePattern, Iterable[AccessControlEntry]]]:
    """Return the patterns with the wanted entries, both in no order."""
    if wanted.entry.principal is not None:
        cells = index.principals.get(wanted.entry.principal)
        if cells is not None:
            for name, pattern_type, cell in _selected(cells, wanted.pattern):
                pattern = ResourcePattern(resource_type, name, pattern_type)
                yield pattern, _entries(wanted.entry.principal, masks(cell), wanted.entry)
        return
    for name, pattern_type, group in _selected(index.patterns, wanted.pattern):
        pattern = ResourcePattern(resource_type, name, pattern_type)
        if wanted.entry == _ALL_ENTRIES:
            yield pattern, group
        else:
            yield pattern, [entry for entry in group if entry_matches(wanted.entry, entry)]


def _entries(
    principal: str, cell: Iterable[tuple[str, int]], wanted: AccessControlEntryFilter
) -> list[AccessControlEntry]:
    """Return the wanted entries that the bits of one principal's cell stand for."""
    entries = (
        AccessControlEntry(principal, host, operation, permission_type)
        for host, mask in cell
        for operation, permission_type in entries_of(mask)
    )
    return [entry for entry in entries if entry_matches(wanted, entry)]


def _selected(
    names: Names[V], wanted: ResourcePatternFilter
) -> Iterator[tuple[str, PatternType, V]]:
    """Return the wanted patterns of one resource type, in no order."""
    name, kind = wanted.name, wanted.pattern_type
    if name is not None and kind is PatternType.MATCH:
        yield from _covering(names, name)
        return
    for pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
        if kind not in (PatternType.ANY, PatternType.MATCH, pattern_type):
            continue
        if name is None:
            values = names.literals if pattern_type is PatternType.LITERAL else names.prefixes
            for each, value in values.items():
                yield each, pattern_type, value
        elif (found := names.get(name, pattern_type)) is not None:
            yield name, pattern_type, found


def _covering(names: Names[V], name: str) -> Iterator[tuple[str, PatternType, V]]:
    for literal in {name, WILDCARD}:
        value = names.literals.get(literal)
        if value is not None:
            yield literal, PatternType.LITERAL, value
    for prefix, value in names.prefixes_of(name):
        yield prefix, PatternType.PREFIXED, value
