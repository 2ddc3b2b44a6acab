"""One immutable state of all ACLs, with the indexes that decisions and answers need.

For each resource type there are two indexes, both persistent:

    patterns     pattern -> group: its bindings and their ids     describe, delete, coverage
    principals   principal -> pattern -> cell: masks by host      decisions, filters by principal

A decision looks at two principals, the asking one and ``User:*``, and in each at the literal of
the name, the literal ``*`` and the prefixes whose lengths occur there. Its cost depends on the
number of those lengths, not on the number of ACLs.

A change copies the path to what it touches, O(log n), and shares everything else with the
snapshot it came from; ``docs/decisions/0020-persistent-maps.md`` has the measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from immutables import Map

from doorkeeper.acl.cells import Cell, with_bit, without_bit
from doorkeeper.acl.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    ResourceType,
)
from doorkeeper.acl.names import Names, empty_names, wildcard_covers
from doorkeeper.acl.operations import entry_bit
from doorkeeper.acl.steps import Step, stepped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.steps import Steps

Group = Map[AclBinding, str]
"""The bindings of one pattern, which is one object for all of them, each with its id."""


class TypeIndex(NamedTuple):
    """All ACLs of one resource type."""

    patterns: Names[Group]
    principals: Map[str, Names[Cell]]


EMPTY_TYPE = TypeIndex(empty_names(), Map())


class Snapshot:
    """All ACLs at one moment. Never changes; ``with_added`` and ``without`` return another one."""

    __slots__ = ("count", "steps", "types")

    def __init__(
        self, types: tuple[TypeIndex, ...], count: int, steps: Steps | None = None
    ) -> None:
        """Take the indexes by code of the resource type, and the number of bindings.

        ``steps`` lead here from the states that this one was made of; None where there were none.
        """
        self.types = types
        self.count = count
        self.steps = steps or (Step(),)

    def id_of(self, binding: AclBinding) -> str | None:
        """Return the id of a binding, None where there is no such binding."""
        pattern = binding.pattern
        group = self.types[pattern.resource_type].patterns.get(pattern.name, pattern.pattern_type)
        return None if group is None else group.get(binding)

    def __contains__(self, binding: AclBinding) -> bool:
        """Say whether the binding exists."""
        return self.id_of(binding) is not None

    def __len__(self) -> int:
        """Return the number of bindings."""
        return self.count

    def effective_mask(
        self, resource_type: ResourceType, name: str, principal: str, host: str
    ) -> int:
        """Return all that covers the resource for one principal at one address, as one mask."""
        principals = self.types[resource_type].principals
        own = principals.get(principal)
        everyones = principals.get(WILDCARD_PRINCIPAL)
        mask = 0 if own is None else _mask_in(own, name, host)
        return mask if everyones is None else mask | _mask_in(everyones, name, host)

    def covers(self, resource_type: ResourceType, name: str) -> bool:
        """Say whether any ACL, of whomever, has a pattern that covers the resource."""
        patterns = self.types[resource_type].patterns
        literals = patterns.literals
        if name in literals or (WILDCARD in literals and wildcard_covers(name)):
            return True
        return next(patterns.prefixes_of(name), None) is not None

    def with_added(self, stored: Iterable[tuple[str, AclBinding]]) -> Snapshot:
        """Return the state after these bindings, with their ids, were created.

        One that exists already keeps the id it has.
        """
        types = list(self.types)
        touched = []
        for binding_id, binding in stored:
            pattern = binding.pattern
            changed = _added(types[pattern.resource_type], binding_id, binding)
            if changed is not None:
                types[pattern.resource_type] = changed
                touched.append(pattern)
        count = self.count + len(touched)
        return Snapshot(tuple(types), count, stepped(self.steps, touched))

    def without(self, bindings: Iterable[AclBinding]) -> Snapshot:
        """Return the state after these bindings were deleted; one that is missing stays missing."""
        types = list(self.types)
        touched = []
        for binding in bindings:
            pattern = binding.pattern
            changed = _removed(types[pattern.resource_type], binding)
            if changed is not None:
                types[pattern.resource_type] = changed
                touched.append(pattern)
        count = self.count - len(touched)
        return Snapshot(tuple(types), count, stepped(self.steps, touched))


EMPTY = Snapshot((EMPTY_TYPE,) * (max(ResourceType) + 1), 0)
"""The state without any ACL."""


def _mask_in(names: Names[Cell], name: str, host: str) -> int:
    # The hot path of every decision: written out, without generators and calls.
    literals, prefixes, lengths, _ = names
    mask = 0
    cell = literals.get(name)
    if cell is not None:
        mask = cell if isinstance(cell, int) else cell.get(WILDCARD, 0) | cell.get(host, 0)
    cell = literals.get(WILDCARD)
    if cell is not None and wildcard_covers(name):
        mask |= cell if isinstance(cell, int) else cell.get(WILDCARD, 0) | cell.get(host, 0)
    if lengths:
        size = len(name)
        for length in lengths:
            if length > size:
                break
            cell = prefixes.get(name[:length])
            if cell is not None:
                mask |= cell if isinstance(cell, int) else cell.get(WILDCARD, 0) | cell.get(host, 0)
    return mask


def _added(index: TypeIndex, binding_id: str, binding: AclBinding) -> TypeIndex | None:
    """Return the index with the binding, None where it has it already."""
    (_, name, pattern_type), entry = binding
    principal, host, operation, permission_type = entry
    group = index.patterns.get(name, pattern_type)
    if group is None:
        group = Map()
    elif binding in group:
        return None
    else:
        binding = AclBinding(next(iter(group)).pattern, entry)
    cells = index.principals.get(principal)
    if cells is None:
        cells = empty_names()
    cell = with_bit(cells.get(name, pattern_type) or 0, host, entry_bit(operation, permission_type))
    return TypeIndex(
        index.patterns.with_value(name, pattern_type, group.set(binding, binding_id)),
        index.principals.set(principal, cells.with_value(name, pattern_type, cell)),
    )


def _removed(index: TypeIndex, binding: AclBinding) -> TypeIndex | None:
    """Return the index without the binding, None where it does not have it."""
    (_, name, pattern_type), entry = binding
    principal, host, operation, permission_type = entry
    group = index.patterns.get(name, pattern_type)
    if group is None or binding not in group:
        return None
    group = group.delete(binding)
    patterns = (
        index.patterns.with_value(name, pattern_type, group)
        if group
        else index.patterns.without(name, pattern_type)
    )
    cells = index.principals[principal]
    cell = without_bit(
        cells.get(name, pattern_type) or 0, host, entry_bit(operation, permission_type)
    )
    cells = (
        cells.with_value(name, pattern_type, cell) if cell else cells.without(name, pattern_type)
    )
    principals = (
        index.principals.set(principal, cells) if cells else index.principals.delete(principal)
    )
    return TypeIndex(patterns, principals)
