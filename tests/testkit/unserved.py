"""Values for the messages of APIs without a handler, and their form on Java's side."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Any

from doorkeeper_wire.interpreted import initial

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper_wire.interpreted import Field, Values


def filled(fields: tuple[Field, ...], version: int, *, sparse: bool) -> Values:
    """Return a value for each field of a version; sparse ones are null or empty where they may."""
    return {
        field.name: _value(field, place, version, sparse=sparse)
        for place, field in enumerate(fields)
        if field.low <= version <= field.high
    }


def _value(field: Field, place: int, version: int, *, sparse: bool) -> Any:
    if sparse and field.null_low <= version <= field.null_high:
        return None
    if field.is_array:
        return [] if sparse else [_element(field, place + each, version) for each in (0, 1)]
    return _element(field, place, version, sparse=sparse)


def _element(  # noqa: PLR0911 - one return a kind
    field: Field, place: int, version: int, *, sparse: bool = False
) -> Any:
    match field.kind:
        case "struct":
            return filled(field.fields, version, sparse=sparse)
        case "string":
            return f"{field.name}-é{place}"
        case "bytes" | "records":
            return bytes(range(place, place + 3))
        case "uuid":
            return bytes(range(place, place + 16))
        case "bool":
            return not sparse
        case "float64":
            return place / 4
        case _:
            return place + 1


def java(fields: tuple[Field, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that differ from their defaults, as CodecOracle.java has them."""
    return {
        java_name(field.name): _java(field, values[field.name])
        for field in fields
        if field.name in values and not _is_default(field, values[field.name])
    }


def _is_default(field: Field, value: Any) -> bool:
    if field.is_array and value is not None:
        return not value and field.default == ()
    if field.kind == "struct" and value is not None and initial(field) is not None:
        return not java(field.fields, value)
    return bool(value == initial(field))


def _java(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_java(field, item) for item in value]
    if isinstance(value, dict):
        return java(field.fields, value)
    if isinstance(value, float):
        return pack(">d", value).hex()
    return value.hex() if isinstance(value, bytes) else value


def java_name(name: str) -> str:
    """Return the name of a field in Kafka's classes."""
    return name[0].lower() + name[1:]
