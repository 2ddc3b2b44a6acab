"""Kafka's types as `construct` nodes, where construct has none.

Everything with a length has its node here, because construct's nodes either know no null, or read
an announced length before they compare it with the data; its VarInt takes quadratic time for
hostile input. Fixed-size values have one because construct's errors do not say where they are.

To read, all nodes take an `Input` and raise `Malformed`, with the field, the offset and the reason
that the generated code has; none calls a function of it, since they are the oracle of its tests. To
write, they raise construct's errors. A struct is a dictionary by the names of the generated code.
"""
# ruff: noqa: SLF001 - construct carries no types, and is extended by its _parse and _build

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from construct import (
    Bytes,
    Construct,
    ConstructError,
    FormatField,
    Struct,
    ValidationError,
    stream_write,
)

from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.java_text import decode_text
from doorkeeper_wire.reading import BoundedBytes
from doorkeeper_wire.writing import ENCODE_ERRORS

TEXT_BYTES_MAX = 32767
TAG_MAX = 0x7FFFFFFE
_WORD = 1 << 32


class Input:
    """The stream of the nodes: bytes that are not copied, and the offset of the next one."""

    __slots__ = ("_bounded", "at", "data", "left_max")

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at
        self.left_max = len(data)
        self._bounded = data if isinstance(data, BoundedBytes) else None

    def take(self, count: int, path: str) -> bytes:
        """Return the next bytes."""
        at = self.at
        stop = at + count
        if stop > self.left_max:
            raise self.fault(path, f"needs {count} bytes, {self.left_max - at} are left")
        self.at = stop
        return self.data[at:stop]

    def count_elements(self, count: int, path: str) -> None:
        """Compare a number of elements with the limit, before any of them is made."""
        if self._bounded is not None:
            self._bounded.take(self.at, count, path)

    def fault(self, path: str, reason: str) -> Malformed:
        """Return the error for the bytes before the present offset."""
        return Malformed(path, self.at, reason)


class Number(FormatField):  # type: ignore[misc] # construct carries no types
    """A number of a fixed size."""

    def __init__(self, code: str) -> None:
        super().__init__(">", code)
        self.bytes_min = self.length
        self._unpack = struct.Struct(self.fmtstr).unpack_from

    def _parse(self, stream: Input, _context: Any, path: str) -> Any:
        at = stream.at
        try:
            (value,) = self._unpack(stream.data, at)
        except struct.error:
            stream.take(self.length, path)  # raises the error
            raise
        stream.at = at + self.length
        return value


INT8, INT16, INT32 = Number("b"), Number("h"), Number("l")
NUMBERS = {
    "int8": INT8,
    "int16": INT16,
    "uint16": Number("H"),
    "int32": INT32,
    "int64": Number("q"),
    "float64": Number("d"),
}


class UnsignedVarint(Construct):  # type: ignore[misc]
    """An unsigned varint of at most five bytes, read as Java's int32."""

    def _parse(self, stream: Input, _context: Any, path: str) -> int:
        value = stream.take(1, path)[0]
        if value < 0x80:
            return value
        value &= 0x7F
        for shift in (7, 14, 21, 28):
            if stream.at >= stream.left_max:
                raise stream.fault(path, "the data ends within an unsigned varint")
            byte = stream.take(1, path)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                # Java keeps the low 32 bits, so that 2**31 and more are negative.
                value %= _WORD
                return value - _WORD if value >= _WORD // 2 else value
        raise stream.fault(path, "an unsigned varint of more than five bytes")

    def _build(self, obj: Any, stream: Any, _context: Any, path: Any) -> Any:
        if not 0 <= obj < _WORD:
            raise ValidationError(f"{obj} is not an unsigned varint", path=path)
        left, encoded = obj, []
        while left >= 0x80:
            encoded.append(left % 0x80 + 0x80)
            left //= 0x80
        stream_write(stream, bytes([*encoded, left]), len(encoded) + 1, path)
        return obj


UVARINT = UnsignedVarint()


class Flag(Construct):  # type: ignore[misc]
    """A byte: 0 is false, everything else true."""

    bytes_min = 1

    def _parse(self, stream: Input, _context: Any, path: str) -> bool:
        return stream.take(1, path) != b"\x00"

    def _build(self, obj: Any, stream: Any, _context: Any, path: Any) -> Any:
        stream_write(stream, b"\x01" if obj else b"\x00", 1, path)
        return obj


class Uuid(Bytes):  # type: ignore[misc]
    """An id of 16 bytes."""

    bytes_min = 16

    def _parse(self, stream: Input, _context: Any, path: str) -> bytes:
        return stream.take(16, path)


BOOL = Flag()
UUID = Uuid(16)


