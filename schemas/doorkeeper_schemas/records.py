"""Reads the schemas of records that cross our own boundaries: kinds of events, and their fields.

A schema is a JSON Schema of which this much is used:

    oneOf                   the kinds, each a $ref to an object whose property kind is a const
    properties              the fields, in the order in which they are written; all are required
    type, format            string, boolean, integer (int16, int32, int64), array, object
    ["string", "null"]      a value that may be missing; for an object oneOf of it and null
    $ref                    a field or an object that several share
    description             what it means, for readers of the generated code

Source: JSON Schema, draft 2020-12.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorkeeper_wire.declared.schema_file import SchemaError

_SCALARS = {
    ("string", None): "string",
    ("boolean", None): "boolean",
    ("integer", "int16"): "int16",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
}
_NULL = {"type": "null"}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one type."""

    item: "FieldType"


@dataclass(frozen=True, slots=True)
class StructOf:
    """An object inside another one, by its name in the schema."""

    name: str


FieldType = str | ListOf | StructOf
"""A scalar by its name (string, boolean, int16, int32, int64), a list, or an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field; ``nullable`` says that its value may be null."""

    name: str
    type: FieldType
    nullable: bool
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """An object with its fields. ``kind`` is None for one that stands inside others only."""

    name: str
    kind: str | None
    meaning: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """All that one schema declares: the kinds of events, and the objects inside them."""

    title: str
    meaning: str
    kinds: tuple[Record, ...]
    parts: tuple[Record, ...]

    def part(self, name: str) -> Record:
        """Return an object that stands inside others."""
        return next(part for part in self.parts if part.name == name)


def read_events(path: Path) -> Events:
    """Read a schema.

    Raises:
        SchemaError: naming the file and the place.
    """
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise SchemaError(f"{path}: {error}") from error
    return _Reader(path, schema).events()


class _Reader:
    """Reads one file; notes which shared objects are used."""

    def __init__(self, path: Path, schema: dict[str, Any]) -> None:
        self._path = path
        self._schema = schema
        self._parts: dict[str, Record] = {}

    def events(self) -> Events:
        kinds = []
        for entry in self._schema.get("oneOf", []):
            name = self._name_of(entry, "oneOf")
            kinds.append(self._record(name, self._shared(name)))
        if not kinds:
            raise self._error("oneOf", "expected at least one kind")
        return Events(
            title=self._schema.get("title", ""),
            meaning=self._schema.get("description", ""),
            kinds=tuple(kinds),
            parts=tuple(self._parts.values()),
        )

    def _record(self, name: str, found: dict[str, Any]) -> Record:
        properties = dict(found.get("properties", {}))
        if found.get("type") != "object" or found.get("required") != list(properties):
            raise self._error(name, "expected an object that requires all its properties, in order")
        kind = properties.pop("kind", {}).get("const")
        fields = tuple(self._field(name, key, value) for key, value in properties.items())
        return Record(name=name, kind=kind, meaning=found.get("description", ""), fields=fields)

    def _field(self, record: str, name: str, found: dict[str, Any]) -> Field:
        where = f"{record}.{name}"
        meaning = found.get("description", "")
        nullable = False
        if "oneOf" in found:
            match found["oneOf"]:
                case [dict(first), second] if second == _NULL:
                    found, nullable = first, True
                case _:
                    raise self._error(where, "expected oneOf of a $ref and null")
        if "$ref" in found:
            shared = self._shared(target := self._name_of(found, where))
            if shared.get("type") == "object":
                field_type: FieldType = self._struct(target, shared)
                meaning = meaning or shared.get("description", "")
                return Field(name=name, type=field_type, nullable=nullable, meaning=meaning)
            found, meaning = shared, meaning or shared.get("description", "")
        field_type, may_be_null = self._type(where, found)
        if not meaning:
            raise self._error(where, "expected a description")
        return Field(name=name, type=field_type, nullable=nullable or may_be_null, meaning=meaning)

    def _type(self, where: str, found: dict[str, Any]) -> tuple[FieldType, bool]:
        if "$ref" in found:
            target = self._name_of(found, where)
            return self._struct(target, self._shared(target)), False
        nullable = False
        name = found.get("type")
        if isinstance(name, list):
            if len(name) != 2 or name[1] != "null":  # a type and null
                raise self._error(where, f"expected one type and null, not {name}")
            name, nullable = name[0], True
        if name == "array":
            item, _ = self._type(where, found.get("items", {}))
            return ListOf(item), nullable
        scalar = _SCALARS.get((str(name), found.get("format")))
        if scalar is None:
            raise self._error(where, f"expected one of {sorted(_SCALARS.values())}, not {found}")
        return scalar, nullable

    def _struct(self, name: str, found: dict[str, Any]) -> StructOf:
        if name not in self._parts:
            self._parts[name] = self._record(name, found)
        return StructOf(name)

    def _shared(self, name: str) -> dict[str, Any]:
        try:
            shared: dict[str, Any] = self._schema["$defs"][name]
        except KeyError:
            raise self._error(name, "expected it under $defs") from None
        return shared

    def _name_of(self, found: dict[str, Any], where: str) -> str:
        reference = str(found.get("$ref"))
        if not reference.startswith("#/$defs/"):
            raise self._error(where, f"expected a $ref to #/$defs/..., not {found}")
        return reference.removeprefix("#/$defs/")

    def _error(self, where: str, text: str) -> SchemaError:
        return SchemaError(f"{self._path}: {where}: {text}")
