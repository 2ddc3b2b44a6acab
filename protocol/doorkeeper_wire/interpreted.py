"""A codec that walks the declaration of a message: for messages without generated code.

It reads what the generated decoders read, with the same functions, bounds and errors, many times
slower, and costs a start nothing. A message is a dictionary by Kafka's names, with every field of
the declaration; one that the version lacks has its default.

Responses are written without tagged fields: those of errors have none that differ from defaults.
"""

import struct
from collections.abc import Callable, Mapping, Sized
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.message import NEVER
from doorkeeper_wire.reading import (
    array,
    compact_size,
    nullable_array,
    nullable_octets,
    nullable_text,
    octets,
    tag_count,
    tag_head,
    tag_value,
    text,
    truncation,
)
from doorkeeper_wire.writing import ENCODE_ERRORS, UVARINT

__all__ = ["NEVER", "ZERO_ID", "Declared", "Field", "Values", "decode", "encode", "initial"]

ZERO_ID = bytes(16)

Values: TypeAlias = dict[str, Any]
"""The fields of a struct by Kafka's names."""


class Field(NamedTuple):
    """A field of a struct: its type and the versions that have it.

    `kind` is a plain type of Kafka's, or struct, whose `fields` are then given. `tag` is -1 for a
    field that stands in its place. A struct that is no array and not nullable has the default None.
    """

    name: str
    kind: str
    low: int
    high: int
    is_array: bool = False
    null_low: int = NEVER
    null_high: int = -1
    tag: int = -1
    default: Any = None
    fields: "tuple[Field, ...]" = ()


class Declared(NamedTuple):
    """The request and the response of an API, and the kinds of listeners that have it in Kafka."""

    name: str
    low: int
    high: int
    flexible_from: int
    on_broker: bool
    on_controller: bool
    request: tuple[Field, ...]
    response: tuple[Field, ...]


_NUMBERS = {
    "int8": ("b", Struct(">b")),
    "int16": ("h", Struct(">h")),
    "uint16": ("H", Struct(">H")),
    "int32": ("i", Struct(">i")),
    "int64": ("q", Struct(">q")),
    "float64": ("d", Struct(">d")),
}


def decode(
    fields: tuple[Field, ...], data: bytes, at: int, version: int, *, flexible: bool
) -> tuple[Values, int]:
    """Return the message that begins at `at`, and where it ends.

    Raises:
        Malformed: when the bytes are no such message.
    """
    return _Reader(data, version, flexible=flexible).struct(fields, at, "")


class _Reader:
    """Reads one message; each method returns a value and where it ends."""

    def __init__(self, data: bytes, version: int, *, flexible: bool) -> None:
        self._data = data
        self._version = version
        self._flexible = flexible

    def struct(self, fields: tuple[Field, ...], at: int, path: str) -> tuple[Values, int]:
        version = self._version
        found: Values = {field.name: initial(field) for field in fields}
        for field in fields:
            if field.tag < 0 and field.low <= version <= field.high:
                found[field.name], at = self._field(field, at, f"{path}{field.name}")
        if self._flexible:
            at = self._tags(fields, found, at, path)
        return found, at

    def _field(self, field: Field, at: int, path: str) -> tuple[Any, int]:
        nullable = field.null_low <= self._version <= field.null_high
        if field.is_array:
            count, at = self._size(at, 4, path)
            judge = nullable_array if nullable else array
            count, at = judge(self._data, at, count, 1, path)
            if count < 0:
                return None, at
            found = []
            for _ in range(count):
                value, at = self._element(field, at, path, nullable=False)
                found.append(value)
            return found, at
        return self._element(field, at, path, nullable=nullable)

    def _element(self, field: Field, at: int, path: str, *, nullable: bool) -> tuple[Any, int]:
        kind = field.kind
        if kind == "struct":
            if nullable:
                presence, at = self._number("int8", at, path)
                if presence < 0:
                    return None, at
            return self.struct(field.fields, at, f"{path}.")
        if kind in _SIZED:
            return self._read_sized(kind, at, path, nullable=nullable)
        if kind == "uuid":
            return octets(self._data, at, len(ZERO_ID), path)
        if kind == "bool":
            value, at = self._number("int8", at, path)
            return value != 0, at
        return self._number(kind, at, path)

    def _read_sized(self, kind: str, at: int, path: str, *, nullable: bool) -> tuple[Any, int]:
        if kind == "string":
            size, at = self._size(at, 2, path)
            return (nullable_text if nullable else text)(self._data, at, size, path)
        size, at = self._size(at, 4, path)
        return (nullable_octets if nullable else octets)(self._data, at, size, path)

    def _number(self, kind: str, at: int, path: str) -> tuple[Any, int]:
        code, layout = _NUMBERS[kind]
        try:
            (value,) = layout.unpack_from(self._data, at)
        except struct.error:
            raise truncation(self._data, at, code, path) from None
        return value, at + layout.size

    def _size(self, at: int, plain_bytes: int, path: str) -> tuple[int, int]:
        """Read the length of a text, of bytes or of an array; negative is null."""
        if not self._flexible:
            return self._number("int16" if plain_bytes == 2 else "int32", at, path)
        return compact_size(self._data, at + 1, self._byte(at, path), path)

    def _byte(self, at: int, path: str) -> int:
        if at >= len(self._data):
            raise truncation(self._data, at, "B", path)
        return self._data[at]

    def _tags(self, fields: tuple[Field, ...], found: Values, at: int, path: str) -> int:
        known = {field.tag: field for field in fields if field.tag >= 0}
        here = f"{path}tagged fields"
        count, at = tag_count(self._data, at + 1, self._byte(at, here), here)
        for _ in range(count):
            start = at
            tag, size, at = tag_head(self._data, at, here)
            field = known.get(tag)
            if field is None:
                _, at = tag_value(self._data, at, size, here)
            elif field.low <= self._version <= field.high:
                found[field.name], at = self._field(field, at, f"{path}{field.name}")
            else:
                raise Malformed(here, start, f"tag {tag} is not valid in this version")
        return at


