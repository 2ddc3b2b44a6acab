"""The encoded rows of DescribeAcls: those of one resource type in chunks of some hundred names.

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
from doorkeeper.server.api.codes import description_of
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from doorkeeper_wire.writing import ENCODE_ERRORS, UVARINT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from immutables import Map

    from doorkeeper.acls.index import Group
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.base.slices import Slices

    State = tuple[Map[str, Group], ...]
    """Groups by name: those of literals, those of prefixes, or both in this order."""

_NAME, _GROUP = itemgetter(0), itemgetter(1)

_LONG: Final = 10_000
"""Longer lists of names are frozen out of the garbage collector."""


COMPACT: Final = 2
"""The first version with varint lengths and tagged fields."""

_COPY_BYTES: Final = 1 << 20
"""Bytes copied to new memory in half a millisecond."""

_ROW: Final = 4
"""The cost of a row without its ACLs, in ACLs."""


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


class RowEncoder:
    """Encodes rows in the layout of one version."""

    def __init__(self, version: int) -> None:
        self.layout: Final = min(version, COMPACT)
        """Versions 2 and 3 have one layout."""
        self._version = version
        # The count of rows or ACLs stands before the tagged fields, if there are any.
        self._tags = b"\0" if version >= COMPACT else b""
        self._since = 0
        """The work since the last slice, in ACLs."""

    def body(self, count: int, rows: Sequence[bytes], reserved_bytes: int = 0) -> Slices[bytearray]:
        """Build the body of a response from encoded rows, joined in any way.

        It begins with ``reserved_bytes`` free bytes.
        """
        empty = DescribeAclsResponse(error_message="").encode(self._version)
        parts = [self._with_count(empty, count), *rows, self._tags]
        # Copied in slices: a join of 300,000 rows takes 12 ms.
        at = reserved_bytes
        copied = 0
        # Allocated once with its final size; the header is written into the reserved bytes later.
        whole = bytearray(at + sum(map(len, parts)))
        for part in parts:
            whole[at : at + len(part)] = part
            at += len(part)
            copied += len(part)
            if copied >= _COPY_BYTES:
                copied = 0
                yield
        return whole

    def row(self, bindings: Collection[AclBinding]) -> Slices[bytes]:
        """Encode the row of one pattern; yield after enough work."""
        ordered = (
            sorted(bindings)
            if len(bindings) <= SLICE_ITEMS
            else (yield from sort_in_slices(bindings))
        )
        kind, name, pattern_type = ordered[0].pattern
        row = DescribeAclsResource(
            resource_type=kind, resource_name=name, pattern_type=pattern_type
        )
        out: list[bytes] = []
        self._since += _ROW
        try:
            DescribeAclsResource.write_all(out, (row,), self._version)
            out = [self._with_count(b"".join(out), len(ordered))]
            for part in parts(ordered):
                entries = [description_of(binding.entry) for binding in part]
                AclDescription.write_all(out, entries, self._version)
                self._since += len(part)
                if self._since >= SLICE_ITEMS:
                    self._since = 0
                    yield
        except ENCODE_ERRORS:
            # The whole message names the field that is at fault.
            acls = tuple([description_of(binding.entry) for binding in ordered])
            DescribeAclsResponse(resources=(row.replace(acls=acls),)).encode(self._version)
            raise
        return b"".join((*out, self._tags))

    def _with_count(self, empty: bytes, count: int) -> bytes:
        """Return what stands before the items of an encoded array that is empty and the last."""
        if self._tags:
            return empty[:-2] + UVARINT[count + 1]
        return empty[:-4] + count.to_bytes(4)
