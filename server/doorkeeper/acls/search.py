"""Finds the bindings that filters ask for, through the indexes.

A filter that names a principal visits only what this principal has; one that names a resource
visits only the patterns that can match it; only a filter with neither visits everything.

``find_each`` answers many filters together: filters that visit the same bindings share one walk,
in which each binding costs one lookup for each set of fields that filters compare, however many
filters there are.
"""

from __future__ import annotations

from itertools import chain, compress, islice, repeat
from operator import is_not, itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from doorkeeper.acls.filters import entry_matches
from doorkeeper.acls.index import masks
from doorkeeper.acls.model import (
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
from doorkeeper.acls.operations import entries_of
from doorkeeper.base.slices import SLICE_ITEMS, sort_in_slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from doorkeeper.acls.index import Cell, Group, Names
    from doorkeeper.acls.model import AclBindingFilter, ResourcePatternFilter
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.base.slices import Slices

    Source = tuple[ResourceType, PatternType, str | None, str | None]
    """Bindings that are visited together: of one type, one name or all, one principal or all."""

    Tables = dict[tuple[int, ...], dict[Any, list[int]]]
    """Positions in the list of filters, by the fields of an entry that these compare, and then by
    the values that they ask for; None stands for those of filters that compare no field."""

V = TypeVar("V")

TYPES: Final = {kind: (kind,) for kind in ResourceType} | {
    ResourceType.ANY: tuple(kind for kind in ResourceType if kind > ResourceType.ANY)
}
"""The resource types that a filter asks for, in order, by the one that it names."""

ALL_ENTRIES = AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY)
"""Asks for every entry."""

_NAME = itemgetter(0)
_ENTRY = itemgetter(1)
_FIELDS = range(len(ALL_ENTRIES))

SLICE: Final = 1024
"""How many bindings are looked at in one slice: in a third of a millisecond."""

_SOURCE: Final = 8
"""A source takes as long to begin as so many bindings to look at."""

# A named tuple's own constructor is a Python function.
_new = tuple.__new__


# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_PREFIXED = PatternType.PREFIXED
_LITERALS: Final = frozenset({PatternType.ANY, PatternType.MATCH, _LITERAL})
_PREFIXES: Final = frozenset({PatternType.ANY, PatternType.MATCH, _PREFIXED})


def find(snapshot: Snapshot, filter: AclBindingFilter) -> SortedBindings:
    """Return the bindings that the filter asks for.

    They are sorted by resource type, name, pattern type, principal, host, operation, permission.
    An UNKNOWN in the filter finds nothing.
    """
    bindings = SortedBindings()
    for resource_type in TYPES[filter.pattern.resource_type]:
        index = snapshot.types[resource_type]
        if filter.entry.principal is None:
            _add_groups(bindings, index.patterns, filter)
        else:
            cells = index.principals.get(filter.entry.principal)
            if cells is not None:
                found = sorted(selected(cells, filter.pattern), key=_NAME)
                bindings += _of_cells(resource_type, found, filter.entry)
    return bindings


class Found(Struct, frozen=True):
    """The bindings that filters ask for: all of them, each once, and those of each filter.

    All lists are sorted.
    """

    bindings: list[AclBinding]
    of_filters: Sequence[list[AclBinding]]


def find_each(
    snapshot: Snapshot, filters: Sequence[AclBindingFilter], bindings_max: int
) -> Slices[Found | None]:
    """Find what each filter asks for, in the order of ``find``; None if it is too much in all.

    Costs one walk over the ACLs at most, and one for each principal that filters name, in slices.
    """
    matches: dict[AclBinding, list[int]] = {}
    seen = 0
    for source, tables in (yield from _grouped(snapshot, filters)).items():
        bindings = _bindings_of(snapshot, source)
        while part := list(islice(bindings, SLICE)):
            _add_matches(part, tables, matches)
            if len(matches) > bindings_max:
                return None
            seen += len(part) + _SOURCE
            if seen >= SLICE:
                seen = 0
                yield
    # Sources yield their bindings in the order of hash maps.
    ordered = sorted(matches) if len(matches) <= SLICE else (yield from sort_in_slices(matches))
    if len(filters) == 1:
        return Found(ordered, (ordered,))
    of_filters: list[list[AclBinding]] = [[] for _ in filters]
    for binding in ordered:
        for position in matches[binding]:
            of_filters[position].append(binding)
        seen += len(matches[binding])
        if seen >= SLICE:
            seen = 0
            yield
    return Found(ordered, of_filters)


def _grouped(
    snapshot: Snapshot, filters: Sequence[AclBindingFilter]
) -> Slices[dict[Source, Tables]]:
    """Return the bindings that have to be visited, each with the tables of the filters."""
    grouped: dict[Source, Tables] = {}
    for position, filter in enumerate(filters):
        entry = filter.entry
        fields = tuple(compress(_FIELDS, map(is_not, entry, ALL_ENTRIES)))
        values = itemgetter(*fields)(entry) if fields else None
        for source in _sources(snapshot, filter):
            table = grouped.setdefault(source, {}).setdefault(fields, {})
            table.setdefault(values, []).append(position)
        if (position + 1) % SLICE_ITEMS == 0:
            yield
    return grouped


