"""Kafka's types as `construct` nodes, where construct has none.

The integers are construct's own (`Int16sb` and so on), an id is `Bytes(16)`. Everything with a
length has its node here, because construct's nodes either know no null, or read an announced length
before they compare it with the data; its VarInt takes quadratic time for hostile input.

All nodes raise construct's own errors: `StreamError` at the end of the data, `ValidationError` for
values that Kafka refuses. They serve as an oracle for the generated code; no server runs them.
"""
# ruff: noqa: SLF001 - construct carries no types, and is extended by its _parse and _build

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from construct import (
    Bytes,
    Construct,
    Container,
    Int8sb,
    Int16sb,
    Int32sb,
    ListContainer,
    Struct,
    ValidationError,
    stream_read,
    stream_write,
)

from doorkeeper_wire.java_text import decode_text

TEXT_BYTES_MAX = 32767
TAG_MAX = 0x7FFFFFFE
_WORD = 1 << 32


class UnsignedVarint(Construct):  # type: ignore[misc] # construct carries no types
    """An unsigned varint of at most five bytes, read as Java's int32."""

    def _parse(self, stream: Any, _context: Any, path: Any) -> int:
        value = 0
        for index in range(5):
            byte = stream_read(stream, 1, path)[0]
            value |= (byte & 0x7F) << (7 * index)
            if not byte & 0x80:
                # Java keeps the low 32 bits, so that 2**31 and more are negative.
                value %= _WORD
                return int(value - _WORD if value >= _WORD // 2 else value)
        raise ValidationError("unsigned varint of more than five bytes", path=path)

    def _build(self, obj: Any, stream: Any, _context: Any, path: Any) -> Any:
        if not 0 <= obj < _WORD:
            raise ValidationError(f"{obj} is no unsigned varint", path=path)
        left, encoded = obj, []
        while left >= 0x80:
            encoded.append(left % 0x80 + 0x80)
            left //= 0x80
        stream_write(stream, bytes([*encoded, left]), len(encoded) + 1, path)
        return obj


UVARINT = UnsignedVarint()


class Flag(Construct):  # type: ignore[misc]
    """A byte: 0 is false, everything else true."""

    def _parse(self, stream: Any, _context: Any, path: Any) -> bool:
        return bool(stream_read(stream, 1, path) != b"\x00")

    def _build(self, obj: Any, stream: Any, _context: Any, path: Any) -> Any:
        stream_write(stream, b"\x01" if obj else b"\x00", 1, path)
        return obj


BOOL = Flag()
UUID = Bytes(16)


class Sized(Construct):  # type: ignore[misc]
    """A value after a length: compact (unsigned varint of length + 1), or a signed integer."""

    def __init__(self, *, compact: bool, nullable: bool, plain_length: Any) -> None:
        super().__init__()
        self.compact = compact
        self.nullable = nullable
        self.plain_length = plain_length

    def _parse_size(self, stream: Any, context: Any, path: Any) -> int | None:
        """Read the length; None is null."""
        if self.compact:
            size = UVARINT._parse(stream, context, path) - 1
            size = size + _WORD if size < -_WORD // 2 else size
        else:
            size = self.plain_length._parse(stream, context, path)
        if size >= 0:
            return int(size)
        if not self.nullable:
            raise ValidationError("null, where null is not allowed", path=path)
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
        super().__init__(compact=compact, nullable=nullable, plain_length=Int32sb)

    def _parse(self, stream: Any, context: Any, path: Any) -> bytes | None:
        size = self._parse_size(stream, context, path)
        if size is None:
            return None
        _check_left(stream, size, path)
        return bytes(stream_read(stream, size, path))

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        self._build_size(None if obj is None else len(obj), stream, context, path)
        if obj is not None:
            stream_write(stream, obj, len(obj), path)
        return obj


class Text(Sized):
    """UTF-8 after a length, which is an int16 if not compact; decoded like Java."""

    def __init__(self, *, compact: bool = False, nullable: bool = False) -> None:
        super().__init__(compact=compact, nullable=nullable, plain_length=Int16sb)

    def _parse(self, stream: Any, context: Any, path: Any) -> str | None:
        size = self._parse_size(stream, context, path)
        if size is None:
            return None
        if size > TEXT_BYTES_MAX:
            raise ValidationError(f"text of {size} bytes", path=path)
        return decode_text(bytes(stream_read(stream, size, path)))

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
        super().__init__(compact=compact, nullable=nullable, plain_length=Int32sb)
        self.element = element

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        count = self._parse_size(stream, context, path)
        if count is None:
            return None
        _check_left(stream, count, path)
        element = self.element
        return ListContainer(element._parsereport(stream, context, path) for _ in range(count))

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

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        fields = {field.tag: field for field in self.known}
        values = Container({field.name: field.default for field in self.known})
        unknown = ListContainer()
        for _ in range(UVARINT._parse(stream, context, path)):
            tag = UVARINT._parse(stream, context, path)
            size = UVARINT._parse(stream, context, path)
            if tag in self.refused:
                raise ValidationError(f"tag {tag} is not valid in this version", path=path)
            if tag in fields:
                values[fields[tag].name] = fields[tag].node._parsereport(stream, context, path)
            else:
                _check_left(stream, size, path)
                unknown.append((tag, bytes(stream_read(stream, size, path))))
        values["unknown_tags"] = unknown
        return values

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
                yield field.tag, field.node.build(value)


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

    Parses to a container that has every field of the struct, in every version.
    """

    def __init__(
        self,
        kind: str,
        *fields: Any,
        tags: TagSection | None = None,
        absent: tuple[Absent, ...] = (),
    ) -> None:
        super().__init__(*fields)
        self.kind = kind
        self.tags = tags
        self.absent = absent

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        values = super()._parse(stream, context, path)
        values.update({field.name: field.default for field in self.absent})
        if self.tags is not None:
            values.update(self.tags._parse(stream, context, path))
        return values

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        for field in self.absent:
            value = obj.get(field.name, field.default)
            if not field.ignorable and _is_set(value, field.default):
                raise ValidationError(f"{field.name} is not in this version", path=path)
        super()._build(obj, stream, context, path)
        if self.tags is not None:
            self.tags._build(obj, stream, context, path)
        return obj


class NullableRecord(Construct):  # type: ignore[misc]
    """A struct that may be null, after a byte that is negative for null."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record

    def _parse(self, stream: Any, context: Any, path: Any) -> Any:
        if Int8sb._parse(stream, context, path) < 0:
            return None
        return self.record._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: Any) -> Any:
        Int8sb._build(-1 if obj is None else 1, stream, context, path)
        if obj is not None:
            self.record._build(obj, stream, context, path)
        return obj


def _check_left(stream: Any, count: int, path: Any) -> None:
    """Reject a count or size that is negative or above the number of bytes left."""
    here = stream.tell()
    left = stream.seek(0, 2) - here
    stream.seek(here)
    if not 0 <= count <= left:
        raise ValidationError(f"{count} announced, {left} bytes are left", path=path)


def _is_set(value: Any, default: Any) -> bool:
    """Return whether a value differs from the default; an empty list equals an empty tuple."""
    return bool(value != default and not (default == () and value == []))
