"""Decisions of several files, each counted once: copies and overlapping rotations of a log.

Files are of one origin if they have a whole minute in common: the same number of lines at the same
milliseconds. So are they if one is a copy that lacks lines, as of a collector that drops some: of
equal decisions of a minute it mostly has the same lines, or all but one. Of each decision of a
minute, which several of them have, the file with most lines counts: a copy has as many, the end of
a rotation that was cut off has fewer. Files of several brokers share no such minute, and their
decisions are summed. Ranges of a topic are one file, for each offset is read once.

An overlap of a few lines is not found.
"""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.sources.parsed import DECISIONS, KEY, SUMS, TIME_MARK, sum_decisions

_RANGE = r"^([0-9a-f]{16})-\d+-\d+$"
"""The id of a range of a topic, which begins with that of the topic."""

_ORDER = ("principal", *(name for name in KEY if name != "principal"))
"""Most questions are about a principal: so files are read in part."""

ROWS_MAX = 10_000
"""About so many rows of an hour are searched for copies that lack lines, those of few lines."""
LINES_MAX = 3

AGREEING_MIN = 3
"""Rows that must agree; times of whole seconds may agree by chance, and do not count."""

AGREEING_SHARE = 0.5
"""Files of several brokers agree in one row of 100,000."""

_SIGNATURE = ("minute", "rows", "count", "lines", TIME_MARK, "first_ts", "last_ts")


def sum_files(lines: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return rows of the table lines as decisions, sorted, and the number of copied decisions."""
    if lines["file_id"].str.contains(_RANGE).any():
        lines = lines.with_columns(pl.col("file_id").str.replace(_RANGE, "$1"))
    copied = 0
    if lines["file_id"].n_unique() > 1:
        # Files may be of one origin in an hour and of two later: where a name was given anew.
        hours = lines.group_by(pl.col("minute").dt.truncate("1h"), maintain_order=True)
        once = [_once(rows) for _, rows in hours]
        lines = pl.concat(rows for rows, _ in once)
        copied = sum(count for _, count in once)
    return sum_decisions(lines).sort(_ORDER), copied


def _once(lines: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return the rows of an hour without those that are copies, and the number of the latter."""
    copied = 0
    if origins := origins_of(lines):
        by_file = lines.group_by("file_id", *KEY).agg(SUMS)
        of_origin = pl.col("file_id").replace(origins).alias("origin")
        once = (
            by_file.with_columns(of_origin)
            .sort("lines", "file_id", descending=[True, False])
            .unique(["origin", *KEY], keep="first", maintain_order=True)
        )
        copied = int(by_file["count"].sum()) - int(once["count"].sum())
        lines = once
    return lines.select("file_id", *DECISIONS), copied


def origins_of(lines: pl.DataFrame) -> dict[str, str]:
    """Return for each file that shares a minute with others the first file of its origin."""
    if lines["file_id"].n_unique() < 2:
        return {}
    minutes = lines.group_by("file_id", "minute").agg(pl.len().alias("rows"), *SUMS)
    shared = (
        minutes.sort("file_id")
        .group_by(_SIGNATURE, maintain_order=True)
        .agg(pl.col("file_id"))
        .filter(pl.col("file_id").list.len() > 1)["file_id"]
        .unique(maintain_order=True)
    )
    origins: dict[str, str] = {}
    for files in [*shared.to_list(), *_lacking_lines(lines, minutes)]:
        # All origins that these files have had so far become one.
        known = {origins.get(file, file) for file in files}
        first = min(known)
        origins |= dict.fromkeys(files, first)
        origins |= {file: first for file, origin in origins.items() if origin in known}
    return origins


def _lacking_lines(lines: pl.DataFrame, minutes: pl.DataFrame) -> list[list[str]]:
    """Return pairs of files of which the first lacks lines of the second, or none."""
    several = (
        minutes.group_by("minute")
        .agg(pl.len().alias("files"), pl.col("rows").sum())
        .filter(pl.col("files") > 1)
        .sort("minute")
        .filter(pl.col("rows").cum_sum() - pl.col("rows") < ROWS_MAX)["minute"]
    )
    rows = lines.filter(
        pl.col("minute").is_in(several.implode()), pl.col("lines") <= LINES_MAX
    ).select(
        "file_id",
        *("minute", "lines", TIME_MARK, "first_ts", "last_ts"),
        decision=pl.struct(sorted(KEY.keys() - {"day", "minute"})).hash(seed=0),
    )
    pairs = rows.join(rows, on=("minute", "decision"), suffix="_whole").filter(
        pl.col("file_id") != pl.col("file_id_whole")
    )
    left = pl.col("lines_whole") - pl.col("lines")
    same = pl.all_horizontal(
        pl.col(name) == pl.col(f"{name}_whole") for name in (TIME_MARK, "first_ts", "last_ts")
    )
    # The mark is a sum of squares: without one line it lacks the square of its milliseconds.
    missing = (pl.col(f"{TIME_MARK}_whole") - pl.col(TIME_MARK)).cast(pl.Float64).sqrt()
    in_minute = (pl.col("first_ts_whole") - pl.col("minute")).dt.total_milliseconds()
    is_one = (missing == missing.round()) & (missing >= in_minute)
    agrees = pl.when(left == 0).then(same).otherwise(is_one)
    exact = pl.col("first_ts").dt.millisecond() != 0
    return [
        list(pair)
        for pair in pairs.filter(left.is_in([0, 1]))
        .group_by("file_id", "file_id_whole")
        .agg(agrees.mean().alias("share"), (agrees & exact).sum().alias("agreeing"))
        .filter(pl.col("share") >= AGREEING_SHARE, pl.col("agreeing") >= AGREEING_MIN)
        .select(pl.col("file_id"), "file_id_whole")
        .sort(pl.all())
        .iter_rows()
    ]
