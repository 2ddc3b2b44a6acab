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

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct

from doorkeeper.acls.host_sets import narrower
from doorkeeper.acls.index import wildcard_covers
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    PatternType,
    ResourcePattern,
    ResourceType,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acls.index import Cell, Names
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.snapshot import Snapshot


class Extent(NamedTuple):
    """All names that begin with a text, or the single name; or those that the literal ``*`` covers.

    Sorted, an extent comes before those within it.
    """

    text: str
    is_single: bool = False
    is_wild: bool = False
    """All names but longer ones that begin with ``*``; the text is empty."""

    def contains(self, other: Extent) -> bool:
        """Say whether all names of another extent are in this one."""
        if self.is_single:
            return self == other
        if self.is_wild and other.is_single:
            return wildcard_covers(other.text)
        if self.is_wild and not other.is_wild:
            return other.text[:1] not in ("", WILDCARD)
        return other.text.startswith(self.text)


def single(name: str) -> Extent:
    return Extent(name, is_single=True)


ALL_NAMES = Extent("")
WILD = Extent("", is_wild=True)
"""The names that the literal ``*`` covers."""
CLUSTER = single(CLUSTER_NAME)
"""The only name of the cluster resource."""

V = TypeVar("V")


class Region(Struct, frozen=True):
    """A set of questions."""

    resource_type: ResourceType
    names: Extent
    principal: str
    host: str


def names_of(pattern: ResourcePattern) -> Extent:
    """Return the names that a pattern covers; for the cluster at most its single name."""
    if pattern.pattern_type is PatternType.PREFIXED:
        names = Extent(pattern.name)
    else:
        names = WILD if pattern.name == WILDCARD else single(pattern.name)
    if pattern.resource_type is ResourceType.CLUSTER and names.contains(CLUSTER):
        return CLUSTER
    return names


def is_asked_about(pattern: ResourcePattern) -> bool:
    """Return whether a request can name a resource that the pattern covers."""
    return pattern.resource_type is not ResourceType.CLUSTER or names_of(pattern) == CLUSTER


def region_of(binding: AclBinding) -> Region:
    """Return the questions that a binding concerns, for any operation."""
    pattern, entry = binding
    return Region(pattern.resource_type, names_of(pattern), entry.principal, entry.host)


def common_names(one: Extent, other: Extent) -> Extent | None:
    """Return the intersection of two sets of names, None if it is empty."""
    if other.contains(one):
        return one
    if one.contains(other):
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


def covering_cells(
    snapshot: Snapshot, region: Region
) -> Iterator[tuple[ResourcePattern, str, Cell]]:
    """Yield the patterns, principals and cells that cover the region. O(lengths of prefixes)."""
    kind = region.resource_type
    for principal, cells in snapshot.types[kind].concerning(region.principal):
        for name, pattern_type in covering_patterns(cells, region.names):
            cell = cells.get(name, pattern_type)
            if cell is not None:
                yield ResourcePattern(kind, name, pattern_type), principal, cell


def covering_patterns(names: Names[V], covered: Extent) -> Iterator[tuple[str, PatternType]]:
    """Yield the patterns of an index that cover all these names, each once."""
    text = covered.text
    if covered.is_single and text != WILDCARD and text in names.literals:
        yield text, PatternType.LITERAL
    if WILDCARD in names.literals and WILD.contains(covered):
        yield WILDCARD, PatternType.LITERAL
    for prefix, _ in names.prefixes_of(text):
        yield prefix, PatternType.PREFIXED


def _narrower(one: str, other: str, everything: str) -> str | None:
    if one == everything:
        return other
    return one if other in (one, everything) else None
