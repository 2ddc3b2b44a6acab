"""Tables as plain data, and their schemas in Polars and Delta.

Polars is not imported before it is needed: commands that only look at the folder do without it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

DELTA_TYPES = {"int16": "short", "int32": "integer", "int64": "long"}
"""Types that have another name in Delta."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: boolean, int16, int32, int64, double, string, date or timestamp (UTC), or a list.

    ``nullable`` says that a value may be missing; an item of a list never is.
    """

    name: str
    type: str
    is_list: bool = False
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
        return tuple(column.name for column in self.columns)


CLUSTER = Column(
    name="cluster",
    type="string",
    nullable=True,
    meaning="The cluster; empty without a name, null in rows of older releases.",
)


def stored_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns of a table's files: the jobs that make rows by cluster do not know it."""
    return (*table.columns, CLUSTER) if table.by_cluster else table.columns


def polars_schema(table: Table) -> pl.Schema:
    """Return the schema of a table's files for Polars. Timestamps are microseconds in UTC."""
    import polars as pl  # noqa: PLC0415 - see the module

    types = {
        "boolean": pl.Boolean(),
        "int16": pl.Int16(),
        "int32": pl.Int32(),
        "int64": pl.Int64(),
        "double": pl.Float64(),
        "string": pl.String(),
        "date": pl.Date(),
        "timestamp": pl.Datetime("us", "UTC"),
    }
    return pl.Schema(
        (column.name, pl.List(types[column.type]) if column.is_list else types[column.type])
        for column in stored_columns(table)
    )


def delta_schema(table: Table) -> str:
    """Return the schema of a table's files for Delta; meanings are comments of columns."""
    fields = []
    for column in stored_columns(table):
        kind: object = DELTA_TYPES.get(column.type, column.type)
        if column.is_list:
            kind = {"type": "array", "elementType": kind, "containsNull": False}
        comment = {"comment": column.meaning}
        fields.append(
            {"name": column.name, "type": kind, "nullable": column.nullable, "metadata": comment}
        )
    return json.dumps({"type": "struct", "fields": fields})
