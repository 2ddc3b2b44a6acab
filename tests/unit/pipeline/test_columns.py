"""doorkeeper_pipeline.columns: the schemas of tables."""

from __future__ import annotations

from importlib import resources

import pytest

from doorkeeper_pipeline.columns import Column, ListOf, StructOf, Table, arrow_schema, polars_schema
from doorkeeper_pipeline.schemas import TABLES

WHO = Column(name="who", type="string", meaning="Who.")
SCALARS = ("boolean", "int16", "int32", "int64", "double", "string", "binary", "date", "timestamp")
TABLE = Table(
    name="uses",
    layer="gold",
    meaning="One row is a grant.",
    columns=(
        *(Column(name=f"a_{each}", type=each, meaning="") for each in SCALARS),
        Column(name="who", type=StructOf((WHO,)), nullable=True, meaning=""),
        Column(name="all", type=ListOf(StructOf((WHO,))), meaning=""),
    ),
)


def test_arrow_schema() -> None:
    pa = pytest.importorskip("pyarrow")

    schema = arrow_schema(TABLE)

    who = pa.struct([pa.field("who", pa.string(), nullable=False)])
    assert schema.names == list(TABLE.names)
    assert schema.field("a_timestamp").type == pa.timestamp("us", tz="UTC")
    assert schema.field("who").type == who
    assert schema.field("all").type == pa.list_(pa.field("element", who, nullable=False))
    assert [field.name for field in schema if field.nullable] == ["who"]


def test_declared_tables() -> None:
    """Each file is a table of different columns, which have a meaning and a type in each schema."""
    files = {path.name for path in resources.files("doorkeeper_pipeline.schemas").iterdir()}

    assert {name for name in files if name.endswith(".json")} == {f"{name}.json" for name in TABLES}
    for table in TABLES.values():
        assert len(set(table.names)) == len(table.names)
        assert set(table.partitioned_by) <= set(table.names)
        assert all(column.meaning for column in table.columns)
        assert polars_schema(table).names()[: len(table.names)] == list(table.names)
        assert arrow_schema(table).names == list(table.names)
