"""Answers to DescribeAcls from the ACLs of one snapshot: short ones kept, long ones in slices.

A short answer is kept as it was encoded and given to all who ask the same of the same snapshot; who
asks is authorized each time, and nothing else is noted of a description. Every change of ACLs
makes another snapshot, so nothing is invalidated.

Building and encoding the rows of 100,000 ACLs, one for each pattern, takes more than half a second:
a long answer is built from one immutable snapshot, in slices, between which other requests are
answered.

A description of all ACLs, or of all of a resource type, has rows of whole groups. These are cached
in chunks (``acl_chunks``): the next description encodes only the changed ones and joins
them. A build outlives its request: the next request of the same kind continues it.

Other long descriptions (all DENYs, all on a pattern with very many ACLs) are built in slices too,
but not cached.
"""

from __future__ import annotations

from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from doorkeeper.acls.model import PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.search import ALL_ENTRIES, TYPES, find, matching, matching_in_cell, selected
from doorkeeper.acls.snapshot import touched_since
from doorkeeper.base.slices import SLICE_ITEMS, parts, run_to_end, sort_in_slices
from doorkeeper.server.api.acl_chunks import changed_names, names_in, update_chunks
from doorkeeper.server.api.acl_row_encoder import RowEncoder
from doorkeeper.server.api.codes import resource_rows
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from immutables import Map

    from doorkeeper.acls.index import Cell, Group, Names
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.acls.snapshot import Snapshot, Step, Steps
    from doorkeeper.base.slices import Slices
    from doorkeeper.server.api.acl_chunks import Chunk, State

    Kinds = tuple[PatternType, ...]
    Key = tuple[ResourceType, Kinds, int]
    """The key of cached rows: resource type, kinds of patterns, and layout."""
    Match = tuple[str, PatternType, Any]
    """A pattern's name and kind, and its group or cell."""

_NAME = itemgetter(0)
_LITERAL, _PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

CACHED_MAX: Final = 3
"""Cached descriptions of each resource type: the most recent layouts and kinds of patterns.

Requests for literals alone, or in version 0 or 1, are rare.
"""

KEPT_MAX: Final = 512
"""Short answers that are kept."""

KEPT_BYTES_MAX: Final = 8_192
"""The largest answer that is kept, with the names in its filter: 4 MiB for all of them."""


class ShortAnswer(Struct, frozen=True):
    """The encoded body of a response without an error."""

    body: bytes
    error_code: int = 0

    def encode(self, _version: int) -> bytes:
        """Return the body; it was encoded for the version of its request."""
        return self.body


class Rows(Struct, frozen=True):
    """The rows of a response, in order, joined to some parts."""

    total: int
    parts: list[bytes]


