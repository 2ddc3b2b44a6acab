"""Long descriptions of ACLs: made in pieces, from rows that are kept encoded.

An answer has a row for each pattern. Making and encoding those of 100,000 ACLs takes more than half
a second, in which nobody else must wait: a description is made of one snapshot, which never
changes, in pieces, between which others are answered.

Whoever asks for all ACLs, or for all of a resource type, gets rows of whole groups. These are kept
in chunks (``acl_chunks``): the next description makes those anew in which something has changed,
and joins. Kept are those that somebody asked for, once all of a kind are made; what is given up
half-way has changed nothing.

Other long questions (all that one principal has, all that is denied, all on a pattern on which very
many have a right) are answered in pieces too, of which nothing is kept.
"""

from __future__ import annotations

from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from doorkeeper.acl.model import PatternType, ResourcePattern, ResourceType
from doorkeeper.acl.search import ALL_ENTRIES, matching, matching_in_cell, selected, types_of
from doorkeeper.acl.steps import touched_since
from doorkeeper.acl_chunks import differing, followed, names_in
from doorkeeper.acl_row_encoder import RowEncoder
from doorkeeper.pieces import PIECE, finished, in_order, parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from immutables import Map

    from doorkeeper.acl.cells import Cell
    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.names import Names
    from doorkeeper.acl.snapshot import Group, Snapshot
    from doorkeeper.acl.steps import Step, Steps
    from doorkeeper.acl_chunks import Chunk, State
    from doorkeeper.pieces import Pieces

    Kinds = tuple[PatternType, ...]
    Found = tuple[str, PatternType, Any]
    """A pattern's name and kind, and the group or the cell that stands on it."""

_NAME = itemgetter(0)
_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

KEPT_MAX: Final = 3
"""So many descriptions are kept of each resource type: those of layouts and kinds of patterns that
were asked for last. Hardly anybody asks for literals alone, or in version 0 or 1."""


class Rows(NamedTuple):
    """Rows in the order of an answer, joined to some parts."""

    total: int
    parts: list[bytes]


class Description(NamedTuple):
    """The answer to a question for many ACLs; it is made when it is encoded."""

    rows: AclRows
    snapshot: Snapshot
    wanted: AclBindingFilter
    error_code: int = 0

    @property
    def is_long(self) -> bool:
        """Say whether others should be answered while it is made."""
        if self.wanted.pattern.name is not None:
            named = [each for kind in types_of(self.wanted.pattern) for each in self.named(kind)]
            return sum(_size(value) for _, _, value in named) > PIECE
        found = [each for kind in types_of(self.wanted.pattern) for each in self.values(kind)]
        if sum(map(len, found)) > PIECE:
            return True
        return sum(_size(value) for each in found for value in each.values()) > PIECE

    def encode(self, version: int) -> bytes:
        """Return the body for a version of DescribeAcls."""
        return finished(self.pieces(version))

    def pieces(self, version: int) -> Pieces[bytes]:
        """Make the body for a version of DescribeAcls."""
        total = 0
        joined: list[bytes] = []
        encoder = RowEncoder(version)
        for resource_type in types_of(self.wanted.pattern):
            rows = yield from self.rows.of(self, resource_type, encoder)
            total += rows.total
            joined += rows.parts
        return encoder.answer(total, joined)

    @property
    def is_of_all(self) -> bool:
        """Say whether all that there is of a resource type, or of some, is asked for."""
        return self.wanted.pattern.name is None and self.is_of_groups

    @property
    def is_of_groups(self) -> bool:
        """Say whether all that stands on a pattern is asked for."""
        return self.wanted.entry == ALL_ENTRIES

    @property
    def kinds(self) -> Kinds:
        """Return the kinds of patterns that are asked for, in the order of the rows of a name."""
        kind = self.wanted.pattern.pattern_type
        return (kind,) if kind in (_LITERAL, _PREFIXED) else (_LITERAL, _PREFIXED)

    def values(self, resource_type: ResourceType) -> tuple[Map[str, Any], ...]:
        """Return for each kind the groups of a resource type, or the cells of the one principal."""
        names = self._names(resource_type)
        if names is None:
            return ()
        return tuple(names.literals if kind is _LITERAL else names.prefixes for kind in self.kinds)

    def named(self, resource_type: ResourceType) -> list[Found]:
        """Return what a filter with a name finds of a resource type, in the order of the rows."""
        names = self._names(resource_type)
        return [] if names is None else sorted(selected(names, self.wanted.pattern), key=_NAME)

    def patterns(self, resource_type: ResourceType) -> Pieces[Iterable[Found]]:
        """Find what is asked about of a resource type, in the order of the rows."""
        if self.wanted.pattern.name is not None:
            return self.named(resource_type)
        values = self.values(resource_type)
        return (
            (name, kind, value)
            for name in (yield from names_in(values))
            for kind, each in zip(self.kinds, values, strict=True)
            if (value := each.get(name)) is not None
        )

    def bindings(
        self, pattern: ResourcePattern, value: Group | Cell
    ) -> Pieces[Collection[AclBinding]]:
        """Find what is asked for of one pattern, in no order."""
        wanted = self.wanted.entry
        if wanted.principal is not None:
            return matching_in_cell(pattern, cast("Cell", value), wanted)
        group = cast("Group", value)
        if self.is_of_groups:
            return group
        if len(group) <= PIECE:
            return matching(group, wanted)
        found = []
        for part in parts(group):
            found += matching(part, wanted)
            yield
        return found

    def _names(self, resource_type: ResourceType) -> Names[Any] | None:
        index = self.snapshot.types[resource_type]
        principal = self.wanted.entry.principal
        return index.patterns if principal is None else index.principals.get(principal)


