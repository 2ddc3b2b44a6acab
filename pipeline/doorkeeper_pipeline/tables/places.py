"""Where each table is in an output folder, and the beginnings of the names of its files.

bronze/lines/<file id>/00000-*.parquet              bronze/quarantine/<file id>/00000-*.parquet
silver/decisions/2026-11-22/07-*.parquet            silver/bindings/bindings-*.parquet
gold/<table>/<table>-*.parquet                      manifest/files/files-*.parquet, runs
stream/batch=00000042/...                           files of ``stream``, see ``streaming``
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doorkeeper_pipeline.schemas import TABLES

if TYPE_CHECKING:
    from pathlib import Path

EARLIER = "manifest/runs/runs.parquet"
"""A file of tables of earlier releases, which had no log of versions."""

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_address(place: Path | str) -> bool:
    """Return whether a place is an address, such as s3a://bucket/access, and no path."""
    return isinstance(place, str) and ADDRESS.match(place) is not None


def folder_of(table: str) -> str:
    """Return the folder of a table, relative to the output folder."""
    return f"{TABLES[table].layer}/{table}"


def of_file(file_id: str) -> str:
    """Return the beginning of the paths of bronze files of an input file."""
    return f"{file_id}/"


def of_hour(hour: str) -> str:
    """Return the beginning of the paths of decisions of an hour, such as 2026-11-22T07."""
    day, _, number = hour.partition("T")
    return f"{day}/{number}"
