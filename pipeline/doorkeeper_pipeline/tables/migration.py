"""Tables of earlier releases, plain Parquet files, become tables with versions.

Files are linked under their new names, committed, and only then removed under the old ones: killed
at any moment and started again, it ends the same.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents, delta, places

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMIT = ".commit.json"
_STAGING = ".staging"
_NAMES = (
    (re.compile(r"file_id=([0-9a-f]+)/part-(\d+)\.parquet"), r"\1/\2"),
    (re.compile(r"day=(\d{4}-\d\d-\d\d)/hour-(\d\d)\.parquet"), r"\1/\2"),
    (re.compile(r"([a-z_]+)\.parquet"), r"\1"),
)
"""The names of files in earlier releases, and the beginnings of the new ones."""


def migrate(out: Path) -> dict[str, int]:
    """Convert the tables of an earlier release; return how many rows each has.

    Raises:
        Busy: another process writes there.
        Unreadable: a file is damaged, or there are no tables of an earlier release.

    """
    _complete(out)
    earlier = list(_earlier_files(out))
    if not earlier:
        raise Unreadable(f"{out}: there are no tables of an earlier release")
    tables = delta.Tables(out, earlier=True)
    rows: dict[str, int] = {}
    if tables.number == delta.BEFORE_ALL:
        change = delta.Change(tables)
        for table, name, path in earlier:
            part = _part(tables, table, name, path)
            rows[table] = rows.get(table, 0) + part.rows
            change.add([part])
        change.commit()
    for _, _, path in earlier:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return rows


def _earlier_files(out: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield (table, name, path) of the files of an earlier release."""
    for table, known in TABLES.items():
        if known.layer == "source":
            continue
        folder = out / places.folder_of(table)
        for path in sorted(folder.rglob("*.parquet")):
            for pattern, name in _NAMES:
                if found := pattern.fullmatch(path.relative_to(folder).as_posix()):
                    yield table, found.expand(name), path


def _part(tables: delta.Tables, table: str, name: str, path: Path) -> delta.DataFile:
    """Give a file its new name beside the old one; return it as a part of its table."""
    frame = contents.read_files(tables.root, table, [str(path)])
    found = path.stat()
    days = None
    if "day" in frame.columns and not frame.is_empty():
        days = (str(frame["day"].min()), str(frame["day"].max()))
    part = delta.DataFile(
        table=table,
        path=f"{name}-migrated.parquet",
        size=found.st_size,
        rows=len(frame),
        modified_ms=found.st_mtime_ns // 1_000_000,
        days=days,
    )
    target = Path(tables.place_of(part))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(path, target)
    except OSError:  # a file system without links
        shutil.copyfile(path, target)
    return part


def _complete(out: Path) -> None:
    """Do the moves of a commit of an earlier release that was killed in them.

    Raises:
        Unreadable: its file is none of ours.

    """
    commit = out / _COMMIT
    if commit.exists():
        try:
            plan = json.loads(commit.read_text(encoding="utf-8"))
            run, moved, removed = plan["run"], plan["moved"], plan["removed"]
            _check_inside(run, *moved, *removed)
        except (ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"{commit}: no commit of an output folder: {error}") from error
        for name in moved:
            staged, target = out / _STAGING / run / name, out / name
            if staged.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(target)
        for name in removed:
            (out / name).unlink(missing_ok=True)
        commit.unlink()
    shutil.rmtree(out / _STAGING, ignore_errors=True)


def _check_inside(*names: str) -> None:
    """Check that names lead to nothing outside of the folder.

    Raises:
        ValueError: one does.

    """
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{name!r} is no name in this folder")