def _sources(snapshot: Snapshot, filter: AclBindingFilter) -> Iterator[Source]:
    """Return the bindings that have to be visited for a filter."""
    _, name, kind = filter.pattern
    principal = filter.entry.principal
    for resource_type in TYPES[filter.pattern.resource_type]:
        index = snapshot.types[resource_type]
        names: Names[Any] | None = index.patterns
        if principal is not None:
            names = index.principals.get(principal)
        if names is None:
            continue
        if name is not None:
            for pattern_name, pattern_type, _ in selected(names, filter.pattern):
                yield resource_type, pattern_type, pattern_name, principal
            continue
        if names.literals and kind in _LITERALS:
            yield resource_type, _LITERAL, None, principal
        if names.prefixes and kind in _PREFIXES:
            yield resource_type, _PREFIXED, None, principal


def _bindings_of(snapshot: Snapshot, source: Source) -> Iterator[AclBinding]:
    """Return the bindings of a source, in no order."""
    resource_type, kind, name, principal = source
    index = snapshot.types[resource_type]
    names: Names[Any] = index.patterns if principal is None else index.principals[principal]
    values = names.literals if kind is _LITERAL else names.prefixes
    if principal is None:
        return iter(values[name]) if name is not None else chain.from_iterable(values.values())
    cells = values.items() if name is None else ((name, values[name]),)
    entry_filter = ALL_ENTRIES._replace(principal=principal)
    return _of_cells(resource_type, ((name, kind, cell) for name, cell in cells), entry_filter)


def _of_cells(
    resource_type: ResourceType,
    cells: Iterable[tuple[str, PatternType, Cell]],
    filter: AccessControlEntryFilter,
) -> Iterator[AclBinding]:
    """Yield what a filter that names a principal asks for of its cells."""
    # One principal has the same few rights on many resources: their entries are made once.
    known: dict[Cell, list[AccessControlEntry]] = {}
    for name, kind, cell in cells:
        pattern = _new(ResourcePattern, (resource_type, name, kind))
        entries = known.get(cell)
        if entries is None:
            entries = known[cell] = _matching(cell, filter)
        for entry in entries:
            yield _new(AclBinding, (pattern, entry))


def _add_matches(
    bindings: Sequence[AclBinding],
    tables: Tables,
    matches: dict[AclBinding, list[int]],
) -> None:
    """Add to each binding in ``matches`` the positions of the filters that ask for it."""
    for fields, table in tables.items():
        entries = map(_ENTRY, bindings)
        values = map(itemgetter(*fields), entries) if fields else repeat(None)
        for binding, positions in zip(bindings, map(table.get, values), strict=False):
            if positions is not None:
                # A new list for a second match: all bindings with equal fields share the list of
                # the table.
                matches[binding] = matches[binding] + positions if binding in matches else positions


def _add_groups(
    bindings: list[AclBinding],
    patterns: Names[Group],
    filter: AclBindingFilter,
) -> None:
    # A client that asks for everything gets here. Nothing is made for it: the bindings that are
    # stored are the answer, and sorting them is most of the work. Sorting is stable, and names
    # alone are compared fastest: of each name the literal stays first.
    everything = filter.entry == ALL_ENTRIES
    for _, _, group in sorted(selected(patterns, filter.pattern), key=_NAME):
        if everything:
            bindings += sorted(group) if len(group) > 1 else group
        else:
            bindings += sorted(matching(group, filter.entry))


def matching(group: Iterable[AclBinding], filter: AccessControlEntryFilter) -> list[AclBinding]:
    """Return those of some bindings whose entries a filter asks for."""
    return [binding for binding in group if entry_matches(filter, binding.entry)]


def matching_in_cell(
    pattern: ResourcePattern, cell: Cell, filter: AccessControlEntryFilter
) -> list[AclBinding]:
    """Return what a filter that names a principal asks for of its bindings on one pattern."""
    return [AclBinding(pattern, entry) for entry in _matching(cell, filter)]


def _matching(cell: Cell, filter: AccessControlEntryFilter) -> list[AccessControlEntry]:
    principal = filter.principal
    assert principal is not None
    entries = [
        AccessControlEntry(principal, host, operation, permission_type)
        for host, mask in sorted(masks(cell))
        for operation, permission_type in entries_of(mask)
    ]
    return [entry for entry in entries if entry_matches(filter, entry)]


def selected(names: Names[V], filter: ResourcePatternFilter) -> list[tuple[str, PatternType, V]]:
    """Return the wanted patterns of one resource type, of each name the literal first."""
    name, kind = filter.name, filter.pattern_type
    if name is not None and kind is PatternType.MATCH:
        return _covering(names, name)
    selected: list[tuple[str, PatternType, V]] = []
    for pattern_type, values in ((_LITERAL, names.literals), (_PREFIXED, names.prefixes)):
        if kind not in (PatternType.ANY, PatternType.MATCH, pattern_type):
            continue
        if name is None:
            selected += [
                (pattern_name, pattern_type, value) for pattern_name, value in values.items()
            ]
        elif (stored := values.get(name)) is not None:
            selected.append((name, pattern_type, stored))
    return selected


def _covering(names: Names[V], name: str) -> list[tuple[str, PatternType, V]]:
    literals = [
        (literal, _LITERAL, value)
        for literal in {name, WILDCARD}
        if (value := names.literals.get(literal)) is not None
    ]
    return literals + [(prefix, _PREFIXED, value) for prefix, value in names.prefixes_of(name)]
