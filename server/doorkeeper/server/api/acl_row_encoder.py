"""Encodes rows of DescribeAcls: a pattern with its ACLs, in the layout of one version."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from doorkeeper.acls.model import AclBinding, ResourcePattern
from doorkeeper.base.slices import SLICE_ITEMS, Slices, parts, sort_in_slices
from doorkeeper.server.api.codes import description_of
from doorkeeper_wire.messages.describe_acls import DescribeAclsResource, DescribeAclsResponse
from doorkeeper_wire.writing import UVARINT

COMPACT: Final = 2
"""The first version with varint lengths and tagged fields."""

_COPY_BYTES: Final = 1 << 20
"""Bytes copied to new memory in half a millisecond."""

_ROW: Final = 4
"""The cost of a row without its ACLs, in ACLs."""


class RowEncoder:
    """Encodes rows in the layout of one version, by cutting them out of one-row responses."""

    def __init__(self, version: int) -> None:
        """The count of rows ends an empty response, or stands before its tagged fields."""
        self.layout: Final = min(version, COMPACT)
        """Versions 2 and 3 have one layout."""
        self._version = version
        self._behind = 1 if version >= COMPACT else 0
        self._empty = DescribeAclsResponse(error_message="").encode(version)
        self._before = len(self._empty) - self._behind
        self._since = 0
        """The work since the last slice, in ACLs."""

    def body(self, count: int, rows: Sequence[bytes], reserved_bytes: int = 0) -> Slices[bytearray]:
        """Build the body of a response from encoded rows, joined in any way.

        It begins with ``reserved_bytes`` free bytes.
        """
        if self._behind:
            parts = [self._empty[:-2], UVARINT[count + 1], *rows, b"\0"]
        else:
            parts = [self._empty[:-4], count.to_bytes(4), *rows]
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
        if len(bindings) > SLICE_ITEMS:
            return (yield from self._long(bindings))
        ordered = sorted(bindings)
        row = self._encode(ordered[0].pattern, ordered)
        self._since += _ROW + len(ordered)
        if self._since >= SLICE_ITEMS:
            self._since = 0
            yield
        return row

    def _long(self, bindings: Collection[AclBinding]) -> Slices[bytes]:
        """Encode a row of very many ACLs from several short rows of its pattern."""
        ordered = yield from sort_in_slices(bindings)
        pattern = ordered[0].pattern
        empty = self._encode(pattern, ())
        # A row is pattern, count, entries, tagged fields: the entries of several rows can be
        # joined.
        head = len(empty) - len(self._count(0)) - self._behind
        joined = [empty[:head], self._count(len(ordered))]
        for part in parts(ordered):
            row = self._encode(pattern, part)
            joined.append(row[head + len(self._count(len(part))) : len(row) - self._behind])
            yield
        return b"".join((*joined, bytes(self._behind)))

    def _count(self, acls: int) -> bytes:
        return UVARINT[acls + 1] if self._behind else acls.to_bytes(4)

    def _encode(self, pattern: ResourcePattern, bindings: Sequence[AclBinding]) -> bytes:
        kind, name, pattern_type = pattern
        row = DescribeAclsResource(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern_type,
            acls=tuple([description_of(binding.entry) for binding in bindings]),
        )
        answer = DescribeAclsResponse(error_message="", resources=(row,)).encode(self._version)
        # The response has exactly one row: cut off what stands around it.
        return answer[self._before : len(answer) - self._behind]
