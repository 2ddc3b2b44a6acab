"""Finds the bindings that a filter asks for, through the indexes.

A filter that names a principal visits only what this principal has; one that names a resource
visits only the patterns that can match it; only a filter with neither visits everything.
"""

from __future__ import annotations

from operator import itemgetter
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
    SortedBindings,
)
from doorkeeper.acl.operations import entries_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.cells import Cell
    from doorkeeper.acl.model import AclBindingFilter, ResourcePatternFilter
    from doorkeeper.acl.names import Names
    from doorkeeper.acl.snapshot import Group, Snapshot

V = TypeVar("V")

ALL_ENTRIES = AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY)
"""Asks for every entry."""

_NAME = itemgetter(0)

# A named tuple's own constructor is a Python function.
_new = tuple.__new__


# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_PREFIXED = PatternType.PREFIXED


def find(snapshot: Snapshot, wanted: AclBindingFilter) -> SortedBindings:
    """Return the bindings that the filter asks for.

    They are sorted by resource type, name, pattern type, principal, host, operation, permission.
    An UNKNOWN in the filter finds nothing.
    """
    found = SortedBindings()
    for resource_type in types_of(wanted.pattern):
        index = snapshot.types[resource_type]
        if wanted.entry.principal is None:
            _add_groups(found, index.patterns, wanted)
        else:
            cells = index.principals.get(wanted.entry.principal)
            if cells is not None:
                _add_cells(found, resource_type, cells, wanted)
    return found


def types_of(wanted: ResourcePatternFilter) -> tuple[ResourceType, ...]:
    """Return the resource types that a filter asks for, in order."""
    if wanted.resource_type is ResourceType.ANY:
        return tuple(each for each in ResourceType if each > ResourceType.ANY)
    return (wanted.resource_type,)


def _add_groups(
    found: list[AclBinding],
    patterns: Names[Group],
    wanted: AclBindingFilter,
) -> None:
    # A client that asks for everything gets here. Nothing is made for it: the bindings that are
    # stored are the answer, and sorting them is most of the work. Sorting is stable, and names
    # alone are compared fastest: of each name the literal stays first.
    everything = wanted.entry == ALL_ENTRIES
    for _, _, group in sorted(selected(patterns, wanted.pattern), key=_NAME):
        if everything:
            found += sorted(group) if len(group) > 1 else group
        else:
            found += sorted(matching(group, wanted.entry))


def matching(group: Iterable[AclBinding], wanted: AccessControlEntryFilter) -> list[AclBinding]:
    """Return those of some bindings whose entries a filter asks for."""
    return [each for each in group if entry_matches(wanted, each.entry)]


def _add_cells(
    found: list[AclBinding],
    resource_type: ResourceType,
    cells: Names[Cell],
    wanted: AclBindingFilter,
) -> None:
    # One principal has the same few rights on many resources: their entries are made once.
    known: dict[Cell, list[AccessControlEntry]] = {}
    for name, pattern_type, cell in sorted(selected(cells, wanted.pattern), key=_NAME):
        pattern = _new(ResourcePattern, (resource_type, name, pattern_type))
        entries = known.get(cell)
        if entries is None:
            entries = known[cell] = _matching(cell, wanted.entry)
        found += [_new(AclBinding, (pattern, entry)) for entry in entries]


def matching_in_cell(
    pattern: ResourcePattern, cell: Cell, wanted: AccessControlEntryFilter
) -> list[AclBinding]:
    """Return what a filter that names a principal asks for of its bindings on one pattern."""
    return [AclBinding(pattern, entry) for entry in _matching(cell, wanted)]


def _matching(cell: Cell, wanted: AccessControlEntryFilter) -> list[AccessControlEntry]:
    principal = wanted.principal
    assert principal is not None
    entries = [
        AccessControlEntry(principal, host, operation, permission_type)
        for host, mask in sorted(masks(cell))
        for operation, permission_type in entries_of(mask)
    ]
    return [each for each in entries if entry_matches(wanted, each)]


def selected(names: Names[V], wanted: ResourcePatternFilter) -> list[tuple[str, PatternType, V]]:
    """Return the wanted patterns of one resource type, of each name the literal first."""
    name, kind = wanted.name, wanted.pattern_type
    if name is not None and kind is PatternType.MATCH:
        return _covering(names, name)
    selected: list[tuple[str, PatternType, V]] = []
    for pattern_type in (_LITERAL, _PREFIXED):
        if kind not in (PatternType.ANY, PatternType.MATCH, pattern_type):
            continue
        if name is None:
            values = names.literals if pattern_type is _LITERAL else names.prefixes
            selected += [(each, pattern_type, value) for each, value in values.items()]
        elif (found := names.get(name, pattern_type)) is not None:
            selected.append((name, pattern_type, found))
    return selected


def _covering(names: Names[V], name: str) -> list[tuple[str, PatternType, V]]:
    literals = [
        (literal, _LITERAL, value)
        for literal in {name, WILDCARD}
        if (value := names.literals.get(literal)) is not None
    ]
    return literals + [(prefix, _PREFIXED, value) for prefix, value in names.prefixes_of(name)]
