"""What the generated `read` functions are made of: the reading of values, with exact errors.

Most messages read each value by a function of its own here (`read_text`, `read_count`). In those
that matter (`doorkeeper_schemas.modules.READ_IN_PLACE`) a run of fixed-size fields is read by one
`struct.Struct`, together with the length before the next value: one byte if lengths are compact, an
int16 or int32 if not. Short, well-formed values are then sliced in place; all others are left to
the functions here, with the length that the run has read: the whole of it, or the first byte of a
compact one (`text`, `compact_text`).

Each function returns the value and the offset of its end, or raises `Malformed`.

Lengths on the wire: compact ones are unsigned varints of the length plus one, so that 0 means null;
the others are int16 (text) or int32 (bytes, arrays), where a negative number means null. An
unsigned varint is at most five bytes and, as in Java, the int32 that they make: 2**31 and more are
negative numbers. Hence a compact length of 2**32 - 1 is null, and a count of 2**31 tags none.

Nothing is allocated for an announced length: it is first compared with the bytes left.

Sources: ByteUtils.readUnsignedVarint and ByteBufferAccessor of kafka-clients, and the read methods
that Kafka's MessageDataGenerator writes.
"""

import re
import struct
from struct import Struct, calcsize, unpack_from
from typing import Any

from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.java_text import JAVA

TEXT_BYTES_MAX = 32767
"""The longest text on the wire, in UTF-8 bytes, compact or not."""

TAG_MAX = 0x7FFFFFFE
"""The highest tag that can be written; Kafka accepts the next one when reading only."""


_INT16 = Struct(">h").unpack_from
_SIZES = {"h": (_INT16, 2), "i": (Struct(">i").unpack_from, 4)}


def truncation(data: bytes, at: int, codes: str, *fields: str) -> Malformed:
    """Return the error for a run of fixed-size fields at `at` that exceeds the data.

    `codes` are the struct codes of the fields, separated by spaces.
    """
    field, needed = fields[-1], 0
    for code, name in zip(codes.split(), fields, strict=True):
        needed = calcsize(f">{code}")
        if at + needed > len(data):
            field = name
            break
        at += needed
    return Malformed(field, at, f"needs {needed} bytes, {len(data) - at} are left")


def uvarint(data: bytes, at: int, field: str) -> tuple[int, int]:
    """Read an unsigned varint, as Java's int32."""
    if at >= len(data):
        raise truncation(data, at, "B", field)
    first = data[at]
    return (first, at + 1) if first < 0x80 else more(data, at + 1, first, field)


