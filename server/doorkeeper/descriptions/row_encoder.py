"""Rows of DescribeAcls as bytes: a pattern with its ACLs, in the layout of one version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.api.codes import description_of
from doorkeeper.runtime.slices import SLICE_ITEMS, in_order, parts
from doorkeeper_wire.messages.describe_acls import DescribeAclsResource, DescribeAclsResponse
from doorkeeper_wire.writing import UVARINT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from doorkeeper.acl.model import AclBinding, ResourcePattern
    from doorkeeper.runtime.slices import Slices

COMPACT: Final = 2
"""From this version on lengths are varints, and tags stand behind everything."""

_COPY_BYTES: Final = 1 << 20
"""How much is copied in half a millisecond, into memory that is new."""

_ROW: Final = 4
"""A row takes as long to encode as so many ACLs, beside its own."""


class RowEncoder:
    """Encodes rows in the layout of one version: answers of one row each, without their ends."""

    def __init__(self, version: int) -> None:
        """Find the ends: the number of rows is the last in an answer, or stands before its tags."""
        self.layout: Final = min(version, COMPACT)
        """Versions 2 and 3 have one layout."""
        self._version = version
        self._behind = 1 if version >= COMPACT else 0
        self._empty = DescribeAclsResponse(error_message="").encode(version)
        self._before = len(self._empty) - self._behind
        self._since = 0
        """How much was encoded since others had their turn, in ACLs."""

    def body(self, count: int, rows: Sequence[bytes], reserved_bytes: int = 0) -> Slices[bytearray]:
        """Build the whole body of an answer from so many rows, however they are joined.

        In front of it ``reserved_bytes`` are left free.
        """
        if self._behind:
            parts = [self._empty[:-2], UVARINT[count + 1], *rows, b"\0"]
        else:
            parts = [self._empty[:-4], count.to_bytes(4), *rows]
        # Copied in slices: a join of 300,000 rows takes 12 ms.
        at = reserved_bytes
        copied = 0
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
        """Make the row of one pattern from its bindings; stop where enough was encoded."""
        if len(bindings) > SLICE_ITEMS:
            return (yield from self._long(bindings))
        ordered = sorted(bindings)
        row = self._encoded(ordered[0].pattern, ordered)
        self._since += _ROW + len(ordered)
        if self._since >= SLICE_ITEMS:
            self._since = 0
            yield
        return row

    def _long(self, bindings: Collection[AclBinding]) -> Slices[bytes]:
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
        return UVARINT[acls + 1] if self._behind else acls.to_bytes(4)

    def _encoded(self, pattern: ResourcePattern, bindings: Sequence[AclBinding]) -> bytes:
        kind, name, pattern_type = pattern
        row = DescribeAclsResource(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern_type,
            acls=tuple([description_of(each.entry) for each in bindings]),
        )
        answer = DescribeAclsResponse(error_message="", resources=(row,)).encode(self._version)
        return answer[self._before : len(answer) - self._behind]
