"""doorkeeper_schemas.tables: the pipeline's tables as data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_schemas.reading import SchemaError
from doorkeeper_schemas.records import Events, Field, ListOf, Record, StructOf
from doorkeeper_schemas.tables import Column, read_tables, table_of

if TYPE_CHECKING:
    from pathlib import Path

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
WHO = Column(name="who", type="string", nullable=False, meaning="Who.")


def test_a_table_is_read(tmp_path: Path) -> None:
    """A file declares a table of its own name: columns in order, null only where it says so."""
    (tmp_path / "uses.json").write_text(json.dumps(USES))

    (table,) = read_tables(tmp_path)

    assert (table.name, table.layer, table.partitioned_by) == ("uses", "gold", ("day",))
    assert table.columns == (
        Column(name="day", type="date", nullable=False, meaning="The day."),
        Column(name="rule", type="string", nullable=True, meaning="What decided."),
        Column(name="hosts", type=("list", "string"), nullable=False, meaning="Where from."),
        Column(name="grant", type=("struct", (WHO,)), nullable=False, meaning="What allowed it."),
    )


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
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, object], text: str) -> None:
    """Whatever a file may not say is an error with its name and the place."""
    (tmp_path / "uses.json").write_text(json.dumps({**USES, **changes}))

    with pytest.raises(SchemaError, match=text) as caught:
        read_tables(tmp_path)

    assert "uses.json" in str(caught.value)


def event(name: str, *fields: Field) -> Record:
    return Record(name=name, kind=name, meaning="", fields=fields)


SEQ = Field(name="seq", type="int64", nullable=False, meaning="Number.")
WHY = Field(name="why", type="string", nullable=False, meaning="Why.")
GRANTS = Field(name="grants", type=ListOf(StructOf("grant")), nullable=False, meaning="All.")
PART = Record(
    name="grant",
    kind=None,
    meaning="",
    fields=(Field(name="who", type="string", nullable=False, meaning="Who."),),
)


def test_a_table_of_events() -> None:
    """A field that only some kinds have may be null; one that all have may not."""
    events = Events(
        title="An event",
        meaning="",
        kinds=(event("made", SEQ, WHY), event("gone", SEQ, GRANTS)),
        parts=(PART,),
    )

    table = table_of(events, "event")

    assert table.columns == (
        Column(
            name="kind", type="string", nullable=False, meaning="What the event is: made, gone."
        ),
        Column(name="seq", type="int64", nullable=False, meaning="Number."),
        Column(name="why", type="string", nullable=True, meaning="Why."),
        Column(name="grants", type=("list", ("struct", (WHO,))), nullable=True, meaning="All."),
    )


def test_a_name_has_one_type() -> None:
    """Two kinds whose fields of one name differ in type make no table."""
    other = Field(name="seq", type="string", nullable=False, meaning="Number.")
    events = Events(
        title="An event", meaning="", kinds=(event("made", SEQ), event("gone", other)), parts=()
    )

    with pytest.raises(SchemaError, match="seq has two types"):
        table_of(events, "event")
