"""Builds a snapshot from many bindings at once, several times faster than adding them singly.

``load`` makes one of nothing: its indexes are first plain dictionaries, and persistent maps at the
end. ``extended`` adds to one: what is touched is gathered in dictionaries, so that each map on the
way is changed once, with all that is new in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

from doorkeeper.acl.cells import with_bit
from doorkeeper.acl.model import AclBinding, PatternType, ResourceType
from doorkeeper.acl.names import Names, names_of
from doorkeeper.acl.operations import entry_bit
from doorkeeper.acl.snapshot import EMPTY_TYPE, Snapshot, TypeIndex
from doorkeeper.acl.steps import stepped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acl.cells import Cell
    from doorkeeper.acl.model import AccessControlEntry, ResourcePattern
    from doorkeeper.acl.snapshot import Group

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_PREFIXED = PatternType.PREFIXED

_Groups = dict[str, "dict[AclBinding, str]"]
_Cells = dict[str, "Cell"]
_Additions = dict[str, tuple["ResourcePattern", "Group", dict[AclBinding, str]]]
"""By name: the pattern, the group as it was, and what comes to it."""


class _Stage:
    """What was read of one resource type: literals and prefixes apart."""

    __slots__ = ("groups", "principals")

    def __init__(self) -> None:
        self.groups: tuple[_Groups, _Groups] = ({}, {})
        self.principals: dict[str, tuple[_Cells, _Cells]] = {}

    def index(self) -> TypeIndex:
        """Return the finished index; the stage is emptied, so that memory is needed only once."""
        if not self.principals:
            return EMPTY_TYPE
        literals, prefixes = self.groups
        patterns: Names[Group] = names_of(_frozen(literals), _frozen(prefixes))
        principals = {who: names_of(*cells) for who, cells in self.principals.items()}
        self.groups = ({}, {})
        self.principals = {}
        return TypeIndex(patterns, Map(principals))


def load(stored: Iterable[tuple[str, AclBinding]]) -> Snapshot:
    """Return the snapshot of these bindings with their ids; of equal ones the first counts.

    About 3 us for a binding, at a hundred thousand as at a million.
    """
    stages = tuple(_Stage() for _ in range(max(ResourceType) + 1))
    count = 0
    for binding_id, binding in stored:
        (code, name, pattern_type), entry = binding
        stage = stages[code]
        kind = pattern_type is _PREFIXED
        groups = stage.groups[kind]
        group = groups.get(name)
        if group is None:
            groups[name] = {binding: binding_id}
        elif binding in group:
            continue
        else:
            group[AclBinding(next(iter(group)).pattern, entry)] = binding_id
        count += 1
        principal, host, operation, permission_type = entry
        both = stage.principals.get(principal)
        if both is None:
            both = stage.principals[principal] = ({}, {})
        cells = both[kind]
        cells[name] = with_bit(cells.get(name, 0), host, entry_bit(operation, permission_type))
    return Snapshot(tuple(stage.index() for stage in stages), count)


def extended(snapshot: Snapshot, stored: Iterable[tuple[str, AclBinding]]) -> Snapshot:
    """Return the state after these bindings, with their ids, were created.

    As ``Snapshot.with_added``, which is faster for a few.
    """
    additions: dict[int, _Addition] = {}
    count = snapshot.count
    for binding_id, binding in stored:
        code = binding.pattern.resource_type
        addition = additions.get(code)
        if addition is None:
            addition = additions[code] = _Addition(snapshot.types[code])
        count += addition.add(binding_id, binding)
    types = list(snapshot.types)
    touched: list[ResourcePattern] = []
    for kind, addition in additions.items():
        types[kind] = addition.index()
        touched += addition.patterns()
    return Snapshot(tuple(types), count, stepped(snapshot.steps, touched))


class _Addition:
    """What comes to one resource type: literals and prefixes apart, as in a stage."""

    __slots__ = ("_before", "_cells", "_groups")

    def __init__(self, before: TypeIndex) -> None:
        self._before = before
        self._groups: tuple[_Additions, _Additions] = ({}, {})
        self._cells: dict[str, tuple[_Cells, _Cells]] = {}

    def add(self, binding_id: str, binding: AclBinding) -> bool:
        """Take a binding; say whether it is new."""
        pattern, entry = binding
        _, name, pattern_type = pattern
        kind = pattern_type is _PREFIXED
        groups = self._groups[kind]
        touched = groups.get(name)
        if touched is None:
            before = self._before.patterns.get(name, pattern_type)
            if before is None:
                groups[name] = (pattern, _NOTHING, {binding: binding_id})
                self._hold(pattern, entry)
                return True
            touched = groups[name] = (next(iter(before)).pattern, before, {})
        pattern, held, added = touched
        if binding in held or binding in added:
            return False
        added[AclBinding(pattern, entry)] = binding_id
        self._hold(pattern, entry)
        return True

    def patterns(self) -> Iterator[ResourcePattern]:
        """Return where bindings have come, or were there already."""
        for groups in self._groups:
            for pattern, _, _ in groups.values():
                yield pattern

    def _hold(self, pattern: ResourcePattern, entry: AccessControlEntry) -> None:
        """Put a new entry into the cell of its principal."""
        _, name, pattern_type = pattern
        principal, host, operation, permission_type = entry
        both = self._cells.get(principal)
        if both is None:
            both = self._cells[principal] = ({}, {})
        cells = both[pattern_type is _PREFIXED]
        cell = cells.get(name)
        if cell is None:
            names = self._before.principals.get(principal)
            cell = 0 if names is None else names.get(name, pattern_type) or 0
        cells[name] = with_bit(cell, host, entry_bit(operation, permission_type))

    def index(self) -> TypeIndex:
        """Return the index with what has come."""
        literals, prefixes = (
            {
                name: held.update(added) if held else Map(added)
                for name, (_, held, added) in groups.items()
                if added
            }
            for groups in self._groups
        )
        before = self._before
        principals = {}
        for principal, cells in self._cells.items():
            names = before.principals.get(principal)
            principals[principal] = names_of(*cells) if names is None else names.updated(*cells)
        return TypeIndex(
            before.patterns.updated(literals, prefixes), before.principals.update(principals)
        )


_NOTHING: Group = Map()


def _frozen(groups: _Groups) -> dict[str, Group]:
    return {name: Map(group) for name, group in groups.items()}