class Kept(NamedTuple):
    """The rows of one resource type, and the state that they were made of."""

    step: Step
    state: State
    chunks: list[Chunk]


class AclRows:
    """All rows that are kept, for one server."""

    def __init__(self, snapshot: Callable[[], Snapshot | None]) -> None:
        """Take where the ACLs of the moment come from; None is an authorizer that has no such."""
        self._snapshot = snapshot
        self._kept: dict[ResourceType, dict[tuple[Kinds, int], Kept]] = {}

    def description(self, wanted: AclBindingFilter) -> Description | None:
        """Return the answer to a filter that asks for whole groups, or for very many ACLs.

        None for any other: its rows are made at once.
        """
        pattern = wanted.pattern
        snapshot = self._snapshot()
        if snapshot is None or ResourceType.UNKNOWN in pattern or PatternType.UNKNOWN in pattern:
            return None
        answer = Description(self, snapshot, wanted)
        return answer if answer.is_of_all or answer.is_long else None

    def of(
        self, description: Description, resource_type: ResourceType, encoder: RowEncoder
    ) -> Pieces[Rows]:
        """Make the rows of a resource type, sorted by name, of each name the literal first."""
        if not description.is_of_all:
            return (yield from _picked(description, resource_type, encoder))
        now, steps = description.values(resource_type), description.snapshot.steps
        kept = self._kept.setdefault(resource_type, {})
        key = (description.kinds, encoder.layout)
        before = kept.get(key)
        if before is None:
            chunks = yield from followed((), (yield from names_in(now)), now, encoder)
        else:
            touched = yield from _touched(before, resource_type, now, steps)
            chunks = yield from followed(before.chunks, touched, now, encoder)
        kept.pop(key, None)
        kept[key] = Kept(steps[-1], now, chunks)
        if len(kept) > KEPT_MAX:
            del kept[next(iter(kept))]
        return Rows(sum(map(len, now)), [chunk.rows for chunk in chunks])


def _touched(
    before: Kept, resource_type: ResourceType, now: State, steps: Steps
) -> Pieces[Sequence[str]]:
    """Find the names, sorted, of patterns that may have changed."""
    if all(map(is_, before.state, now)):
        return ()
    patterns = touched_since(before.step, steps)
    if patterns is None:
        return (yield from differing(before.state, before.chunks, now))
    return (
        yield from in_order({each.name for each in patterns if each.resource_type is resource_type})
    )


def _picked(
    description: Description, resource_type: ResourceType, encoder: RowEncoder
) -> Pieces[Rows]:
    """Make the rows of what a description asks for of each pattern."""
    total = 0
    joined = []
    for found in parts((yield from description.patterns(resource_type))):
        rows = []
        for name, kind, value in found:
            pattern = ResourcePattern(resource_type, name, kind)
            if bindings := (yield from description.bindings(pattern, value)):
                rows.append((yield from encoder.row(bindings)))
        total += len(rows)
        joined.append(b"".join(rows))
        yield
    return Rows(total, joined)


def _size(value: Group | Cell) -> int:
    """Return about how many ACLs a group or a cell holds."""
    return 1 if isinstance(value, int) else len(value)
