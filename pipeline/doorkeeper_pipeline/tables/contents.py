"""Frames and files of a table: the schema is a contract in both directions."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl

from doorkeeper_pipeline.columns import CLUSTER, polars_schema, stored_columns
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables.places import is_address

ROWS_A_GROUP = 1 << 17
"""How many rows of a file are read together, where a table does not need less."""

EXAMPLES = 3
"""Rows that an error shows of those that break a rule."""


@cache
def schema_of(table: str) -> pl.Schema:
    return polars_schema(TABLES[table])


def empty(table: str) -> pl.DataFrame:
    """Return a frame without rows in the schema of a table."""
    return pl.DataFrame(schema=schema_of(table))


def as_frame(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows as a frame with exactly the columns and types of a table.

    Rows of a job have no cluster yet.

    Raises:
        PipelineError: a column is missing, or has another type.

    """
    schema = schema_of(table)
    if CLUSTER.name in schema and CLUSTER.name not in rows.columns:
        rows = rows.with_columns(pl.lit("").alias(CLUSTER.name))
    missing = [name for name in schema if name not in rows.columns]
    if missing:
        raise PipelineError(f"table {table}: the columns {', '.join(missing)} are missing")
    try:
        return rows.select([pl.col(name).cast(kind) for name, kind in schema.items()])
    except pl.exceptions.PolarsError as error:
        raise PipelineError(f"table {table}: {str(error).splitlines()[0]}") from error


def of_job(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the same without the cluster, which a job does not know."""
    return as_frame(table, rows).drop(CLUSTER.name, strict=False)


def check(table: str, frame: pl.DataFrame) -> dict[str, int]:
    """Check a frame against nullability, key and rules; return broken warnings with their counts.

    Raises:
        PipelineError: a null where none is allowed, a key is not unique, or a rule of severity
            error is broken; with the count and examples.

    """
    for column in TABLES[table].columns:
        if not column.nullable and (count := frame[column.name].null_count()):
            raise PipelineError(f"table {table}: {column.name} is null in {count} rows")
    declared = TABLES[table]
    key = [*declared.key, *([CLUSTER.name] if declared.by_cluster else [])]
    if key and frame.select(pl.struct(key).is_duplicated().any()).item():
        raise PipelineError(f"table {table}: duplicate key ({', '.join(declared.key)})")
    broken = {}
    for rule in declared.rules:
        wrong = frame.filter(~pl.sql_expr(rule.holds).fill_null(value=False))
        if wrong.is_empty():
            continue
        if rule.severity == "error":
            raise PipelineError(
                f"table {table}: {rule.name}: {len(wrong)} rows break {rule.holds!r}, such as "
                f"{wrong.head(EXAMPLES).to_dicts()}"
            )
        broken[rule.name] = len(wrong)
    return broken


def read_files(
    root: str, table: str, files: Sequence[str], columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return the rows of the files of a table, or some columns of them.

    Columns that came later are null in older files.

    Raises:
        Unreadable: a file is damaged.

    """
    names = (
        [column.name for column in stored_columns(TABLES[table])] if columns is None else columns
    )
    if not files:
        return empty(table).select(names)
    try:
        return scan(table, files).select(names).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise Unreadable(f"{root}: table {table}: {str(error).splitlines()[0]}") from error


def scan(table: str, files: Sequence[str]) -> pl.LazyFrame:
    """Return the rows of the files of a table, not read yet."""
    return pl.scan_parquet(
        list(files),
        hive_partitioning=False,
        glob=False,
        schema=schema_of(table),
        missing_columns="insert",
        extra_columns="ignore",
    )


def write(frame: pl.DataFrame, location: str | Path, rows_a_group: int = ROWS_A_GROUP) -> int:
    """Write a frame as Parquet: the same rows in the same order give the same bytes.

    Return the size of the file.

    Raises:
        PipelineError: it could not; half a file is not left behind.

    """
    if is_address(location):
        return _write_far(frame, str(location), rows_a_group)
    path = Path(location)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _write_parquet(frame, path, rows_a_group)
    except (OSError, pl.exceptions.ComputeError) as error:
        # On a full disk, what it took is what the next attempt lacks.
        path.unlink(missing_ok=True)
        cause = _CAUSE.search(str(error))
        raise PipelineError(f"{path.parent}: {cause[1] if cause else error}") from error
    return path.stat().st_size


_CAUSE = re.compile(r"underlying IO error: (.*?)(?: \(os error \d+\))?\Z")
"""The cause within Polars' errors of writing."""


def _write_far(frame: pl.DataFrame, address: str, rows_a_group: int) -> int:
    """Write to an object store, with the credentials of the environment, as commits do."""
    import obstore
    from obstore.store import from_url

    buffer = io.BytesIO()
    _write_parquet(frame, buffer, rows_a_group)
    data = buffer.getvalue()
    folder, _, name = address.rpartition("/")
    obstore.put(from_url(folder), name, data)
    return len(data)


def now_ms() -> int:
    """Return the time that the log of a table asks for: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _write_parquet(frame: pl.DataFrame, target: Path | io.BytesIO, rows_a_group: int) -> None:
    frame.write_parquet(target, compression="zstd", statistics=True, row_group_size=rows_a_group)
