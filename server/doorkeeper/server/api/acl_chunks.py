"""The encoded rows of one resource type, in chunks of some hundred names.

    chunk    names a to f    the groups of ACLs of each name    their rows, joined
    chunk    names g to m    ...

After a change only the rows of the changed names are encoded again; all other chunks are reused.
The state knows the names of its last changes. Beyond them, groups are compared by identity: they
are immutable, so an unchanged group is the same object in both states. That is a look-up for each
name, most of a microsecond where they exceed the processor's cache.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import filterfalse, islice
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from doorkeeper.base.garbage_collection import freeze_long_lived
from doorkeeper.base.slices import SLICE_ITEMS, parts, sort_in_slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from immutables import Map

    from doorkeeper.acls.index import Group
    from doorkeeper.base.slices import Slices
    from doorkeeper.server.api.acl_row_encoder import RowEncoder

    State = tuple[Map[str, Group], ...]
    """Groups by name: those of literals, those of prefixes, or both in this order."""

_LONG: Final = 10_000
"""Longer lists of names are frozen out of the garbage collector."""

CHUNK: Final = 256
"""A chunk has fewer than twice this number of names, two neighbours have more than this number.

A response joins the chunks; a change copies one.
"""


class Chunk(Struct, frozen=True):
    """The encoded rows of some names; for each name, the literal pattern's row comes first.

    ``names`` are sorted. ``groups`` has a column for each kind of pattern, with None where a name
    has no pattern of the kind. ``ends`` has the offset in ``rows`` where the rows of each name end.
    """

    names: list[str]
    groups: tuple[list[Group | None], ...]
    ends: array[int]
    rows: bytes


class Draft:
    """A chunk under construction; names are added in order."""

    def __init__(self, kinds: int) -> None:
        self._names: list[str] = []
        self._groups: tuple[list[Group | None], ...] = tuple([] for _ in range(kinds))
        self._ends = array("Q")
        self._rows: list[bytes] = []
        self._size = 0

    def add(self, name: str, groups: Sequence[Group | None], rows: bytes) -> None:
        self._names.append(name)
        for column, group in zip(self._groups, groups, strict=True):
            column.append(group)
        self._size += len(rows)
        self._ends.append(self._size)
        self._rows.append(rows)

    def take(self, chunk: Chunk, first: int, last: int) -> None:
        """Add the names of a chunk from the index ``first`` to before ``last``."""
        if first == last:
            return
        self._names += chunk.names[first:last]
        for column, groups in zip(self._groups, chunk.groups, strict=True):
            column.extend(groups[first:last])
        begin, end = chunk.ends[first - 1] if first else 0, chunk.ends[last - 1]
        shift = self._size - begin
        # Offsets move with the part; its rows are copied as one slice of bytes.
        self._ends.extend([offset + shift for offset in chunk.ends[first:last]])
        self._size += end - begin
        self._rows.append(chunk.rows[begin:end])

    def chunk(self) -> Chunk:
        return Chunk(self._names, self._groups, self._ends, b"".join(self._rows))


def changed_names(before: State, chunks: Sequence[Chunk], now: State) -> Slices[list[str]]:
    """Return the names whose groups differ from the state that the chunks were built from."""
    replaced = [kind for kind, was in enumerate(before) if now[kind] is not was]
    names: list[str] = []
    missing = sum(map(len, now)) - sum(map(len, before))
    for chunk in chunks:
        differ = set()
        for kind in replaced:
            groups = list(map(now[kind].get, chunk.names))
            # In C and by identity: this line runs for every name of the resource type.
            if all(map(is_, groups, chunk.groups[kind])):
                continue
            for name, was, new in zip(chunk.names, chunk.groups[kind], groups, strict=True):
                if was is not new:
                    differ.add(name)
                    missing += (was is not None) - (new is not None)
        names += differ
        yield
    if missing:
        # The counts differ, so there are names that no chunk has.
        names += yield from names_in([now[kind] for kind in replaced], known=before)
    return (yield from sort_in_slices(names))


def names_in(
    state: Sequence[Map[str, Any]], known: Sequence[Map[str, Any]] = ()
) -> Slices[list[str]]:
    """Return the distinct names of a state that are not in ``known``, sorted."""
    new: list[str] = []
    known = [*known]
    for groups in state:
        names = iter(groups)
        while batch := list(islice(names, SLICE_ITEMS)):
            for others in known:
                batch = list(filterfalse(others.__contains__, batch))
            new += batch
            yield
        known.append(groups)
    ordered = yield from sort_in_slices(new)
    if len(ordered) > _LONG:
        freeze_long_lived()
    return ordered


def update_chunks(
    chunks: Sequence[Chunk], touched: Sequence[str], now: State, encoder: RowEncoder
) -> Slices[list[Chunk]]:
    """Build the chunks of a state from those of another state.

    ``touched`` are all names that may differ, sorted and distinct.
    """
    after: list[Chunk] = []
    for chunk, names in _assign(touched, chunks or [Draft(len(now)).chunk()]):
        first = 0
        for batch in parts(names):
            last = bisect_right(chunk.names, batch[-1])
            # The last part takes the rest of the chunk, which has no changed names.
            if batch[-1] == names[-1]:
                last = len(chunk.names)
            _append(after, (yield from _rebuild(chunk, first, last, batch, now, encoder)))
            first = last
            yield
        if not names:
            _append(after, chunk)
    return after


def _assign(names: Sequence[str], chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, Sequence[str]]]:
    """Yield each chunk with the sorted names that belong before the next chunk."""
    end = 0
    for at, chunk in enumerate(chunks, start=1):
        before, end = end, len(names)
        if at < len(chunks):
            end = bisect_left(names, chunks[at].names[0], before)
        # One chunk has all names at the first time: a copy would be another long list.
        yield chunk, names if end - before == len(names) else names[before:end]


def _rebuild(
    chunk: Chunk, first: int, last: int, touched: Sequence[str], now: State, encoder: RowEncoder
) -> Slices[Chunk]:
    """Build the new part of a chunk from ``first`` to before ``last``."""
    draft = Draft(len(now))
    for name in touched:
        index = bisect_left(chunk.names, name, first, last)
        draft.take(chunk, first, index)
        first = index
        if index < last and chunk.names[index] == name:
            first += 1
        groups = [by_name.get(name) for by_name in now]
        rows = b""
        for group in groups:
            if group is not None:
                rows += yield from encoder.row(group)
        if rows:
            draft.add(name, groups, rows)
    draft.take(chunk, first, last)
    return draft.chunk()


def _append(chunks: list[Chunk], chunk: Chunk) -> None:
    """Append a chunk: skip an empty one, merge small neighbours, split a large one."""
    size = len(chunk.names)
    if size == 0:
        return
    if chunks and len(chunks[-1].names) + size <= CHUNK:
        chunks[-1] = _join((chunks[-1], 0, len(chunks[-1].names)), (chunk, 0, size))
    elif size >= 2 * CHUNK:
        # Halves have CHUNK names or more, so that two neighbours cannot be merged again at once.
        half = size // 2
        chunks += (_join((chunk, 0, half)), _join((chunk, half, size)))
    else:
        chunks.append(chunk)


def _join(*sections: tuple[Chunk, int, int]) -> Chunk:
    """Return a chunk of parts of others."""
    draft = Draft(len(sections[0][0].groups))
    for chunk, first, last in sections:
        draft.take(chunk, first, last)
    return draft.chunk()
