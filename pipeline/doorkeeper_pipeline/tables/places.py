"""Where each table is in an output folder, and the beginnings of the names of its files.

bronze/lines/<file id>/00000-*.parquet              bronze/quarantine/<file id>/00000-*.parquet
silver/decisions/2026-11-22/07-*.parquet            silver/bindings/bindings-*.parquet
silver/decisions/2026-11-22/07~<digest>-*.parquet   of a cluster that the events name
aggregate/distinct_decisions/...                    see ``jobs.sums``
gold/<table>/<table>-*.parquet                      manifest/files/files-*.parquet, runs
stream/batch=00000042/...                           files of ``stream``, see ``streaming``
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from doorkeeper_pipeline.schemas import TABLES

if TYPE_CHECKING:
    from pathlib import Path

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


def of_hour(hour: str, cluster: str = "") -> str:
    """Return the beginning of the paths of decisions of an hour, such as 2026-11-22T07.

    Those of one cluster begin as those of all.
    """
    day, _, number = hour.partition("T")
    return f"{day}/{number}{mark_of(cluster)}"


def hour_of(path: str) -> str:
    """Return the hour of decisions at a path."""
    day, _, name = path.partition("/")
    return f"{day}T{name[:2]}"


def is_of_cluster(path: str, cluster: str) -> bool:
    """Return whether decisions of a cluster, or of none that is named, are at a path."""
    name = path.rpartition("/")[2]
    return name.startswith(f"{name[:2]}{mark_of(cluster)}-")


def mark_of(cluster: str) -> str:
    """Return the mark of a cluster in names of files and folders; empty without a name."""
    return f"~{hashlib.sha256(cluster.encode()).hexdigest()[:16]}" if cluster else ""
