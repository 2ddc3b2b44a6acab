"""JSON schemas of audit events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_schemas.records import read_events
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
def test_invalid_event_schemas(tmp_path: Path, schema: object, text: str) -> None:
    path = written(tmp_path, schema)

    with pytest.raises(SchemaError, match=text) as caught:
        read_events(path)

    assert str(path) in str(caught.value)
