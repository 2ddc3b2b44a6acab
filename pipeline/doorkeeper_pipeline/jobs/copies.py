"""Decisions of several files, each counted once: copies and overlapping rotations of a log.

Files are of one origin if they have a whole minute in common: the same number of lines at the same
milliseconds. Of each decision of a minute, which several of them have, the file with most lines
counts: a copy has as many, the end of a rotation that was cut off has fewer. Files of several
brokers share no such minute, and their decisions are summed. Ranges of a topic are one file, for
each offset is read once.

An overlap of less than a whole minute is not found.
"""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.sources.parsed import KEY, TIME_MARK

_FILE, _ORIGIN = "file_id", "origin"
_RANGE = r"^([0-9a-f]{16})-\d+-\d+$"
"""The id of a range of a topic, which begins with that of the topic."""

_SUMS = (
    pl.col("count", "lines", TIME_MARK).sum(),
    pl.col("first_ts").min(),
    pl.col("last_ts").max(),
)
_SIGNATURE = ("minute", "rows", "count", "lines", TIME_MARK, "first_ts", "last_ts")


def sum_files(lines: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return rows of the table lines as decisions, sorted, and the number of copied decisions."""
    if lines[_FILE].str.contains(_RANGE).any():
        lines = lines.with_columns(pl.col(_FILE).str.replace(_RANGE, "$1"))
    origins = origins_of(lines)
    copied = 0
    if origins:
        by_file = lines.group_by(_FILE, *KEY).agg(*_SUMS)
        of_origin = pl.col(_FILE).replace(origins).alias(_ORIGIN)
        once = (
            by_file.with_columns(of_origin)
            .sort("lines", _FILE, descending=[True, False])
            .unique([_ORIGIN, *KEY], keep="first", maintain_order=True)
        )
        copied = int(by_file["count"].sum()) - int(once["count"].sum())
        lines = once
    return lines.group_by(list(KEY)).agg(*_SUMS).sort(list(KEY)), copied


def origins_of(lines: pl.DataFrame) -> dict[str, str]:
    """Return for each file that shares a minute with others the first file of its origin."""
    if lines[_FILE].n_unique() < 2:
        return {}  # nearly every hour of a small log
    minutes = lines.group_by(_FILE, "minute").agg(pl.len().alias("rows"), *_SUMS)
    shared = (
        minutes.sort(_FILE)
        .group_by(_SIGNATURE, maintain_order=True)
        .agg(pl.col(_FILE))
        .filter(pl.col(_FILE).list.len() > 1)[_FILE]
        .unique(maintain_order=True)
    )
    origins: dict[str, str] = {}
    for files in shared.to_list():
        # All origins that these files have had so far become one.
        known = {origins.get(file, file) for file in files}
        first = min(known)
        origins |= dict.fromkeys(files, first)
        origins |= {file: first for file, origin in origins.items() if origin in known}
    return origins