def initial(field: Field) -> Any:  # noqa: ANN401 - a value of any type
    """Return the value of a field that is not given."""
    if field.kind == "struct" and not field.is_array and field.null_high < 0:
        return {each.name: initial(each) for each in field.fields}
    return field.default


def encode(
    fields: tuple[Field, ...], values: Mapping[str, Any], version: int, *, flexible: bool
) -> bytes:
    """Return the bytes of a message; fields that are not given have their defaults.

    Raises:
        Unencodable: when a field cannot carry its value.
    """
    out: list[bytes] = []
    try:
        _write_struct(out, fields, values, version, flexible=flexible)
    except ENCODE_ERRORS as error:
        raise Unencodable("message", repr(error)) from error
    return b"".join(out)


def _write_struct(
    out: list[bytes],
    fields: tuple[Field, ...],
    values: Mapping[str, Any],
    version: int,
    *,
    flexible: bool,
) -> None:
    for field in fields:
        if field.tag >= 0 or not field.low <= version <= field.high:
            continue
        value = values[field.name] if field.name in values else initial(field)
        if field.is_array:
            out.append(_length(value, 4, flexible=flexible))
            for item in value or ():
                _write(out, field, item, version, flexible=flexible)
        else:
            if field.kind == "struct" and field.null_low <= version <= field.null_high:
                out.append(b"\xff" if value is None else b"\x01")
            _write(out, field, value, version, flexible=flexible)
    if flexible:
        out.append(b"\0")


def _write(
    out: list[bytes],
    field: Field,
    value: Any,  # noqa: ANN401 - a value of any type
    version: int,
    *,
    flexible: bool,
) -> None:
    if field.kind == "struct":
        if value is not None:
            _write_struct(out, field.fields, value, version, flexible=flexible)
    elif field.kind in _SIZED:
        encode_value, length_bytes = _SIZED[field.kind]
        encoded = None if value is None else encode_value(value)
        out += _length(encoded, length_bytes, flexible=flexible), encoded or b""
    elif field.kind == "uuid":
        out.append(value)
    elif field.kind == "bool":
        out.append(b"\x01" if value else b"\0")
    else:
        out.append(_NUMBERS[field.kind][1].pack(value))


_SIZED: dict[str, tuple[Callable[[Any], bytes], int]] = {
    "string": (str.encode, 2),
    "bytes": (bytes, 4),
    "records": (bytes, 4),
}


def _length(value: Sized | None, plain_bytes: int, *, flexible: bool) -> bytes:
    size = -1 if value is None else len(value)
    return UVARINT[size + 1] if flexible else size.to_bytes(plain_bytes, signed=True)
