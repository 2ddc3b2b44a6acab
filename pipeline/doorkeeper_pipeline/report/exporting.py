"""The tables of a report as CSV and as JSON lines, for spreadsheets and other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper.acls.formats.csv import FORMULA

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.report.frames import Frames


def export(frames: Frames, folder: Path) -> list[str]:
    """Write each table as ``<name>.csv`` and ``<name>.jsonl`` into a folder; return the names.

    In CSV lists are texts with semicolons, and a text that a spreadsheet would take for a formula
    begins with an apostrophe: names come from outside.

    Raises:
        OSError: a file cannot be written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, lazy in sorted(frames.items()):
        frame = lazy.collect()
        lists = [column for column, kind in frame.schema.items() if isinstance(kind, pl.List)]
        flat = frame.with_columns(
            pl.col(column).list.eval(pl.element().cast(pl.String)).list.join("; ")
            for column in lists
        )
        texts = [column for column, kind in flat.schema.items() if kind == pl.String]
        safe = flat.with_columns(
            pl.when(pl.col(column).str.contains(FORMULA))
            .then(pl.lit("'") + pl.col(column))
            .otherwise(pl.col(column))
            .alias(column)
            for column in texts
        )
        safe.write_csv(folder / f"{name}.csv", datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        frame.write_ndjson(folder / f"{name}.jsonl")
    return sorted(frames)
