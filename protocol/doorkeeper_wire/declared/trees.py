"""Builds the `construct` tree of a message in a version.

The version is decided here, not in the tree: there is one tree for each, without conditions.
"""

from typing import Any

from doorkeeper_wire.declared.model import NONE, Empty, Field, Message
from doorkeeper_wire.declared.nodes import (
    BOOL,
    NUMBERS,
    UUID,
    Absent,
    Array,
    NullableRecord,
    Octets,
    Record,
    Tagged,
    TagSection,
    Text,
)

_FIXED = {"bool": BOOL, "uuid": UUID, **NUMBERS}
_NO_TAGS_HERE = Absent("unknown_tags", (), ignorable=False)


def message_tree(message: Message, version: int) -> Record:
    """Return the tree of a message in one of its versions."""
    return _record(message.name, message.fields, message, version)


def _record(kind: str, fields: tuple[Field, ...], message: Message, version: int) -> Record:
    present = [field for field in fields if version in field.versions]
    absent = tuple(
        Absent(field.name, _default(field, message), field.ignorable)
        for field in fields
        if version not in field.versions
    )
    ordinary = [
        field.name / _node(field, message, version) for field in present if field.tag is None
    ]
    flexible = version >= message.flexible_from
    if not flexible and message.flexible_from <= message.versions.high:
        absent = (*absent, _NO_TAGS_HERE)
    tags = _tags(fields, message, version) if flexible else None
    defaults = _defaults(fields, message)
    return Record(kind, *ordinary, defaults=defaults, tags=tags, absent=absent)


def _tags(fields: tuple[Field, ...], message: Message, version: int) -> TagSection:
    known = [
        Tagged(field.tag, field.name, _node(field, message, version), _default(field, message))
        for field in fields
        if field.tag is not None and version in field.versions
    ]
    refused = tuple(
        field.tag for field in fields if field.tag is not None and version not in field.versions
    )
    return TagSection(*known, refused=refused)


def _default(field: Field, message: Message) -> Any:
    """Return the default of a field; that of a struct that is not null are those of its fields."""
    if isinstance(field.default, Empty):
        return _defaults(field.fields, message)
    return field.default


def _defaults(fields: tuple[Field, ...], message: Message) -> dict[str, Any]:
    has_tags = message.flexible_from <= message.versions.high
    defaults = {field.name: _default(field, message) for field in fields}
    return defaults | ({"unknown_tags": ()} if has_tags else {})


def _node(field: Field, message: Message, version: int) -> Any:
    nullable = version in field.nullable
    if field.is_array:
        compact = version >= message.flexible_from
        return Array(_element(field, message, version), compact=compact, nullable=nullable)
    return _element(field, message, version, nullable=nullable)


def _element(field: Field, message: Message, version: int, *, nullable: bool = False) -> Any:
    compact = field.compact and version >= message.flexible_from
    match field.kind:
        case "string":
            return Text(compact=compact, nullable=nullable)
        case "bytes":
            return Octets(compact=compact, nullable=nullable)
        case kind if field.is_struct:
            record = _record(kind, field.fields, message, version)
            # Before KIP-893 a struct had no null, and no marker.
            never_null = field.is_array or field.nullable == NONE
            return record if never_null else NullableRecord(record)
        case kind:
            return _FIXED[kind]
