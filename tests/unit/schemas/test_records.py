"""doorkeeper_schemas.records: JSON Schemas of events, read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_schemas.reading import SchemaError
from doorkeeper_schemas.records import Field, ListOf, StructOf, read_events

if TYPE_CHECKING:
    from pathlib import Path

GRANT = {
    "description": "Who.",
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "description": "The name."}},
}
MADE = {
    "description": "Something was made.",
    "type": "object",
    "required": ["kind", "seq", "grants", "other", "note"],
    "properties": {
        "kind": {"const": "made"},
        "seq": {"$ref": "#/$defs/seq"},
        "grants": {"type": "array", "items": {"$ref": "#/$defs/grant"}, "description": "All."},
        "other": {"oneOf": [{"$ref": "#/$defs/grant"}, {"type": "null"}]},
        "note": {"type": ["string", "null"], "description": "If any."},
    },
}
GOOD: dict[str, Any] = {
    "title": "An event",
    "description": "One line.",
    "oneOf": [{"$ref": "#/$defs/made"}],
    "$defs": {
        "seq": {"type": "integer", "format": "int64", "description": "Number."},
        "grant": GRANT,
        "made": MADE,
    },
}


def written(folder: Path, schema: object) -> Path:
    path = folder / "event.json"
    path.write_text(json.dumps(schema))
    return path


def test_a_schema_is_read(tmp_path: Path) -> None:
    """Kinds, shared fields, lists, objects and nulls come out as declared, in order."""
    events = read_events(written(tmp_path, GOOD))

    (made,) = events.kinds
    assert (events.title, events.meaning) == ("An event", "One line.")
    assert (made.name, made.kind, made.meaning) == ("made", "made", "Something was made.")
    assert made.fields == (
        Field(name="seq", type="int64", nullable=False, meaning="Number."),
        Field(name="grants", type=ListOf(StructOf("grant")), nullable=False, meaning="All."),
        Field(name="other", type=StructOf("grant"), nullable=True, meaning="Who."),
        Field(name="note", type="string", nullable=True, meaning="If any."),
    )
    assert events.part("grant").kind is None
    assert [field.name for field in events.part("grant").fields] == ["name"]


def broken(**changes: object) -> dict[str, Any]:
    """Return the good schema with a different property ``note``, or other changes of the kind."""
    schema: dict[str, Any] = json.loads(json.dumps(GOOD))
    note = changes.pop("note", None)
    if note is not None:
        schema["$defs"]["made"]["properties"]["note"] = note
    schema["$defs"]["made"].update(changes)
    return schema


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "at least one kind"),
        ({"oneOf": [{"type": "object"}]}, r"expected a \$ref"),
        ({"oneOf": [{"$ref": "#/$defs/none"}]}, r"none: expected it under"),
        (broken(required=["kind"]), "requires all its properties, in order"),
        (broken(type="array"), "expected an object"),
        (broken(note={"type": "string"}), "made.note: expected a description"),
        (broken(note={"type": "integer", "description": "?"}), "expected one of .*int16"),
        (broken(note={"type": ["string", "boolean"], "description": "?"}), "one type and null"),
        (broken(note={"oneOf": [{"type": "string"}]}), r"oneOf of a \$ref and null"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, schema: object, text: str) -> None:
    """Whatever the generator does not know is an error with the file and the place."""
    path = written(tmp_path, schema)

    with pytest.raises(SchemaError, match=text) as caught:
        read_events(path)

    assert str(path) in str(caught.value)
