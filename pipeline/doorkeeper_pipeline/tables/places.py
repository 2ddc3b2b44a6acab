"""Where each table is in an output folder.

bronze/lines/file_id=<id>/part-00000.parquet       bronze/quarantine/file_id=<id>/part-...
silver/decisions/day=2026-11-22/hour-07.parquet    silver/bindings/bindings.parquet
gold/<table>/<table>.parquet                       manifest/files/files.parquet, runs
stream/batch=00000042/...                          files of ``stream``, see ``streaming``
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from doorkeeper_pipeline.schemas import TABLES

if TYPE_CHECKING:
    from pathlib import Path


def folder_of(table: str) -> str:
    """Return the folder of a table, relative to the output folder."""
    return f"{TABLES[table].layer}/{table}"


def single(table: str) -> str:
    """Return the file of a table that is one file."""
    return f"{folder_of(table)}/{table}.parquet"


def part(table: str, file_id: str, number: int) -> str:
    """Return the file of a bronze table for one task of an input file."""
    return f"{folder_of(table)}/file_id={file_id}/part-{number:05d}.parquet"


def hour_file(hour: str) -> str:
    """Return the file of decisions of an hour, such as 2026-11-22T07."""
    day, _, number = hour.partition("T")
    return f"{folder_of('decisions')}/day={day}/hour-{number}.parquet"


def files_of(root: Path, table: str) -> list[str]:
    """Return the files of a table, sorted; none where it was never written."""
    folder = root / folder_of(table)
    return sorted(str(path) for path in folder.rglob("*.parquet") if path.is_file())


def relative(root: Path, path: Path) -> str:
    """Return a path below the output folder as the manifest writes it."""
    return str(PurePosixPath(path.relative_to(root)))
