"""Regions: the sets of questions that bindings decide, and their intersections.

A region is a set of questions about one resource type: names x principals x hosts. The overlap of
two regions is a region, because the names of two patterns are nested or disjoint.

    names      single("orders")   Extent("ord"): a prefix   WILD: the literal "*"
    principal  one, or all of them: User:*
    host       one, a network, or all of them: *

If several bindings together cover a region, one of them covers it alone: the region contains a
question with a name, principal and host that no binding mentions, and a binding that covers this
question covers the whole region. Networks are the exception: two halves cover a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct

from doorkeeper.acls.host_sets import narrower
from doorkeeper.acls.index import wildcard_covers
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    PatternType,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acls.index import Cell, Names
    from doorkeeper.acls.model import AclBinding, ResourcePattern
    from doorkeeper.acls.snapshot import Snapshot


class Extent(NamedTuple):
    """All names that begin with a text, or the single name.

    Sorted, an extent comes before those within it.
    """

    text: str
    is_single: bool = False

    def contains(self, other: Extent) -> bool:
        """Say whether all names of another extent are in this one."""
        if self.is_single:
            return self == other
        return other.text.startswith(self.text)


def single(name: str) -> Extent:
    return Extent(name, is_single=True)


@dataclass(frozen=True, slots=True)
class Wild:
    """The names that the literal ``*`` covers: all but longer names that begin with ``*``."""


WILD = Wild()
ALL_NAMES = Extent("")
CLUSTER = single(CLUSTER_NAME)
"""The only name of the cluster resource."""

V = TypeVar("V")
NameSet = Extent | Wild


class Region(Struct, frozen=True):
    """A set of questions."""

    resource_type: ResourceType
    names: NameSet
    principal: str
    host: str


class CoveringCell(NamedTuple):
    """The masks of one principal on one pattern, by host."""

    name: str
    pattern_type: PatternType
    principal: str
    cell: Cell


def names_of(pattern: ResourcePattern) -> NameSet:
    """Return the names that a pattern covers; for the cluster at most its single name."""
    names: NameSet
    if pattern.pattern_type is PatternType.PREFIXED:
        names = Extent(pattern.name)
    else:
        names = WILD if pattern.name == WILDCARD else single(pattern.name)
    if pattern.resource_type is ResourceType.CLUSTER and is_within(CLUSTER, names):
        return CLUSTER
    return names


def is_asked_about(pattern: ResourcePattern) -> bool:
    """Return whether a request can name a resource that the pattern covers."""
    return pattern.resource_type is not ResourceType.CLUSTER or names_of(pattern) == CLUSTER


def region_of(binding: AclBinding) -> Region:
    """Return the questions that a binding concerns, for any operation."""
    pattern, entry = binding
    return Region(pattern.resource_type, names_of(pattern), entry.principal, entry.host)


def is_within(inner: NameSet, outer: NameSet) -> bool:
    """Return whether one set of names contains the other."""
    if isinstance(outer, Extent):
        if isinstance(inner, Extent):
            return outer.contains(inner)
        # Of all extents only that of the empty prefix has every name.
        return outer == ALL_NAMES
    if isinstance(inner, Wild):
        return True
    if inner.is_single:
        return wildcard_covers(inner.text)
    # "*" alone is in WILD, longer names that begin with "*" are not.
    return inner.text[:1] not in ("", WILDCARD)


def common_names(one: NameSet, other: NameSet) -> NameSet | None:
    """Return the intersection of two sets of names, None if it is empty."""
    if is_within(one, other):
        return one
    if is_within(other, one):
        return other
    # WILD excludes longer names that begin with "*", so the two share this single name.
    if {one, other} == {WILD, Extent(WILDCARD)}:
        return single(WILDCARD)
    return None


def overlap(one: Region, other: Region, *, networks: bool = False) -> Region | None:
    """Return the questions that are in both; None where there is none."""
    names = common_names(one.names, other.names)
    if names is None or one.resource_type is not other.resource_type:
        return None
    principal = _narrower(one.principal, other.principal, WILDCARD_PRINCIPAL)
    host = narrower(one.host, other.host, networks=networks)
    if principal is None or host is None:
        return None
    return Region(one.resource_type, names, principal, host)


def covering_cells(snapshot: Snapshot, region: Region) -> Iterator[CoveringCell]:
    """Yield the cells whose patterns and principals cover the region. O(lengths of prefixes)."""
    for principal, cells in snapshot.types[region.resource_type].concerning(region.principal):
        for name, pattern_type in covering_patterns(cells, region.names):
            cell = cells.get(name, pattern_type)
            if cell is not None:
                yield CoveringCell(name, pattern_type, principal, cell)


def covering_patterns(names: Names[V], covered: NameSet) -> Iterator[tuple[str, PatternType]]:
    """Yield the patterns of an index that cover all these names, each once."""
    if isinstance(covered, Wild):
        if WILDCARD in names.literals:
            yield WILDCARD, PatternType.LITERAL
        if "" in names.prefixes:
            yield "", PatternType.PREFIXED
        return
    text = covered.text
    if covered.is_single and text != WILDCARD and text in names.literals:
        yield text, PatternType.LITERAL
    if WILDCARD in names.literals and is_within(covered, WILD):
        yield WILDCARD, PatternType.LITERAL
    for prefix, _ in names.prefixes_of(text):
        yield prefix, PatternType.PREFIXED


def _narrower(one: str, other: str, everything: str) -> str | None:
    if one == everything:
        return other
    return one if other in (one, everything) else None
