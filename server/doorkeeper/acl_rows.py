"""Long descriptions of ACLs: made in pieces, from rows that are kept encoded.

An answer has a row for each pattern. Making and encoding those of 100,000 ACLs takes a third of a
second, in which nobody else must wait: a description is made of one snapshot, which never changes,
in pieces, between which others are answered.

Whoever asks for all ACLs, or for all of a resource type, gets rows of whole groups. These are kept
as bytes, each with the group that it was made of: groups are immutable, and another state has the
same object wherever nothing has changed. A description compares which objects there are, encodes
what is new, and joins.

    names    a      b      c            sorted
    groups   G1     G2     G3           those of the last description
    rows     ...    ...    ...          one for each, in the layout of the version
    now      G1     G2'    G3   D: G4   b is encoded anew, d is put in its place

Versions 2 and 3 have one layout. Kept are those that somebody asked for, once all of a kind are
made; what is given up half-way has changed nothing. Other long questions (all that one principal
has, all that is denied) are answered in pieces too, of which nothing is kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from immutables import Map

from doorkeeper.acl.model import PatternType, ResourcePattern, ResourceType
from doorkeeper.acl.search import ALL_ENTRIES, matching, matching_in_cell, types_of
from doorkeeper.codes import description_of
from doorkeeper.pieces import PIECE, finished, in_order, parts
from doorkeeper_wire.messages.describe_acls import DescribeAclsResource, DescribeAclsResponse
from doorkeeper_wire.writing import UVARINT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from doorkeeper.acl.cells import Cell
    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.names import Names
    from doorkeeper.acl.snapshot import Group, Snapshot
    from doorkeeper.pieces import Pieces

COMPACT: Final = 2
"""From this version on lengths are varints, and tags stand behind everything."""

_BOTH = (PatternType.LITERAL, PatternType.PREFIXED)


class Description(NamedTuple):
    """The answer to a question for many ACLs; it is made when it is encoded."""

    rows: AclRows
    snapshot: Snapshot
    wanted: AclBindingFilter
    error_code: int = 0

    @property
    def is_long(self) -> bool:
        """Say whether others should be answered while it is made."""
        found = [each for kind in types_of(self.wanted.pattern) for _, each in self.values(kind)]
        if sum(map(len, found)) > PIECE:
            return True
        return sum(_size(value) for each in found for value in each.values()) > PIECE

    def encode(self, version: int) -> bytes:
        """Return the body for a version of DescribeAcls."""
        return finished(self.pieces(version))

    def pieces(self, version: int) -> Pieces[bytes]:
        """Make the body for a version of DescribeAcls."""
        count, joined = 0, []
        encoder = RowEncoder(version)
        for resource_type in types_of(self.wanted.pattern):
            rows = yield from self.rows.of(self, resource_type, encoder)
            count += len(rows)
            for part in parts(rows):
                joined.append(b"".join(part))
                yield
        empty = DescribeAclsResponse(error_message="").encode(version)
        if version < COMPACT:
            return b"".join((empty[:-4], count.to_bytes(4), *joined))
        return b"".join((empty[:-2], UVARINT[count + 1], *joined, b"\0"))

    @property
    def is_of_groups(self) -> bool:
        """Say whether all that stands on a pattern is asked for."""
        return self.wanted.entry == ALL_ENTRIES

    def values(self, resource_type: ResourceType) -> Iterator[tuple[PatternType, Map[str, Any]]]:
        """Return the groups of a resource type, or the cells of the principal that is asked for."""
        index = self.snapshot.types[resource_type]
        principal, kind = self.wanted.entry.principal, self.wanted.pattern.pattern_type
        names: Names[Any] | None = index.patterns
        if principal is not None:
            names = index.principals.get(principal)
        if names is None:
            return
        if kind is not PatternType.PREFIXED:
            yield PatternType.LITERAL, names.literals
        if kind is not PatternType.LITERAL:
            yield PatternType.PREFIXED, names.prefixes

    def bindings(self, pattern: ResourcePattern, value: Group | Cell) -> list[AclBinding]:
        """Return what is asked for of one pattern, in no order."""
        wanted = self.wanted.entry
        if wanted.principal is None:
            return matching(cast("Group", value), wanted)
        return matching_in_cell(pattern, cast("Cell", value), wanted)


class Ordered(NamedTuple):
    """The rows of one kind of pattern by name, the names sorted."""

    names: list[str]
    rows: list[bytes]


class Kept(NamedTuple):
    """The rows of all groups of one kind of pattern in one state: name, group and row of each."""

    state: Map[str, Group]
    names: list[str]
    groups: list[Group]
    rows: list[bytes]


NOTHING: Final = Kept(Map(), [], [], [])


class AclRows:
    """All rows that are kept, for one server."""

    def __init__(self, snapshot: Callable[[], Snapshot | None]) -> None:
        """Take where the ACLs of the moment come from; None is an authorizer that has no such."""
        self._snapshot = snapshot
        self._kept: dict[tuple[int, PatternType, int], Kept] = {}

    def description(self, wanted: AclBindingFilter) -> Description | None:
        """Return the answer to a filter that asks for whole groups, or for very many ACLs.

        None for any other: its rows are made at once.
        """
        pattern = wanted.pattern
        snapshot = self._snapshot()
        if pattern.name is not None or snapshot is None:
            return None
        if ResourceType.UNKNOWN in pattern or PatternType.UNKNOWN in pattern:
            return None
        answer = Description(self, snapshot, wanted)
        return answer if answer.is_of_groups or answer.is_long else None

    def of(
        self, description: Description, resource_type: ResourceType, encoder: RowEncoder
    ) -> Pieces[Sequence[bytes]]:
        """Make the rows of a resource type, sorted by name, of each name the literal first."""
        found: list[Ordered] = []
        for kind, values in description.values(resource_type):
            if not description.is_of_groups:
                pattern = ResourcePattern(resource_type, "", kind)
                found.append((yield from _picked(description, pattern, values, encoder)))
                continue
            key = (resource_type, kind, min(encoder.version, COMPACT))
            if not values:
                self._kept.pop(key, None)
                continue
            kept = yield from followed(self._kept.get(key, NOTHING), values, encoder)
            self._kept[key] = kept
            found.append(Ordered(kept.names, kept.rows))
        if len(found) == len(_BOTH):
            return (yield from merged(*found))
        return found[0].rows if found else []


def followed(before: Kept, now: Map[str, Group], encoder: RowEncoder) -> Pieces[Kept]:
    """Make the rows of a state; those of groups that the one before has too are taken over."""
    if before.state is now:
        return before
    names: list[str] = []
    groups: list[Group] = []
    rows: list[bytes] = []
    for at in range(0, len(before.names), PIECE):
        part = slice(at, at + PIECE)
        old, found = before.groups[part], list(map(now.get, before.names[part]))
        if all(map(is_, found, old)):
            names += before.names[part]
            groups += old
            rows += before.rows[part]
            yield
            continue
        three = zip(before.names[part], found, old, before.rows[part], strict=True)
        for name, group, was, row in three:
            if group is not None:
                names.append(name)
                groups.append(group)
                same = group is was
                rows.append(row if same else (yield from encoder.row(group)))
        yield
    kept = Kept(now, names, groups, rows)
    if len(names) == len(now):
        return kept
    new = yield from _new(before.state, now, len(now) - len(names))
    return (yield from _inserted(kept, new, encoder))


def _new(before: Map[str, Group], now: Map[str, Group], count: int) -> Pieces[list[str]]:
    """Return so many names that were not there before, sorted."""
    new: list[str] = []
    names = iter(now)
    while len(new) < count:
        new += [name for name in islice(names, PIECE) if name not in before]
        yield
    return (yield from in_order(new))


def _inserted(kept: Kept, new: list[str], encoder: RowEncoder) -> Pieces[Kept]:
    """Put new names, which are sorted, in their places among the others."""
    state, old_names, old_groups, old_rows = kept
    names: list[str] = []
    groups: list[Group] = []
    rows: list[bytes] = []
    place = 0
    for part in parts(new):
        for name in part:
            before, place = place, bisect_left(old_names, name, place)
            names += old_names[before:place]
            groups += old_groups[before:place]
            rows += old_rows[before:place]
            group = state[name]
            names.append(name)
            groups.append(group)
            rows.append((yield from encoder.row(group)))
        yield
    names += old_names[place:]
    groups += old_groups[place:]
    rows += old_rows[place:]
    return Kept(state, names, groups, rows)


def _picked(
    description: Description,
    kind: ResourcePattern,
    values: Map[str, Any],
    encoder: RowEncoder,
) -> Pieces[Ordered]:
    """Make the rows of what a description asks for of each pattern."""
    found = Ordered([], [])
    names = yield from in_order(values)
    for part in parts(names):
        for name in part:
            bindings = description.bindings(kind._replace(name=name), values[name])
            if bindings:
                found.names.append(name)
                found.rows.append((yield from encoder.row(bindings)))
        yield
    return found


def merged(literals: Ordered, prefixes: Ordered) -> Pieces[list[bytes]]:
    """Return the rows of both in the order of the names; the fewer are put between the more."""
    more, fewer, place_of = literals, prefixes, bisect_right
    if len(literals.names) < len(prefixes.names):
        more, fewer, place_of = prefixes, literals, bisect_left
    rows: list[bytes] = []
    place = 0
    for at in range(0, len(fewer.names), PIECE):
        part = slice(at, at + PIECE)
        for name, row in zip(fewer.names[part], fewer.rows[part], strict=True):
            before, place = place, place_of(more.names, name, place)
            rows += more.rows[before:place]
            rows.append(row)
        yield
    rows += more.rows[place:]
    return rows


class RowEncoder:
    """Encodes rows in the layout of one version: answers of one row each, without their ends."""

    def __init__(self, version: int) -> None:
        """Find the ends: the number of rows is the last in an answer, or stands before its tags."""
        self.version = version
        self._behind = 1 if version >= COMPACT else 0
        empty = DescribeAclsResponse(error_message="").encode(version)
        self._before = len(empty) - self._behind

    def row(self, bindings: Collection[AclBinding]) -> Pieces[bytes]:
        """Make the row of one pattern from its bindings."""
        if len(bindings) > PIECE:
            return (yield from self._long(bindings))
        ordered = sorted(bindings)
        row = self._encoded(ordered[0].pattern, ordered)
        yield
        return row

    def _long(self, bindings: Collection[AclBinding]) -> Pieces[bytes]:
        """Put the row of very many ACLs together from several of the same pattern."""
        ordered = yield from in_order(bindings)
        pattern = ordered[0].pattern
        empty = self._encoded(pattern, ())
        head = len(empty) - len(self._count(0)) - self._behind
        joined = [empty[:head], self._count(len(ordered))]
        for part in parts(ordered):
            row = self._encoded(pattern, part)
            joined.append(row[head + len(self._count(len(part))) : len(row) - self._behind])
            yield
        return b"".join((*joined, bytes(self._behind)))

    def _count(self, acls: int) -> bytes:
        return UVARINT[acls + 1] if self.version >= COMPACT else acls.to_bytes(4)

    def _encoded(self, pattern: ResourcePattern, bindings: Sequence[AclBinding]) -> bytes:
        kind, name, pattern_type = pattern
        row = DescribeAclsResource(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern_type,
            acls=tuple([description_of(each.entry) for each in bindings]),
        )
        answer = DescribeAclsResponse(error_message="", resources=(row,)).encode(self.version)
        return answer[self._before : len(answer) - self._behind]


def _size(value: Group | Cell) -> int:
    """Return about how many ACLs a group or a cell holds."""
    return 1 if isinstance(value, int) else len(value)
