"""Tables as plain data, and their schemas in Arrow and Polars.

Neither is imported before it is needed: a run with nothing new needs no Arrow, whose import takes a
fifth of its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    import polars as pl
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one type; its items are never null."""

    item: ColumnType


@dataclass(frozen=True, slots=True)
class StructOf:
    """A row inside a row."""

    columns: tuple[Column, ...]


ColumnType = str | ListOf | StructOf
"""boolean, int16, int32, int64, double, string, binary, date, timestamp; a list or a struct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. ``nullable`` says that a value may be missing."""

    name: str
    type: ColumnType
    nullable: bool = False
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition of each row, in SQL.

    A broken rule of severity error stops the job before anything is replaced. One of severity
    warning is counted, and the count is told and kept in the table ``runs``.
    """

    name: str
    holds: str
    severity: str = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: its columns in order, and by which of them its folder is divided.

    ``key`` are the columns that name a row; empty where parts of a file may repeat one.
    """

    name: str
    layer: str
    meaning: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def by_cluster(self) -> bool:
        """Return whether rows are about one cluster each: they are stored with a column for it."""
        return self.layer == "gold" or self.name == "bindings"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(column.name for column in self.columns)


def arrow_schema(table: Table) -> pa.Schema:
    """Return a table's schema for Arrow. Timestamps are microseconds in UTC."""
    import pyarrow as pa  # noqa: PLC0415 - see the module

    return pa.schema([_arrow_field(pa, column) for column in table.columns])


CLUSTER = Column(
    name="cluster",
    type="string",
    nullable=True,
    meaning="The cluster; empty without a name, null in rows of older releases.",
)


def stored_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns of a table's files: the jobs that make rows by cluster do not know it."""
    return (*table.columns, CLUSTER) if table.by_cluster else table.columns


def stored_schema(table: Table) -> pa.Schema:
    """Return the schema of a table's files for Arrow; in Delta meanings are comments of columns."""
    import pyarrow as pa  # noqa: PLC0415 - see the module

    columns = stored_columns(table)
    plain = pa.schema([_arrow_field(pa, column) for column in columns])
    return pa.schema(
        field.with_metadata({"comment": column.meaning})
        for field, column in zip(plain, columns, strict=True)
    )


def polars_schema(table: Table) -> pl.Schema:
    """Return the schema of a table's files for Polars."""
    import polars as pl  # noqa: PLC0415 - see the module

    return pl.Schema({each.name: _polars_type(pl, each.type) for each in stored_columns(table)})


def _arrow_field(pa: ModuleType, column: Column) -> object:
    return pa.field(column.name, _arrow_type(pa, column.type), nullable=column.nullable)


def _arrow_type(pa: ModuleType, column_type: ColumnType) -> object:
    match column_type:
        case ListOf(item):
            return pa.list_(pa.field("element", _arrow_type(pa, item), nullable=False))
        case StructOf(columns):
            return pa.struct([_arrow_field(pa, column) for column in columns])
        case _:
            return _arrow_scalars(pa)[column_type]


def _arrow_scalars(pa: ModuleType) -> dict[str, Any]:
    return {
        "boolean": pa.bool_(),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }


def _polars_type(polars: ModuleType, column_type: ColumnType) -> pl.DataType:
    found: pl.DataType
    match column_type:
        case ListOf(item):
            found = polars.List(_polars_type(polars, item))
        case StructOf(columns):
            found = polars.Struct({each.name: _polars_type(polars, each.type) for each in columns})
        case _:
            found = _polars_scalars(polars)[column_type]
    return found


def _polars_scalars(pl: ModuleType) -> dict[str, pl.DataType]:
    return {
        "boolean": pl.Boolean(),
        "int16": pl.Int16(),
        "int32": pl.Int32(),
        "int64": pl.Int64(),
        "double": pl.Float64(),
        "string": pl.String(),
        "binary": pl.Binary(),
        "date": pl.Date(),
        "timestamp": pl.Datetime("us", "UTC"),
    }
