"""Support of the generated encoders, and the cache of encoded texts.

An encoder appends parts to a list and joins them once. Runs of fixed-size fields are packed by one
`struct.Struct`; texts with their lengths come from a small cache, because principals, hosts and
names repeat (1.15 to 1.45 times faster; in the worst case slower by the cost of clearing it).

Encoders do not check values. After an error of struct, join or cache, `declared.faults` walks the
message with its declaration and names the field.
"""

import struct
from collections.abc import Callable, Iterable, Sequence, Sized
from struct import Struct

from doorkeeper_wire.errors import Unsupported
from doorkeeper_wire.reading import TAG_MAX, TEXT_BYTES_MAX

ENCODE_ERRORS = (struct.error, TypeError, AttributeError, ValueError, OverflowError)
"""The errors of an encoder for a value that a field cannot carry."""

_CACHED_TEXTS_MAX = 4096
_CACHED_TEXT_CHARS_MAX = 128
_INT16 = Struct(">h").pack
_INT32 = Struct(">i").pack


def _uvarint(value: int) -> bytes:
    """Return the unsigned varint of a number from 0 to 2**32 - 1.

    Raises:
        ValueError: the number is out of range.
    """
    if not 0 <= value < 0x1_0000_0000:
        raise ValueError(value)
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class _Uvarints(dict[int, bytes]):
    """Unsigned varints by number; those of one or two bytes are cached."""

    def __missing__(self, value: int) -> bytes:
        encoded = _uvarint(value)
        if value < 0x4000:
            self[value] = encoded
        return encoded


UVARINT = _Uvarints()
"""`UVARINT[n]` is n as an unsigned varint."""


class _Texts(dict[str | None, bytes]):
    """Encoded texts with their lengths, computed on demand; a bounded cache."""

    def __init__(self, length: Callable[[int], bytes], null: bytes | None) -> None:
        super().__init__()
        self._length = length
        self._null = null

    def __missing__(self, value: str | None) -> bytes:
        if value is None:
            if self._null is None:
                raise ValueError(value)
            self[value] = self._null
            return self._null
        encoded = value.encode()
        if len(encoded) > TEXT_BYTES_MAX:
            raise ValueError(value)
        encoded = self._length(len(encoded)) + encoded
        if len(value) <= _CACHED_TEXT_CHARS_MAX:
            if len(self) >= _CACHED_TEXTS_MAX:
                # Cleared as a whole: a least-recently-used order would cost more than encoding
                # again.
                self.clear()
            self[value] = encoded
        return encoded


def _compact_length(size: int) -> bytes:
    return UVARINT[size + 1]


TEXT = _Texts(_INT16, null=None)
NULLABLE_TEXT = _Texts(_INT16, null=_INT16(-1))
COMPACT_TEXT = _Texts(_compact_length, null=None)
COMPACT_NULLABLE_TEXT = _Texts(_compact_length, null=_compact_length(-1))


def put_tags(
    out: list[bytes], known: Sequence[tuple[int, bytes]], unknown: Iterable[tuple[int, bytes]]
) -> None:
    """Append a section of tagged fields, in the order of their tags.

    Raises:
        ValueError: unknown tags do not ascend, or one of them is known here.
    """
    unknown = tuple(unknown)
    if not known and not unknown:
        out.append(b"\0")
        return
    section = sorted((*known, *unknown), key=_tag_of)
    tags = [tag for tag, _ in section]
    if len(set(tags)) < len(tags) or tags[-1:] > [TAG_MAX] or list(unknown) != sorted(unknown):
        raise ValueError(unknown)
    out.append(UVARINT[len(section)])
    for tag, value in section:
        out += UVARINT[tag], UVARINT[len(value)], value


def _tag_of(field: tuple[int, bytes]) -> int:
    return field[0]


def put_unknown_tags(out: list[bytes], unknown: Iterable[tuple[int, bytes]]) -> None:
    """Append the section of tagged fields of a struct that knows none."""
    if unknown:
        put_tags(out, (), unknown)
    else:
        out.append(b"\0")


def length(values: Sized | None, flexible: bool) -> bytes:
    """Return the length before bytes or an array.

    Raises:
        TypeError: they are null.
    """
    if values is None:
        raise TypeError(values)
    return UVARINT[len(values) + 1] if flexible else _INT32(len(values))


def nullable_length(values: Sized | None, flexible: bool) -> bytes:
    """Return the length before bytes or an array, or null."""
    if values is None:
        return b"\0" if flexible else b"\xff\xff\xff\xff"
    return length(values, flexible)


def replace_empty_tags(out: list[bytes], unknown: Iterable[tuple[int, bytes]]) -> None:
    """Append unknown tags, replacing the byte of an empty section at the end of the last part."""
    out[-1] = out[-1][:-1]
    put_tags(out, (), unknown)


def check_uuid(value: bytes) -> None:
    """Check that an id has 16 bytes: struct would truncate or pad it.

    Raises:
        ValueError: it has another length.
    """
    if len(value) != 16:
        raise ValueError(value)


def absent(field: str, value: object) -> Unsupported:
    """Return the error for a field that is set, but absent in this version."""
    return Unsupported(field, f"{value!r} cannot be said in this version")
