"""doorkeeper_pipeline.columns: tables for Arrow and for Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

from doorkeeper_pipeline.columns import Column, ListOf, StructOf, Table, arrow_schema, spark_schema
from doorkeeper_pipeline.schemas import AUDIT_EVENT, TABLES

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


def test_arrow() -> None:
    """Each type has one of Arrow's; only what may be null is nullable."""
    pa = pytest.importorskip("pyarrow")

    schema = arrow_schema(TABLE)

    who = pa.struct([pa.field("who", pa.string(), nullable=False)])
    assert schema.names == list(TABLE.names)
    assert schema.field("a_timestamp").type == pa.timestamp("us", tz="UTC")
    assert schema.field("who").type == who
    assert schema.field("all").type == pa.list_(pa.field("element", who, nullable=False))
    assert [field.name for field in schema if field.nullable] == ["who"]


def test_spark() -> None:
    """Spark's schema says the same as Arrow's."""
    pytest.importorskip("pyspark")

    schema = spark_schema(TABLE)

    assert schema.simpleString() == (
        "struct<a_boolean:boolean,a_int16:smallint,a_int32:int,a_int64:bigint,a_double:double,"
        "a_string:string,a_binary:binary,a_date:date,a_timestamp:timestamp,"
        "who:struct<who:string>,all:array<struct<who:string>>>"
    )
    assert [field.name for field in schema.fields if field.nullable] == ["who"]


def test_neither_is_imported_for_the_data() -> None:
    """The tables are there without Arrow and Spark."""
    code = (
        "import sys, doorkeeper_pipeline.schemas; print({'pyarrow', 'pyspark'} & set(sys.modules))"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "set()\n"


def test_all_tables_have_a_schema() -> None:
    """Every table that is declared can be made in Arrow."""
    pytest.importorskip("pyarrow")

    assert all(len(arrow_schema(table)) == len(table.columns) for table in TABLES.values())
    assert TABLES["audit_event"] is AUDIT_EVENT
