"""Where each table is in an output folder, and the beginnings of the names of its files.

bronze/lines/file_id=<id>/00000-*.parquet           bronze/quarantine/file_id=<id>/00000-*.parquet
bronze/lines/merged/2026-11-22_2026-11-23/00000-*.parquet   see ``jobs.merged``
silver/decisions/day=2026-11-22/0000of0004-*.parquet   the first quarter of a day
silver/decisions/day=2026-11-22/0000of0001~<digest>-*.parquet  of a cluster that the events name
silver/bindings/bindings-*.parquet
aggregate/distinct_decisions/...                    see ``jobs.sums``
gold/<table>/<table>-*.parquet                      manifest/files/files-*.parquet, runs
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from doorkeeper_pipeline.schemas import TABLES

DAY = "day="
"""What the folder of a partition by day begins with, as in Hive and in Delta."""

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_address(location: Path | str) -> bool:
    """Return whether a location is an address, such as s3a://bucket/access, and no path."""
    return isinstance(location, str) and ADDRESS.match(location) is not None


def folder_of(table: str) -> str:
    """Return the folder of a table, relative to the output folder."""
    return f"{TABLES[table].layer}/{table}"


def of_file(file_id: str) -> str:
    """Return the beginning of the paths of bronze files of an input file."""
    return f"file_id={file_id}/"


MERGED = "merged/"


def of_merged(first: str, last: str) -> str:
    """Return the beginning of the paths of lines of several input files, from a day to a day."""
    return f"{MERGED}{first}_{last}/00000"


def days_of_merged(path: str) -> tuple[str, str]:
    """Return the first and the last day of merged lines at a path."""
    first, _, last = path.split("/")[1].partition("_")
    return first, last


def of_day(day: str) -> str:
    """Return the beginning of the paths of decisions of a day, such as 2026-11-22."""
    return f"{DAY}{day}/"


def of_span(day: str, number: int, spans: int, cluster: str = "") -> str:
    """Return the beginning of the paths of decisions of one of the spans of a day.

    They are of a cluster; of all clusters where none is named.
    """
    return f"{of_day(day)}{number:04}of{spans:04}{mark_of(cluster)}"


def spans_of(path: str) -> int:
    """Return into how many spans the day of decisions at a path is cut."""
    return int(path.rpartition("/")[2][6:10])


def day_of(path: str) -> str:
    return path.removeprefix(DAY).partition("/")[0]


def is_of_cluster(path: str, cluster: str) -> bool:
    """Return whether decisions of a cluster, or of none that is named, are at a path."""
    _, _, mark = path.rpartition("/")[2].rpartition("-")[0].partition("~")
    return mark == mark_of(cluster)[1:]


def mark_of(cluster: str) -> str:
    """Return the mark of a cluster in names of files and folders; empty without a name."""
    return f"~{hashlib.sha256(cluster.encode()).hexdigest()[:16]}" if cluster else ""