class Description(Struct, frozen=True):
    """The ACLs of one snapshot that a filter selects, which are encoded in slices."""

    rows: AclRows
    snapshot: Snapshot
    filter: AclBindingFilter
    error_code: int = 0

    @property
    def is_long(self) -> bool:
        """Return whether building takes long enough to serve other requests meanwhile."""
        types = TYPES[self.filter.pattern.resource_type]
        if self.filter.pattern.name is not None:
            named = [match for kind in types for match in self.rows_named(kind)]
            return sum(_size(value) for _, _, value in named) > SLICE_ITEMS
        by_names = [by_name for kind in types for by_name in self.values(kind)]
        if sum(map(len, by_names)) > SLICE_ITEMS:
            return True
        return sum(_size(value) for by_name in by_names for value in by_name.values()) > SLICE_ITEMS

    def encode(self, version: int) -> bytes:
        """Return the body for a version of DescribeAcls."""
        return bytes(run_to_end(self.chunks(version)))

    def chunks(self, version: int, reserved_bytes: int = 0) -> Slices[bytearray]:
        """Build the body for a version of DescribeAcls in slices, after ``reserved_bytes``."""
        total = 0
        joined: list[bytes] = []
        encoder = RowEncoder(version)
        for resource_type in TYPES[self.filter.pattern.resource_type]:
            rows = yield from self.rows.of(self, resource_type, encoder)
            total += rows.total
            joined += rows.parts
        return (yield from encoder.body(total, joined, reserved_bytes))

    @property
    def is_of_all(self) -> bool:
        """Return whether the filter selects all ACLs of its resource types."""
        return self.filter.pattern.name is None and self.is_of_groups

    @property
    def is_of_groups(self) -> bool:
        """Return whether the filter selects all ACLs of a pattern."""
        return self.filter.entry == ALL_ENTRIES

    @property
    def kinds(self) -> Kinds:
        """Return the selected kinds of patterns, in the order of the rows of a name."""
        kind = self.filter.pattern.pattern_type
        return (kind,) if kind in (_LITERAL, _PREFIXED) else (_LITERAL, _PREFIXED)

    def values(self, resource_type: ResourceType) -> tuple[Map[str, Any], ...]:
        """Return for each kind the groups of a resource type, or the cells of the one principal."""
        names = self._names(resource_type)
        if names is None:
            return ()
        return tuple(names.literals if kind is _LITERAL else names.prefixes for kind in self.kinds)

    def rows_named(self, resource_type: ResourceType) -> list[Match]:
        """Return the matches of a filter with a name in a resource type, in row order."""
        names = self._names(resource_type)
        return [] if names is None else sorted(selected(names, self.filter.pattern), key=_NAME)

    def patterns(self, resource_type: ResourceType) -> Slices[Iterable[Match]]:
        """Return the matching patterns of a resource type, in row order."""
        if self.filter.pattern.name is not None:
            return self.rows_named(resource_type)
        values = self.values(resource_type)
        return (
            (name, kind, value)
            for name in (yield from names_in(values))
            for kind, by_name in zip(self.kinds, values, strict=True)
            if (value := by_name.get(name)) is not None
        )

    def bindings(
        self, pattern: ResourcePattern, value: Group | Cell
    ) -> Slices[Collection[AclBinding]]:
        """Return the matching ACLs of one pattern, unordered."""
        filter = self.filter.entry
        if filter.principal is not None:
            return matching_in_cell(pattern, cast("Cell", value), filter)
        group = cast("Group", value)
        if self.is_of_groups:
            return group
        if len(group) <= SLICE_ITEMS:
            return matching(group, filter)
        matches = []
        for part in parts(group):
            matches += matching(part, filter)
            yield
        return matches

    def _names(self, resource_type: ResourceType) -> Names[Any] | None:
        index = self.snapshot.types[resource_type]
        principal = self.filter.entry.principal
        return index.patterns if principal is None else index.principals.get(principal)


class CachedRows(Struct, frozen=True):
    """The rows of one resource type, and the state that they were built from."""

    step: Step
    state: State
    chunks: list[Chunk]

    def is_of(self, state: State) -> bool:
        """Return whether the rows were built from this state."""
        return all(map(is_, self.state, state))


