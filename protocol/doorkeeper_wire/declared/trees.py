"""Builds the `construct` tree of a message in a version.

The version is decided here, not in the tree: there is one tree for each, without conditions.
"""

from typing import Any

from construct import Float64b, Int8sb, Int16sb, Int16ub, Int32sb, Int64sb

from doorkeeper_wire.declared.model import NONE, Field, Message, Versions
from doorkeeper_wire.declared.nodes import (
    BOOL,
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

_FIXED = {
    "bool": BOOL,
    "int8": Int8sb,
    "int16": Int16sb,
    "uint16": Int16ub,
    "int32": Int32sb,
    "int64": Int64sb,
    "float64": Float64b,
    "uuid": UUID,
}
_NO_TAGS_HERE = Absent("unknown_tags", (), ignorable=False)


def message_tree(message: Message, version: int) -> Record:
    """Return the tree of a message in one of its versions."""
    return _record(message.name, message.fields, message, version)


def _record(kind: str, fields: tuple[Field, ...], message: Message, version: int) -> Record:
    present = [field for field in fields if version in field.versions]
    absent = tuple(
        Absent(field.name, field.default, field.ignorable)
        for field in fields
        if version not in field.versions
    )
    ordinary = [
        field.name / _node(field, message, version) for field in present if field.tag is None
    ]
    flexible = version >= message.flexible_from
    if not flexible and message.flexible_from <= message.versions.high:
        absent = (*absent, _NO_TAGS_HERE)
    omitted = message.omitted_tags if fields is message.fields else ()
    tags = _tags(fields, message, version, omitted) if flexible else None
    return Record(kind, *ordinary, tags=tags, absent=absent)


def _tags(
    fields: tuple[Field, ...],
    message: Message,
    version: int,
    omitted: tuple[tuple[int, Versions], ...],
) -> TagSection:
    known = [
        Tagged(field.tag, field.name, _node(field, message, version), field.default)
        for field in fields
        if field.tag is not None and version in field.versions
    ]
    refused = tuple(
        field.tag for field in fields if field.tag is not None and version not in field.versions
    )
    refused += tuple(tag for tag, versions in omitted if version not in versions)
    return TagSection(*known, refused=refused)


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
