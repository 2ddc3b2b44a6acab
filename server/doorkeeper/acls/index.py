"""What the indexes of a snapshot are made of: patterns by name, and masks by host.

``Names`` answers which of its patterns cover a resource: the literal of that name, the literal
``*``, and each prefix of the name. Prefixes are found by probing: the lengths that occur are
kept in a tuple, and each of them that is not longer than the name costs one look-up.

Worked example: of the prefixes ``a``, ``ab``, ``orders-`` the lengths are (1, 2, 7); for the
resource ``abc`` the probes are ``a`` and ``ab``; 7 is longer than the name.

Changing one costs O(log n) and shares all the rest with the index it came from. ``TypeEdit``
gathers the changes of one resource type, and makes the next ``TypeIndex`` of them.

A cell has the entries of one principal on one pattern. Nearly all ACLs are for all hosts, so it is
a plain mask (``int``) while only the host ``*`` occurs, and a persistent map from host to mask
otherwise. An empty cell is 0. Each entry is one bit, so removing an entry clears a bit, and nothing
has to be recomputed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from immutables import Map, MapMutation

from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    PatternType,
    ResourcePattern,
)
from doorkeeper.acls.operations import ENTRY_BITS

K = TypeVar("K")
V = TypeVar("V")


# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_PREFIXED = PatternType.PREFIXED


class Names(NamedTuple, Generic[V]):
    """Values by pattern name, literal and prefixed."""

    literals: Map[str, V]
    prefixes: Map[str, V]
    lengths: tuple[int, ...]
    """The lengths of the prefixes, ascending, each once."""
    length_counts: Map[int, int]
    """How many prefixes have each length."""

    def get(self, name: str, pattern_type: PatternType) -> V | None:
        """Return the value of exactly this pattern."""
        if pattern_type is _LITERAL:
            return self.literals.get(name)
        return self.prefixes.get(name)

    def updated(self, literals: dict[str, V], prefixes: dict[str, V]) -> Names[V]:
        """Set the values of many patterns; an empty value deletes its pattern."""
        before_literals, before_prefixes, lengths, counts = self
        changed: dict[int, int] = {}
        for name, value in prefixes.items():
            # 1 for a new prefix, -1 for a deleted one, 0 for another value of a present one.
            difference = bool(value) - (name in before_prefixes)
            if difference:
                changed[len(name)] = changed.get(len(name), counts.get(len(name), 0)) + difference
        if changed:
            counts = update_map(counts, changed)
            # A count of 0 has removed its length from the map.
            lengths = tuple(sorted(counts))
        return Names(
            update_map(before_literals, literals) if literals else before_literals,
            update_map(before_prefixes, prefixes) if prefixes else before_prefixes,
            lengths,
            counts,
        )

    def __bool__(self) -> bool:
        return bool(self.literals) or bool(self.prefixes)

    def patterns(self) -> Iterator[tuple[str, PatternType, V]]:
        """Return everything, in no order."""
        for name, value in self.literals.items():
            yield name, _LITERAL, value
        for name, value in self.prefixes.items():
            yield name, _PREFIXED, value

    def prefixes_of(self, name: str) -> Iterator[tuple[str, V]]:
        """Return the prefixed patterns that cover a name, the shortest first."""
        size = len(name)
        prefixes = self.prefixes
        for length in self.lengths:
            # The lengths ascend, so no later prefix can cover the name either.
            if length > size:
                return
            prefix = name[:length]
            value = prefixes.get(prefix)
            if value is not None:
                yield prefix, value


def update_map(before: Map[K, V], values: dict[K, V]) -> Map[K, V]:
    """Return the map with many values set; a key whose value is empty is removed."""
    # ``Map.update`` is one call into C; it cannot delete.
    if all(values.values()):
        return before.update(values)
    mutation = before.mutate()
    for key, value in values.items():
        if value:
            mutation[key] = value
        else:
            mutation.pop(key, None)
    return mutation.finish()


def empty_names() -> Names[V]:
    """Return an index without patterns."""
    return Names(Map(), Map(), (), Map())


def names_of(literals: dict[str, V], prefixes: dict[str, V]) -> Names[V]:
    """Build an index in one go."""
    counts: dict[int, int] = {}
    for name in prefixes:
        counts[len(name)] = counts.get(len(name), 0) + 1
    return Names(Map(literals), Map(prefixes), tuple(sorted(counts)), Map(counts))


def wildcard_covers(name: str) -> bool:
    """Say whether the literal pattern ``*`` covers a resource of this name.

    It covers all but those whose own name begins with ``*`` and goes on: the broker's walk takes
    the pattern for a shorter literal name and skips it.

    Source: ``StandardAuthorizerData.checkSection`` (4.3.1).
    """
    return not name.startswith(WILDCARD) or name == WILDCARD


# --- cells

Cell = int | Map[str, int]
"""A mask for the host ``*``, or a mask for each host. Masks in a map are never 0."""


def mask_for(cell: Cell, hosts: Collection[str]) -> int:
    """Return the mask for a client that matches these hosts, ``*`` among them."""
    if isinstance(cell, int):
        return cell
    mask = 0
    # Visit the smaller side: a client in many networks matches many hosts, and a popular principal
    # has ACLs for many.
    if len(hosts) <= len(cell):
        for host in hosts:
            mask |= cell.get(host, 0)
    else:
        for host, held in cell.items():
            if host in hosts:
                mask |= held
    return mask


def mask_at(cell: Cell, host: str) -> int:
    """Return the mask of one host of ACLs; 0 where the cell does not name it."""
    if isinstance(cell, int):
        return cell if host == WILDCARD else 0
    return cell.get(host, 0)


def masks(cell: Cell) -> Iterable[tuple[str, int]]:
    """Return (host, mask) pairs."""
    if isinstance(cell, int):
        return ((WILDCARD, cell),) if cell else ()
    return cell.items()


def with_bit(cell: Cell, host: str, bit: int) -> Cell:
    """Return the cell with one more entry."""
    if isinstance(cell, int):
        if host == WILDCARD:
            return cell | bit
        # Masks in a map are never 0, which ``masks`` and ``lint`` rely on.
        return Map({WILDCARD: cell, host: bit}) if cell else Map({host: bit})
    return cell.set(host, cell.get(host, 0) | bit)


def without_bit(cell: Cell, host: str, bit: int) -> Cell:
    """Return the cell without a present entry; 0 without the last one."""
    if isinstance(cell, int):
        return cell & ~bit
    rest = cell[host] & ~bit
    remaining = cell.set(host, rest) if rest else cell.delete(host)
    if not remaining:
        return 0
    # Back to the plain form, which is smaller and faster.
    if len(remaining) == 1 and WILDCARD in remaining:
        return remaining[WILDCARD]
    return remaining


# --- all ACLs of one type

Group = Map[AclBinding, str]
"""The bindings of one pattern, which is one object for all of them, each with its id."""


class TypeIndex(NamedTuple):
    """All ACLs of one resource type."""

    patterns: Names[Group]
    principals: Map[str, Names[Cell]]

    def concerning(self, principal: str) -> list[tuple[str, Names[Cell]]]:
        """Return what a principal has, and what ``User:*`` has."""
        return [
            (who, cells)
            for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL))
            if (cells := self.principals.get(who)) is not None
        ]


EMPTY_TYPE = TypeIndex(empty_names(), Map())


_Cells = dict[str, Cell]
_Mutation = MapMutation[AclBinding, str]
_Groups = dict[str, tuple[ResourcePattern, _Mutation]]
"""By name: the pattern, and its group while it is changed."""


class TypeEdit:
    """The changes of one resource type: literals and prefixes apart."""

    __slots__ = ("_before", "_cells", "_groups", "has_effect", "patterns")

    def __init__(self, before: TypeIndex) -> None:
        self.has_effect = False
        self.patterns: list[ResourcePattern] = []
        """Those that were looked at."""
        self._before = before
        self._groups: tuple[_Groups, _Groups] = ({}, {})
        self._cells: dict[str, tuple[_Cells, _Cells]] = {}

    def change(self, binding: AclBinding, binding_id: str | None) -> bool:
        """Create a binding, or delete it if the id is None; return whether that has an effect."""
        pattern, (principal, host, operation, permission_type) = binding
        _, name, pattern_type = pattern
        is_prefixed = pattern_type is _PREFIXED
        pattern, group = self._groups[is_prefixed].get(name) or self._group(pattern, is_prefixed)
        if binding_id is None:
            if group.pop(binding, None) is None:
                return False
            with_entry = without_bit
        elif binding in group:
            return False
        else:
            # A pattern is one object for all of its bindings.
            group[AclBinding(pattern, binding.entry)] = binding_id
            with_entry = with_bit
        both = self._cells.get(principal)
        if both is None:
            both = self._cells[principal] = ({}, {})
        cells = both[is_prefixed]
        if name not in cells:
            names = self._before.principals.get(principal, _NO_NAMES)
            cells[name] = (names.prefixes if is_prefixed else names.literals).get(name, 0)
        cells[name] = with_entry(cells[name], host, ENTRY_BITS[permission_type][operation])
        self.has_effect = True
        return True

    def _group(
        self, pattern: ResourcePattern, is_prefixed: bool
    ) -> tuple[ResourcePattern, _Mutation]:
        names = self._before.patterns
        before = (names.prefixes if is_prefixed else names.literals).get(pattern.name)
        if before is not None:
            pattern = next(iter(before)).pattern
        mutated = (pattern, (_NOTHING if before is None else before).mutate())
        self._groups[is_prefixed][pattern.name] = mutated
        self.patterns.append(pattern)
        return mutated

    def index(self) -> TypeIndex:
        before, (literals, prefixes) = self._before, self._groups
        principals = {
            principal: before.principals.get(principal, _NO_NAMES).updated(*cells)
            for principal, cells in self._cells.items()
        }
        return TypeIndex(
            before.patterns.updated(
                {name: group.finish() for name, (_, group) in literals.items()},
                {name: group.finish() for name, (_, group) in prefixes.items()},
            ),
            update_map(before.principals, principals),
        )


_NOTHING: Group = Map()
_NO_NAMES: Names[Cell] = empty_names()
