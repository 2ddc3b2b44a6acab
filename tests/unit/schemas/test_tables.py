"""JSON schemas of events and tables of the pipeline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_schemas.records import Events, Field, Record, read_events
from doorkeeper_schemas.tables import read_tables, table_of
from doorkeeper_wire.declared.schema_file import SchemaError

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
def test_errors_of_events(tmp_path: Path, schema: object, text: str) -> None:
    """Whatever the generator does not know is an error with the file and the place."""
    path = written(tmp_path, schema)

    with pytest.raises(SchemaError, match=text) as caught:
        read_events(path)

    assert str(path) in str(caught.value)


USES: dict[str, Any] = {
    "layer": "gold",
    "meaning": "One row is a grant.",
    "partitioned_by": ["day"],
    "columns": [
        {"name": "day", "type": "date", "meaning": "The day."},
        {"name": "rule", "type": "string", "nullable": True, "meaning": "What decided."},
        {"name": "hosts", "type": {"list": "string"}, "meaning": "Where from."},
        {
            "name": "grant",
            "type": {"struct": [{"name": "who", "type": "string", "meaning": "Who."}]},
            "meaning": "What allowed it.",
        },
    ],
}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"columns": []}, "different names"),
        ({"columns": [*USES["columns"], USES["columns"][0]]}, "different names"),
        ({"layer": 1}, "expected layer"),
        ({"extra": 1}, "nothing else"),
        ({"partitioned_by": ["month"]}, "nothing else"),
        ({"columns": [{"name": "a"}]}, "uses: expected name, type, meaning"),
        ({"columns": [{"name": "a", "type": "text", "meaning": "A."}]}, r"uses\.a: .*not text"),
        (
            {"columns": [{"name": "a", "type": "date", "nullable": "no", "meaning": "A."}]},
            "expected name, type, meaning",
        ),
    ],
)
def test_errors_of_tables(tmp_path: Path, changes: dict[str, object], text: str) -> None:
    """Whatever a file may not say is an error with its name and the place."""
    (tmp_path / "uses.json").write_text(json.dumps({**USES, **changes}))

    with pytest.raises(SchemaError, match=text) as caught:
        read_tables(tmp_path)

    assert "uses.json" in str(caught.value)


def event(name: str, *fields: Field) -> Record:
    return Record(name=name, kind=name, meaning="", fields=fields)


SEQ = Field(name="seq", type="int64", nullable=False, meaning="Number.")


def test_a_name_has_one_type() -> None:
    """Two kinds whose fields of one name differ in type make no table."""
    other = Field(name="seq", type="string", nullable=False, meaning="Number.")
    events = Events(
        title="An event", meaning="", kinds=(event("made", SEQ), event("gone", other)), parts=()
    )

    with pytest.raises(SchemaError, match="seq has two types"):
        table_of(events, "event")