def more(data: bytes, at: int, first: int, field: str) -> tuple[int, int]:
    """Read the rest of an unsigned varint whose first byte, 128 or more, was before `at`."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        if at >= len(data):
            raise Malformed(field, at, "the data ends within an unsigned varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFF
            return (value - 0x1_0000_0000 if value > 0x7FFFFFFF else value), at
    raise Malformed(field, at, "an unsigned varint of more than five bytes")


def compact_size(data: bytes, at: int, first: int, field: str) -> tuple[int, int]:
    """Read the rest of a compact length; the size is negative for null.

    Java subtracts in 32 bits, so a varint of -2**31 is the size 2**31 - 1, which never fits.
    """
    value, at = (first, at) if first < 0x80 else more(data, at, first, field)
    return (value - 1 if value != -0x8000_0000 else 0x7FFFFFFF), at


def refused_null(field: str, at: int) -> Malformed:
    """Return the error for null in a field that is not nullable."""
    return Malformed(field, at, "null, where null is not allowed")


def nullable_octets(data: bytes, at: int, size: int, field: str) -> tuple[bytes | None, int]:
    """Read `size` bytes; a negative size is null."""
    if size < 0:
        return None, at
    stop = at + size
    if stop > len(data):
        raise Malformed(field, at, f"needs {size} bytes, {len(data) - at} are left")
    return data[at:stop], stop


def octets(data: bytes, at: int, size: int, field: str) -> tuple[bytes, int]:
    value, stop = nullable_octets(data, at, size, field)
    if value is None:
        raise refused_null(field, at)
    return value, stop


def compact_nullable_octets(
    data: bytes, at: int, first: int, field: str
) -> tuple[bytes | None, int]:
    """Read bytes behind a compact length."""
    size, at = compact_size(data, at, first, field)
    return nullable_octets(data, at, size, field)


def compact_octets(data: bytes, at: int, first: int, field: str) -> tuple[bytes, int]:
    """Read bytes behind a compact length."""
    size, at = compact_size(data, at, first, field)
    return octets(data, at, size, field)


def nullable_text(data: bytes, at: int, size: int, field: str) -> tuple[str | None, int]:
    """Read a text of `size` bytes; a negative size is null."""
    if size > TEXT_BYTES_MAX:
        raise Malformed(field, at, f"a text of {size} bytes; at most {TEXT_BYTES_MAX}")
    value, at = nullable_octets(data, at, size, field)
    return (None if value is None else value.decode("utf-8", JAVA)), at


def text(data: bytes, at: int, size: int, field: str) -> tuple[str, int]:
    """Read a text of `size` bytes."""
    value, stop = nullable_text(data, at, size, field)
    if value is None:
        raise refused_null(field, at)
    return value, stop


def compact_nullable_text(data: bytes, at: int, first: int, field: str) -> tuple[str | None, int]:
    """Read a text behind a compact length."""
    size, at = compact_size(data, at, first, field)
    return nullable_text(data, at, size, field)


def compact_text(data: bytes, at: int, first: int, field: str) -> tuple[str, int]:
    """Read a text behind a compact length."""
    size, at = compact_size(data, at, first, field)
    return text(data, at, size, field)


class BoundedBytes(bytes):
    """Bytes that limit the total number of decoded array elements and tagged fields.

    An element of a few bytes becomes an object of some hundred: a count that fits the bytes may
    still cost a hundred times their size. Each object is decoded once.
    """

    elements_left: int

    def take(self, at: int, count: int, field: str) -> None:
        """Count elements before they are read."""
        self.elements_left -= max(count, 0)
        if self.elements_left < 0:
            raise Malformed(field, at, f"{count} more elements exceed the limit for a request")


def limit_elements(data: bytes, elements_max: int) -> bytes:
    """Return bytes that decode like `data`, but with at most `elements_max` elements."""
    limited = BoundedBytes(data)
    limited.elements_left = elements_max
    return limited


def nullable_array(
    data: bytes, at: int, count: int, element_bytes_min: int, field: str
) -> tuple[int, int]:
    """Check the count of an array; return it, or a negative number for null.

    Kafka rejects a count above the number of bytes left. If elements take more than a byte each,
    too many of them are rejected here too, before anything is allocated for them.
    """
    left = len(data) - at
    if count > left // element_bytes_min:
        raise Malformed(field, at, f"an array of {count}, but only {left} bytes are left")
    if isinstance(data, BoundedBytes):
        data.take(at, count, field)
    return count, at


def array(data: bytes, at: int, count: int, element_bytes_min: int, field: str) -> tuple[int, int]:
    """Check the count of an array like `nullable_array`; null is rejected."""
    if count < 0:
        raise refused_null(field, at)
    return nullable_array(data, at, count, element_bytes_min, field)


def compact_nullable_array(
    data: bytes, at: int, first: int, element_bytes_min: int, field: str
) -> tuple[int, int]:
    """Check the compact count of an array like `nullable_array`."""
    count, at = compact_size(data, at, first, field)
    return nullable_array(data, at, count, element_bytes_min, field)


def compact_array(
    data: bytes, at: int, first: int, element_bytes_min: int, field: str
) -> tuple[int, int]:
    """Check the compact count of an array like `array`."""
    count, at = compact_size(data, at, first, field)
    return array(data, at, count, element_bytes_min, field)


def tag_count(data: bytes, at: int, first: int, field: str) -> tuple[int, int]:
    """Read the rest of the number of tagged fields; a negative number means none."""
    count, at = (first, at) if first < 0x80 else more(data, at, first, field)
    if isinstance(data, BoundedBytes):
        data.take(at, count, field)
    return count, at


def tag_head(data: bytes, at: int, field: str) -> tuple[int, int, int]:
    """Read the tag and the size of a tagged field; return them and the offset of its value."""
    tag, at = uvarint(data, at, field)
    size, at = uvarint(data, at, field)
    return tag, size, at


def tag_value(data: bytes, at: int, size: int, field: str) -> tuple[bytes, int]:
    """Read the value of an unknown tagged field."""
    if size < 0:
        raise Malformed(field, at, f"a tagged field of {size} bytes")
    return octets(data, at, size, field)


def tags(data: bytes, at: int, first: int, field: str) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Read the tagged fields of a struct that knows none; order and duplicates are kept."""
    count, at = tag_count(data, at, first, field)
    found = []
    for _ in range(count):
        tag, size, at = tag_head(data, at, field)
        value, at = tag_value(data, at, size, field)
        found.append((tag, value))
    return tuple(found), at