class AclRows:
    """The answers and the cached rows of one server."""

    def __init__(self, snapshot: Callable[[], Snapshot | None]) -> None:
        """``snapshot`` returns the current ACLs; None with a plug-in authorizer."""
        self._snapshot = snapshot
        self._cache: dict[ResourceType, dict[tuple[Kinds, int], CachedRows]] = {}
        self._builds: dict[Key, Slices[None]] = {}
        self._kept: dict[tuple[AclBindingFilter, int], ShortAnswer] = {}
        self._kept_of: Snapshot | None = None

    def answer(self, filter: AclBindingFilter, version: int) -> ShortAnswer | Description | None:
        """Return the response to a filter, for a version of DescribeAcls.

        None if the authorizer has no snapshot, or if the filter has an UNKNOWN type.

        Raises:
            Unencodable: a text is too long for the version.
        """
        snapshot = self._snapshot()
        if snapshot is not self._kept_of:
            self._kept.clear()
            self._kept_of = snapshot
        pattern = filter.pattern
        if snapshot is None or ResourceType.UNKNOWN in pattern or PatternType.UNKNOWN in pattern:
            return None
        if answer := self._kept.get((filter, version)):
            return answer
        description = Description(self, snapshot, filter)
        if description.is_long:
            return description
        if description.is_of_all:
            body = description.encode(version)
        else:
            body = DescribeAclsResponse(
                error_message="", resources=resource_rows(find(snapshot, filter))
            ).encode(version)
        answer = ShortAnswer(body)
        self._keep(filter, version, answer)
        return answer

    def _keep(self, filter: AclBindingFilter, version: int, answer: ShortAnswer) -> None:
        (_, name, _), (principal, host, _, _) = filter
        texts = (name or "", principal or "", host or "")
        if len(answer.body) + sum(map(len, texts)) > KEPT_BYTES_MAX:
            return
        if len(self._kept) >= KEPT_MAX:
            # Insertion order: the oldest goes.
            del self._kept[next(iter(self._kept))]
        self._kept[filter, version] = answer

    def of(
        self, description: Description, resource_type: ResourceType, encoder: RowEncoder
    ) -> Slices[Rows]:
        """Build the rows of a resource type, sorted by name, the literal pattern first."""
        if not description.is_of_all:
            return (yield from _pick(description, resource_type, encoder))
        now, steps = description.values(resource_type), description.snapshot.steps
        key = resource_type, description.kinds, encoder.layout
        # In a loop, because a build that another request began may be of an older state.
        while (cached := self._find(key)) is None or not cached.is_of(now):
            if key not in self._builds:
                self._builds[key] = self._build(key, now, steps)
            yield from self._continue(key)
        self._store(key, CachedRows(steps[-1], now, cached.chunks))
        return Rows(sum(map(len, now)), [chunk.rows for chunk in cached.chunks])

    def _build(self, key: Key, now: State, steps: Steps) -> Slices[None]:
        """Build the rows of a state from cached ones, and cache them."""
        before = self._find(key)
        encoder = RowEncoder(key[2])
        if before is None:
            chunks = yield from update_chunks((), (yield from names_in(now)), now, encoder)
        else:
            touched = yield from _changed_names(before, key[0], now, steps)
            chunks = yield from update_chunks(before.chunks, touched, now, encoder)
        self._store(key, CachedRows(steps[-1], now, chunks))

    def _continue(self, key: Key) -> Slices[None]:
        """Run a build to its end, together with other requests.

        The build is not part of the generator that continues it, so that it survives its closing.
        """
        build = self._builds[key]
        # Another request may have finished this build, or begun the next one.
        while self._builds.get(key) is build:
            try:
                next(build)
            except StopIteration:
                del self._builds[key]
                return
            except Exception:
                del self._builds[key]
                raise
            yield

    def _find(self, key: Key) -> CachedRows | None:
        return self._cache.get(key[0], {}).get(key[1:])

    def _store(self, key: Key, rows: CachedRows) -> None:
        cached = self._cache.setdefault(key[0], {})
        # Insertion order is the order of use: the first entry is dropped.
        cached.pop(key[1:], None)
        cached[key[1:]] = rows
        if len(cached) > CACHED_MAX:
            del cached[next(iter(cached))]


def _changed_names(
    before: CachedRows, resource_type: ResourceType, now: State, steps: Steps
) -> Slices[Sequence[str]]:
    """Return the names, sorted, of patterns that may have changed."""
    if all(map(is_, before.state, now)):
        return ()
    patterns = touched_since(before.step, steps)
    if patterns is None:
        return (yield from changed_names(before.state, before.chunks, now))
    return (
        yield from sort_in_slices(
            {pattern.name for pattern in patterns if pattern.resource_type is resource_type}
        )
    )


def _pick(
    description: Description, resource_type: ResourceType, encoder: RowEncoder
) -> Slices[Rows]:
    """Build the rows of the ACLs that a description selects."""
    total = 0
    joined = []
    for patterns in parts((yield from description.patterns(resource_type))):
        rows = []
        for name, kind, value in patterns:
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
