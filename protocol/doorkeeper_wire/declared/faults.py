"""Which field of a message cannot be encoded, and why: asked after its encoder failed."""

from doorkeeper_wire.declared import message
from doorkeeper_wire.declared.model import Field
from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.reading import TAG_MAX, TEXT_BYTES_MAX

_TYPES = {"bytes": bytes, "float64": int | float}
"""Plain types all of whose values can be encoded."""

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def unencodable(record: object, version: int, error: Exception) -> Unencodable:
    """Return an error that names the first field of a message that cannot be encoded."""
    name = type(record).__name__
    fault = _fault(record, message(name).fields, version, "")
    return fault or Unencodable(name, repr(error))


def _fault(
    record: object, fields: tuple[Field, ...], version: int, path: str
) -> Unencodable | None:
    # Tagged fields stand behind the others on the wire.
    for field in sorted(fields, key=lambda field: -1 if field.tag is None else field.tag):
        if version not in field.versions:
            continue
        if not hasattr(record, field.name):
            return _fault_of(path.rstrip(".") or "message", record, "is no such struct")
        value = getattr(record, field.name)
        fault = (
            _items_fault(value, field, version, path + field.name)
            if field.is_array
            else _value_fault(value, field, version, path + field.name)
        )
        if fault:
            return fault
    return _tags_fault(record, path)


def _items_fault(value: object, field: Field, version: int, path: str) -> Unencodable | None:
    if value is None:
        nullable = version in field.nullable
        return None if nullable else Unencodable(path, "null, where null is not allowed")
    if not isinstance(value, tuple | list):
        return _fault_of(path, value, "is no array")
    faults = (_value_fault(item, field, version, path, is_element=True) for item in value)
    return next(filter(None, faults), None)


def _value_fault(
    value: object, field: Field, version: int, path: str, *, is_element: bool = False
) -> Unencodable | None:
    if value is None:
        if version in field.nullable and not is_element:
            return None
        return _fault_of(path, value, "where null is not allowed")
    if field.is_struct:
        return _fault(value, field.fields, version, f"{path}.")
    reason = _plain_fault(value, field.kind)
    return _fault_of(path, value, reason) if reason else None


def _plain_fault(value: object, kind: str) -> str:
    """Return the fault of a value of a plain type, "" if it can be encoded."""
    if kind == "uint16":
        return "" if isinstance(value, int) and 0 <= value <= 0xFFFF else f"is no {kind}"
    if kind in _BITS:
        bound = 1 << (_BITS[kind] - 1)
        fits = isinstance(value, int) and -bound <= value < bound
        return "" if fits else f"is no {kind}"
    if kind == "string":
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
        return "contains an unpaired surrogate"
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
