"""The encoded rows of one resource type, in chunks of some hundred names.

    chunk    names a to f    the row of each
    chunk    names g to m    ...

After a change only the rows of the changed names are encoded again; all other chunks are reused.
The state knows the names of its last changes. Beyond them, groups are compared by identity: they
are immutable, so an unchanged group is the same object in both states. That is a look-up for each
name, most of a microsecond where they exceed the processor's cache.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import filterfalse
from operator import is_, itemgetter
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

_NAME, _GROUP = itemgetter(0), itemgetter(1)

_LONG: Final = 10_000
"""Longer lists of names are frozen out of the garbage collector."""


class Chunk(Struct, frozen=True):
    """The encoded rows of some names, which are sorted; of a name, the literal's comes first.

    It has ``SLICE_ITEMS`` names at most, and two neighbours together have more: a change copies
    one.
    """

    names: Sequence[str]
    rows: Sequence[bytes]


def changed_names(before: State, now: State) -> Slices[list[str]]:
    """Return the names whose groups differ between two states, sorted."""
    names: set[str] = set()
    for was, new in zip(before, now, strict=True):
        if was is new:
            continue
        for part in parts(new.items()):
            # In C and by identity: this line runs for every name of the resource type.
            if not all(map(is_, map(was.get, map(_NAME, part)), map(_GROUP, part))):
                names.update(name for name, group in part if was.get(name) is not group)
            yield
        names.update((yield from names_in([was], known=[new])))
    return (yield from sort_in_slices(names))


def names_in(
    state: Sequence[Map[str, Any]], known: Sequence[Map[str, Any]] = ()
) -> Slices[list[str]]:
    """Return the distinct names of a state that are not in ``known``, sorted."""
    new: list[str] = []
    known = [*known]
    for groups in state:
        for part in parts(groups):
            unknown: Iterator[str] = iter(part)
            for others in known:
                unknown = filterfalse(others.__contains__, unknown)
            new += unknown
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
    for chunk, changed in _assign(touched, chunks or [Chunk((), ())]):
        if not changed:
            _append(after, chunk)
            continue
        rows = dict(zip(chunk.names, chunk.rows, strict=True))
        for name in changed:
            row = b""
            for by_name in now:
                group = by_name.get(name)
                if group is not None:
                    row += yield from encoder.row(group)
            if row:
                rows[name] = row
            else:
                rows.pop(name, None)
        for part in parts((yield from sort_in_slices(rows)) if chunk.names else rows):
            _append(after, Chunk(part, [rows[name] for name in part]))
            yield
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


def _append(chunks: list[Chunk], chunk: Chunk) -> None:
    """Append a chunk that is not empty, or join it to a small neighbour."""
    if chunks and len(chunks[-1].names) + len(chunk.names) <= SLICE_ITEMS:
        last = chunks.pop()
        chunk = Chunk([*last.names, *chunk.names], [*last.rows, *chunk.rows])
    if chunk.names:
        chunks.append(chunk)
