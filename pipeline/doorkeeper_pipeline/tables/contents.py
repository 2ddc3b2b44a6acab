"""Frames and files of a table: the schema is a contract in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.errors import BrokenContract, Unreadable
from doorkeeper_pipeline.schemas import TABLES, arrow_schema
from doorkeeper_pipeline.tables import places
from doorkeeper_pipeline.tables.rules import ERROR, KEYS, RULES

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

EXAMPLES = 3
"""Rows that an error shows of those that break a rule."""


def empty(table: str) -> pl.DataFrame:
    """Return a frame without rows in the schema of a table."""
    frame = pl.from_arrow(arrow_schema(TABLES[table]).empty_table())
    assert isinstance(frame, pl.DataFrame)
    return frame


def as_frame(table: str, rows: pa.Table | pl.DataFrame) -> pl.DataFrame:
    """Return rows as a frame with exactly the columns and types of a table.

    Raises:
        BrokenContract: a column is missing, or has another type.

    """
    frame = rows if isinstance(rows, pl.DataFrame) else pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    schema = empty(table).schema
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise BrokenContract(f"table {table}: the columns {', '.join(missing)} are missing")
    try:
        return frame.select([pl.col(name).cast(kind) for name, kind in schema.items()])
    except pl.exceptions.PolarsError as error:
        raise BrokenContract(f"table {table}: {str(error).splitlines()[0]}") from error


def check(table: str, frame: pl.DataFrame) -> dict[str, int]:
    """Check a frame against nullability, key and rules; return broken warnings with their counts.

    Raises:
        BrokenContract: a null where none is allowed, a key is not unique, or a rule of severity
            error is broken; with the count and examples.

    """
    for column in TABLES[table].columns:
        if not column.nullable and (count := frame[column.name].null_count()):
            raise BrokenContract(f"table {table}: {column.name} is null in {count} rows")
    key = list(KEYS[table])
    if key and frame.select(pl.struct(key).is_duplicated().any()).item():
        raise BrokenContract(f"table {table}: rows agree in {', '.join(key)}")
    broken = {}
    for rule in RULES[table]:
        wrong = frame.filter(~pl.sql_expr(rule.predicate).fill_null(value=False))
        if wrong.is_empty():
            continue
        if rule.severity == ERROR:
            raise BrokenContract(
                f"table {table}: {rule.name}: {len(wrong)} rows break {rule.predicate!r}, such as "
                f"{wrong.head(EXAMPLES).to_dicts()}"
            )
        broken[rule.name] = len(wrong)
    return broken


def read(root: Path, table: str) -> pl.DataFrame:
    """Return a whole table; empty where it was never written.

    Raises:
        Unreadable: a file of it is damaged.

    """
    files = places.files_of(root, table)
    if not files:
        return empty(table)
    try:
        return as_frame(table, pl.read_parquet(files, hive_partitioning=False, glob=False))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise Unreadable(f"{root}: table {table}: {str(error).splitlines()[0]}") from error


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as Parquet: the same rows in the same order give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path, compression="zstd", statistics=True, row_group_size=1 << 17)
