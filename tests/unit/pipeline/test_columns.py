"""doorkeeper_pipeline.columns: the schemas of tables."""

from __future__ import annotations

import json
from importlib import resources

from doorkeeper_pipeline.columns import Column, Table, delta_schema, polars_schema
from doorkeeper_pipeline.schemas import TABLES


def test_schema_in_delta() -> None:
    columns = (
        Column(name="at", type="timestamp", nullable=True, meaning="When."),
        Column(name="hosts", type="string", is_list=True, meaning="Where from."),
        Column(name="count", type="int64", meaning="How often."),
    )
    table = Table(name="uses", layer="silver", meaning="One row is a use.", columns=columns)

    at, hosts, count = json.loads(delta_schema(table))["fields"]

    assert at == {
        "name": "at",
        "type": "timestamp",
        "nullable": True,
        "metadata": {"comment": "When."},
    }
    assert hosts["type"] == {"type": "array", "elementType": "string", "containsNull": False}
    assert (count["type"], count["nullable"]) == ("long", False)


def test_declared_tables() -> None:
    """Each file is a table of different columns, which have a meaning and a type in each schema."""
    files = {path.name for path in resources.files("doorkeeper_pipeline.schemas").iterdir()}

    assert {name for name in files if name.endswith(".json")} == {f"{name}.json" for name in TABLES}
    for table in TABLES.values():
        assert len(set(table.names)) == len(table.names)
        assert set(table.partitioned_by) <= set(table.names)
        assert all(column.meaning for column in table.columns)
        assert polars_schema(table).names()[: len(table.names)] == list(table.names)
