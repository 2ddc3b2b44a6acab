"""The layout of a message in one version, which locates a value that cannot be encoded.

A layout is a tuple of `(field, kind)`. A kind is a plain one ("int16", "text", "nullable text",
"bytes", "uuid", "bool" ...), or an `Items` of texts, numbers or a struct, or a `Part`.
"""

from typing import NamedTuple, TypeAlias

from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.reading import TAG_MAX, TEXT_BYTES_MAX


class Items(NamedTuple):
    """An array; `of` is a plain kind or the layout of a struct."""

    of: "str | Layout"
    nullable: bool = False


class Part(NamedTuple):
    """A struct that may be null."""

    of: "Layout"


Kind: TypeAlias = "str | Items | Part | Layout"
Layout: TypeAlias = tuple[tuple[str, Kind], ...]

_TYPES = {"bytes": bytes, "float64": int | float}
"""Plain kinds all of whose values can be encoded."""

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def unencodable(record: object, layout: Layout, error: Exception) -> Unencodable:
    """Return an error that names the first field of the record that cannot be encoded."""
    return _fault(record, layout, "") or Unencodable(type(record).__name__, repr(error))


def _fault(record: object, layout: Layout, path: str) -> Unencodable | None:
    for name, kind in layout:
        if not hasattr(record, name):
            return _fault_of(path.rstrip(".") or "message", record, "is no such struct")
        fault = _value_fault(getattr(record, name), kind, path + name)
        if fault:
            return fault
    return _tags_fault(record, path)


def _value_fault(value: object, kind: Kind, path: str) -> Unencodable | None:
    if isinstance(kind, str):
        reason = _plain_fault(value, kind)
        return _fault_of(path, value, reason) if reason else None
    if isinstance(kind, Part):
        return None if value is None else _fault(value, kind.of, path + ".")
    return (
        _items_fault(value, kind, path)
        if isinstance(kind, Items)
        else _fault(value, kind, path + ".")
    )


def _items_fault(value: object, kind: Items, path: str) -> Unencodable | None:
    if value is None:
        return None if kind.nullable else Unencodable(path, "null, where null is not allowed")
    if not isinstance(value, tuple | list):
        return _fault_of(path, value, "is no array")
    for item in value:
        fault = (
            _value_fault(item, kind.of, path)
            if isinstance(kind.of, str)
            else _fault(item, kind.of, path + ".")
        )
        if fault:
            return fault
    return None


def _plain_fault(value: object, kind: str) -> str:
    """Return the fault of a value of a plain kind, "" if it can be encoded."""
    kind, nullable = kind.removeprefix("nullable "), kind.startswith("nullable ")
    if value is None:
        return "" if nullable else "where null is not allowed"
    if kind == "uint16":
        return "" if isinstance(value, int) and 0 <= value <= 0xFFFF else f"is no {kind}"
    if kind in _BITS:
        bound = 1 << (_BITS[kind] - 1)
        fits = isinstance(value, int) and -bound <= value < bound
        return "" if fits else f"is no {kind}"
    if kind == "text":
        return _text_fault(value)
    if kind == "uuid":
        return "" if isinstance(value, bytes) and len(value) == 16 else "is not 16 bytes"
    return "" if isinstance(value, _TYPES.get(kind, object)) else f"is not {kind}"


def _text_fault(value: object) -> str:
    if not isinstance(value, str):
        return "is no text"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "holds half of a surrogate pair"
    return "" if size <= TEXT_BYTES_MAX else f"takes {size} bytes; at most {TEXT_BYTES_MAX}"


def _tags_fault(record: object, path: str) -> Unencodable | None:
    found = getattr(record, "unknown_tags", ())
    name = path + "unknown_tags"
    previous = -1
    for entry in found:
        match entry:
            case (int(tag), bytes()) if previous < tag <= TAG_MAX:
                previous = tag
            case _:
                return _fault_of(name, found, "must be (tag, bytes) with tags that ascend")
    return None


def _fault_of(field: str, value: object, reason: str) -> Unencodable:
    shown = repr(value)
    return Unencodable(field, f"{shown if len(shown) <= 80 else shown[:77] + '...'} {reason}")
