"""doorkeeper_pipeline.columns: tables for Arrow and for Spark."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.columns import Column, ListOf, StructOf, Table, arrow_schema, spark_schema

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