class Sized(Construct):  # type: ignore[misc]
    """A value after a length: compact (unsigned varint of length + 1), or a signed integer."""

    def __init__(self, *, compact: bool, nullable: bool, plain_length: Number) -> None:
        super().__init__()
        self.compact = compact
        self.nullable = nullable
        self.plain_length = plain_length
        self.bytes_min = 1 if compact else plain_length.length

    def _parse_size(self, stream: Input, context: Any, path: str) -> int | None:
        """Read the length; None is null."""
        if self.compact:
            size = UVARINT._parse(stream, context, path) - 1
            size = size + _WORD if size < -_WORD // 2 else size
        else:
            size = self.plain_length._parse(stream, context, path)
        if size >= 0:
            return int(size)
        if not self.nullable:
            raise stream.fault(path, "null, where null is not allowed")
        return None

    def _build_size(self, size: int | None, stream: Any, context: Any, path: Any) -> None:
        if size is None and not self.nullable:
            raise ValidationError("null, where null is not allowed", path=path)
        size = -1 if size is None else size
        if self.compact:
            UVARINT._build(size + 1, stream, context, path)
        else:
            self.plain_length._build(size, stream, context, path)


class Octets(Sized):
    """Bytes after a length, which is an int32 if not compact."""

    def __init__(self, *, compact: bool = False, nullable: bool = False) -> None:
        super().__init__(compact=compact, nullable=nullable, plain_length=INT32)

    def _parse(self, stream: Input, context: Any, path: str) -> bytes | None:
        size = self._parse_size(stream, context, path)
        return None if size is None else stream.take(size, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        self._build_size(None if obj is None else len(obj), stream, context, path)
        if obj is not None:
            stream_write(stream, obj, len(obj), path)
        return obj


class Text(Sized):
    """UTF-8 after a length, which is an int16 if not compact; decoded like Java."""

    def __init__(self, *, compact: bool = False, nullable: bool = False) -> None:
        super().__init__(compact=compact, nullable=nullable, plain_length=INT16)

    def _parse(self, stream: Input, context: Any, path: str) -> str | None:
        size = self._parse_size(stream, context, path)
        if size is None:
            return None
        if size > TEXT_BYTES_MAX:
            raise stream.fault(path, f"a text of {size} bytes; at most {TEXT_BYTES_MAX}")
        return decode_text(stream.take(size, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        encoded = None if obj is None else obj.encode()
        if encoded is not None and len(encoded) > TEXT_BYTES_MAX:
            raise ValidationError(f"text of {len(encoded)} bytes", path=path)
        self._build_size(None if encoded is None else len(encoded), stream, context, path)
        if encoded is not None:
            stream_write(stream, encoded, len(encoded), path)
        return obj


class Array(Sized):
    """Elements after their count, which is an int32 if not compact."""

    def __init__(self, element: Any, *, compact: bool = False, nullable: bool = False) -> None:
        super().__init__(compact=compact, nullable=nullable, plain_length=INT32)
        self.element = element

    def _parse(self, stream: Input, context: Any, path: str) -> Any:
        count = self._parse_size(stream, context, path)
        if count is None:
            return None
        left = stream.left_max - stream.at
        if count > left // self.element.bytes_min:
            raise stream.fault(path, f"an array of {count}, but only {left} bytes are left")
        stream.count_elements(count, path)
        parse = self.element._parse
        return [parse(stream, context, path) for _ in range(count)]

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        self._build_size(None if obj is None else len(obj), stream, context, path)
        for item in obj or ():
            self.element._build(item, stream, context, path)
        return obj


@dataclass(frozen=True, slots=True)
class Tagged:
    """A known tagged field, written only if it differs from its default."""

    tag: int
    name: str
    node: Any
    default: Any


class TagSection(Construct):  # type: ignore[misc]
    """The tagged fields at the end of a flexible struct, known and unknown ones.

    As in Kafka, the size of a known field is not compared with the bytes that the field takes, the
    last of several wins, and any order is accepted. Unknown ones keep their order. They are written
    in the order of tags. `refused` are tags that the message has, but not in this version.
    """

    def __init__(self, *known: Tagged, refused: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.known = known
        self.refused = refused
        self._by_tag = {field.tag: field for field in known}
        self._defaults = {field.name: field.default for field in known}

    def parse_into(self, values: dict[str, Any], stream: Input, context: Any, prefix: str) -> None:
        """Read the section, and add its fields to those of the struct."""
        path = f"{prefix}unknown_tags"
        values.update(self._defaults)
        unknown = []
        count = UVARINT._parse(stream, context, path)
        stream.count_elements(count, path)
        for _ in range(count):
            tag = UVARINT._parse(stream, context, path)
            size = UVARINT._parse(stream, context, path)
            if tag in self.refused:
                raise stream.fault(path, f"tag {tag} is not valid in this version")
            field = self._by_tag.get(tag)
            if field is not None:
                values[field.name] = field.node._parse(stream, context, prefix + field.name)
                continue
            if size < 0:
                raise stream.fault(path, f"a tagged field of {size} bytes")
            unknown.append((tag, stream.take(size, path)))
        values["unknown_tags"] = tuple(unknown)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        written = dict(self._encode_known(obj))
        previous = -1
        for tag, value in obj.get("unknown_tags", ()):
            if tag <= previous or tag in written or tag > TAG_MAX:
                raise ValidationError(f"tag {tag} is out of order, or known", path=path)
            previous = tag
            written[tag] = value
        UVARINT._build(len(written), stream, context, path)
        for tag in sorted(written):
            UVARINT._build(tag, stream, context, path)
            UVARINT._build(len(written[tag]), stream, context, path)
            stream_write(stream, written[tag], len(written[tag]), path)
        return obj

    def _encode_known(self, obj: Any) -> Iterator[tuple[int, bytes]]:
        for field in self.known:
            value = obj.get(field.name, field.default)
            if _is_set(value, field.default):
                yield field.tag, Construct.build(field.node, value)


@dataclass(frozen=True, slots=True)
class Absent:
    """A field of the struct in other versions, with its value in this one.

    Unless it is ignorable, a struct in which it is set cannot be built in this version.
    """

    name: str
    default: Any
    ignorable: bool


class Record(Struct):  # type: ignore[misc]
    """A struct of Kafka: its fields in order, its tagged fields, and its absent ones.

    It is read to a dictionary that has every field of the struct, in every version. To write it,
    what is not given has its default, of `defaults`.
    """

    def __init__(
        self,
        kind: str,
        *fields: Any,
        defaults: dict[str, Any],
        tags: TagSection | None = None,
        absent: tuple[Absent, ...] = (),
    ) -> None:
        super().__init__(*fields)
        self.kind = kind
        self.tags = tags
        self.absent = absent
        self.defaults = defaults
        self._absent_values = {field.name: field.default for field in absent}
        self._nodes = [(part.name, part.subcon) for part in self.subcons]
        sizes = (node.bytes_min for _, node in self._nodes)
        self.bytes_min = sum(sizes) + (tags is not None)

    def decode(self, data: bytes, at: int) -> tuple[dict[str, Any], int]:
        """Return the struct that begins at an offset, and the offset of its end.

        Raises:
            Malformed: the bytes are not such a struct.
        """
        stream = Input(data, at)
        return self._parse(stream, None, ""), stream.at

    def parse(self, data: bytes) -> dict[str, Any]:
        """Return the struct at the beginning of the data, as `decode`."""
        return self.decode(data, 0)[0]

    def build(self, values: dict[str, Any]) -> bytes:
        """Return the bytes of a struct.

        Raises:
            Unencodable: a field cannot carry its value.
        """
        try:
            encoded: bytes = super().build(values)
        except (ConstructError, LookupError, *ENCODE_ERRORS) as error:
            raise Unencodable(self.kind, str(error)) from error
        return encoded

    def _parse(self, stream: Input, context: Any, path: str) -> dict[str, Any]:
        prefix = f"{path}." if path else ""
        values = self._absent_values.copy()
        for name, node in self._nodes:
            values[name] = node._parse(stream, context, prefix + name)
        if self.tags is not None:
            self.tags.parse_into(values, stream, context, prefix)
        return values

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        for field in self.absent:
            value = obj.get(field.name, field.default)
            if not field.ignorable and _is_set(value, field.default):
                raise ValidationError(f"{field.name} is not in this version", path=path)
        for name, node in self._nodes:
            value = obj[name] if name in obj else self.defaults[name]
            node._build(value, stream, context, f"{path} -> {name}")
        if self.tags is not None:
            self.tags._build(obj, stream, context, path)
        return obj


class NullableRecord(Construct):  # type: ignore[misc]
    """A struct that may be null, after a byte that is negative for null."""

    bytes_min = 1

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record

    def _parse(self, stream: Input, context: Any, path: str) -> Any:
        if INT8._parse(stream, context, path) < 0:
            return None
        return self.record._parse(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        INT8._build(-1 if obj is None else 1, stream, context, path)
        if obj is not None:
            self.record._build(obj, stream, context, path)
        return obj


def _is_set(value: Any, default: Any) -> bool:
    """Return whether a value differs from the default; an empty list equals an empty tuple."""
    if isinstance(default, dict) and isinstance(value, dict):
        return any(_is_set(value.get(name, item), item) for name, item in default.items())
    return bool(value != default and not (default == () and value == []))