def fixed(layout: Struct, data: bytes, at: int, *fields: str) -> tuple[Any, ...]:
    """Read a run of fixed-size fields."""
    try:
        return layout.unpack_from(data, at)
    except struct.error:
        codes = " ".join(re.findall(r"\d*[?\w]", layout.format))
        raise truncation(data, at, codes, *fields) from None


def _size(data: bytes, at: int, code: str, field: str, *, flexible: bool) -> tuple[int, int]:
    """Read a length: compact, or of a size of its own; negative for null."""
    if flexible:
        if at >= len(data):
            raise truncation(data, at, "B", field)
        first = data[at]
        if first < 0x80:
            return first - 1, at + 1
        return compact_size(data, at + 1, first, field)
    unpack, width = _SIZES[code]
    try:
        (size,) = unpack(data, at)
    except struct.error:
        raise truncation(data, at, code, field) from None
    return size, at + width


def read_text(data: bytes, at: int, flexible: bool, field: str) -> tuple[str, int]:
    """Read a text and its length."""
    # A short text that is there is read at once, in a quarter of the time of the functions below.
    try:
        if flexible:
            size, begin = data[at] - 1, at + 1
        else:
            (size,) = _INT16(data, at)
            begin = at + 2
    except (IndexError, struct.error):
        size = begin = -1
    if size >= 0 and (stop := begin + size) <= len(data) and (not flexible or size < 127):
        return data[begin:stop].decode("utf-8", JAVA), stop
    size, at = _size(data, at, "h", field, flexible=flexible)
    return text(data, at, size, field)


def read_nullable_text(data: bytes, at: int, flexible: bool, field: str) -> tuple[str | None, int]:
    """Read a text and its length."""
    size, begin = _size(data, at, "h", field, flexible=flexible)
    return (None, begin) if size < 0 else read_text(data, at, flexible, field)


def read_octets(data: bytes, at: int, flexible: bool, field: str) -> tuple[bytes, int]:
    """Read bytes and their length."""
    size, at = _size(data, at, "i", field, flexible=flexible)
    return octets(data, at, size, field)


def read_nullable_octets(
    data: bytes, at: int, flexible: bool, field: str
) -> tuple[bytes | None, int]:
    """Read bytes and their length."""
    size, at = _size(data, at, "i", field, flexible=flexible)
    return nullable_octets(data, at, size, field)


def read_count(
    data: bytes, at: int, flexible: bool, element_bytes_min: int, field: str
) -> tuple[int, int]:
    """Read the count of an array, and check it like `array`."""
    count, at = _size(data, at, "i", field, flexible=flexible)
    return array(data, at, count, element_bytes_min, field)


def read_nullable_count(
    data: bytes, at: int, flexible: bool, element_bytes_min: int, field: str
) -> tuple[int, int]:
    """Read the count of an array, and check it like `nullable_array`."""
    count, at = _size(data, at, "i", field, flexible=flexible)
    return nullable_array(data, at, count, element_bytes_min, field)


def texts(
    data: bytes, at: int, count: int, flexible: bool, field: str
) -> tuple[tuple[str, ...], int]:
    """Read `count` texts with their lengths."""
    found = []
    for _ in range(count):
        value, at = read_text(data, at, flexible, field)
        found.append(value)
    return tuple(found), at


def numbers(data: bytes, at: int, count: int, code: str) -> tuple[tuple[int, ...], int]:
    """Read `count` numbers, whose bytes are there."""
    return unpack_from(f">{count}{code}", data, at), at + calcsize(code) * count


def read_tags(data: bytes, at: int, field: str) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Read the tagged fields of a struct that knows none."""
    if at >= len(data):
        raise truncation(data, at, "B", field)
    first = data[at]
    return tags(data, at + 1, first, field) if first else ((), at + 1)


def read_tag_count(data: bytes, at: int, field: str) -> tuple[int, int]:
    """Read the number of tagged fields."""
    if at >= len(data):
        raise truncation(data, at, "B", field)
    return tag_count(data, at + 1, data[at], field)
