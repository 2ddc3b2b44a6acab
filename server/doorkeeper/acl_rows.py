"""The rows of long descriptions of ACLs, kept encoded from one description to the next.

Whoever asks for all ACLs, or for all of a resource type, gets a row for each pattern. Making and
encoding the rows of 100,000 ACLs takes a third of a second; a change touches one of them. So each
row is kept as bytes with the group that it was made of: groups are immutable, and another state
has the same object wherever nothing has changed. A description compares which objects there are,
encodes what is new, and joins.

    names    a      b      c            sorted
    groups   G1     G2     G3           those of the last description
    rows     ...    ...    ...          one for each, in the layout of the version
    now      G1     G2'    G3   D: G4   b is encoded anew, d is put in its place

Versions 2 and 3 have one layout. Kept are those that somebody asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acl.model import (
    AccessControlEntryFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from doorkeeper.codes import described
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.writing import UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from immutables import Map

    from doorkeeper.acl.model import AclBindingFilter
    from doorkeeper.acl.snapshot import Group, Snapshot

COMPACT: Final = 2
"""From this version on lengths are varints, and tags stand behind everything."""

ANEW: Final = 4
"""Where one of so many rows is gone or new, all of them are put in order again."""

_ALL_ENTRIES = AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY)
_KINDS = (PatternType.LITERAL, PatternType.PREFIXED)


class Description(NamedTuple):
    """The answer to a question for whole groups of ACLs; it is made when it is encoded."""

    rows: AclRows
    snapshot: Snapshot
    types: tuple[ResourceType, ...]
    kinds: tuple[PatternType, ...]
    error_code: int = 0

    def encode(self, version: int) -> bytes:
        """Return the body for a version of DescribeAcls."""
        found: list[bytes] = []
        for resource_type in self.types:
            found += self.rows.of(self.snapshot, resource_type, self.kinds, version)
        empty = DescribeAclsResponse(error_message="").encode(version)
        if version < COMPACT:
            return b"".join((empty[:-4], len(found).to_bytes(4), *found))
        return b"".join((empty[:-2], UVARINT[len(found) + 1], *found, b"\0"))


class AclRows:
    """All rows that are kept, for one server."""

    def __init__(self, snapshot: Callable[[], Snapshot | None]) -> None:
        """Take where the ACLs of the moment come from; None is an authorizer that has no such."""
        self._snapshot = snapshot
        self._kept: dict[tuple[int, PatternType, int], _Kept] = {}

    def description(self, wanted: AclBindingFilter) -> Description | None:
        """Return the answer to a filter that asks for whole groups; None for any other."""
        pattern, entry = wanted
        if pattern.name is not None or entry != _ALL_ENTRIES:
            return None
        snapshot = self._snapshot()
        if snapshot is None or ResourceType.UNKNOWN in pattern or PatternType.UNKNOWN in pattern:
            return None
        types: tuple[ResourceType, ...] = (pattern.resource_type,)
        if pattern.resource_type is ResourceType.ANY:
            types = tuple(each for each in ResourceType if each > ResourceType.ANY)
        both = pattern.pattern_type in (PatternType.ANY, PatternType.MATCH)
        return Description(self, snapshot, types, _KINDS if both else (pattern.pattern_type,))

    def of(
        self,
        snapshot: Snapshot,
        resource_type: ResourceType,
        kinds: Iterable[PatternType],
        version: int,
    ) -> list[bytes]:
        """Return the rows of a resource type, sorted by name, of each name the literal first."""
        patterns = snapshot.types[resource_type].patterns
        found = []
        for kind in kinds:
            groups = patterns.literals if kind is PatternType.LITERAL else patterns.prefixes
            key = (resource_type, kind, min(version, COMPACT))
            if not groups:
                self._kept.pop(key, None)
                continue
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _Kept(key[2])
            kept.follow(groups)
            found.append(kept)
        if len(found) == len(_KINDS):
            return _merged(*found)
        return found[0].rows if found else []


class _Kept:
    """The rows of one kind of pattern, as the last description left them."""

    __slots__ = ("_groups", "_state", "_version", "names", "rows")

    def __init__(self, version: int) -> None:
        self._version = version
        self.names: list[str] = []
        self._groups: list[Group | None] = []
        self._state: Map[str, Group] | None = None
        self.rows: list[bytes] = []

    def follow(self, groups: Map[str, Group]) -> None:
        """Bring the rows to this state."""
        if groups is self._state:
            return
        self._state = groups
        now = list(map(groups.get, self.names))
        gone = now.count(None) if len(groups) != len(now) or None in now else 0
        new = len(groups) - len(now) + gone
        if (gone + new) * ANEW > len(groups):
            self._order(groups)
            now = list(map(groups.get, self.names))
        elif gone or new:
            now = self._moved(groups, now)
        for place, (before, group) in enumerate(zip(self._groups, now, strict=True)):
            if before is not group and group is not None:
                self.rows[place] = encoded_row(group, self._version)
        self._groups = now

    def _order(self, groups: Map[str, Group]) -> None:
        """Put all names in order; a row that is still true stays."""
        kept = dict(zip(self.names, zip(self._groups, self.rows, strict=True), strict=True))
        self.names = sorted(groups)
        nothing = (None, b"")
        both = [kept.get(name, nothing) for name in self.names]
        self._groups = [group for group, _ in both]
        self.rows = [row for _, row in both]

    def _moved(self, groups: Map[str, Group], now: list[Group | None]) -> list[Group | None]:
        """Take out what is gone, and put what is new in its place; return the groups of now."""
        for place in range(len(now) - 1, -1, -1):
            if now[place] is None:
                for each in (now, self.names, self._groups, self.rows):
                    del each[place]
        if len(now) == len(groups):
            return now
        known = set(self.names)
        for name in [name for name in groups if name not in known]:
            place = bisect_left(self.names, name)
            self.names.insert(place, name)
            self._groups.insert(place, None)
            self.rows.insert(place, b"")
            now.insert(place, groups[name])
        return now


def _merged(literals: _Kept, prefixes: _Kept) -> list[bytes]:
    """Return the rows of both in the order of the names; the fewer are put between the more."""
    more, fewer, place_of = literals, prefixes, bisect_right
    if len(literals.names) < len(prefixes.names):
        more, fewer, place_of = prefixes, literals, bisect_left
    names, rows = more.names, more.rows
    merged: list[bytes] = []
    place = 0
    for name, row in zip(fewer.names, fewer.rows, strict=True):
        before, place = place, place_of(names, name, place)
        merged += rows[before:place]
        merged.append(row)
    merged += rows[place:]
    return merged


def encoded_row(group: Group, version: int) -> bytes:
    """Return the row of one pattern as it stands in an answer."""
    empty, full = (
        DescribeAclsResponse(error_message="", resources=resources).encode(version)
        for resources in ((), described(sorted(group)))
    )
    if version < COMPACT:
        return full[len(empty) :]
    return full[len(empty) - 1 : -1]
