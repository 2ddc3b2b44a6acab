"""Principals, their hosts and their resources that were first seen in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    import datetime as dt

    import pyarrow as pa

    from doorkeeper_pipeline.jobs.gold import GoldInput

_KINDS = {
    "PRINCIPAL": ["principal"],
    "HOST": ["principal", "host"],
    "RESOURCE": ["principal", "resource_type", "resource_name"],
}
_NAMES = ["principal", "host", "resource_type", "resource_name"]


def new_access(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table new_access: accesses in the window that never occurred before it."""
    if not asked.distinct:
        return {"new_access": contents.empty("new_access").to_arrow()}
    seen = contents.scan("decisions", asked.distinct).filter(~pl.col("probe"))
    since = asked.since or last_day(seen)
    if since is None or not _has_earlier(seen, since):
        # Without an earlier history everything would be new.
        return {"new_access": contents.empty("new_access").to_arrow()}
    return {"new_access": first_seen(seen, since).to_arrow()}


def _has_earlier(seen: pl.LazyFrame, since: dt.datetime) -> bool:
    return not seen.filter(pl.col("first_ts") < since).head(1).collect().is_empty()


def last_day(seen: pl.LazyFrame) -> dt.datetime | None:
    """Return the begin of the last day of a history; None for an empty one."""
    found: dt.datetime | None = (
        seen.select(pl.col("last_ts").max().dt.truncate("1d")).collect().item()
    )
    return found


def first_seen(seen: pl.LazyFrame, since: dt.datetime) -> pl.DataFrame:
    """Return the first occurrences since a time, by kind.

    A host or a resource of a principal that is new itself is left out: the principal says it.
    """
    found = []
    new_principals: pl.LazyFrame | None = None
    for kind, columns in _KINDS.items():
        rows = (
            seen.group_by(columns)
            .agg(
                pl.col("count").sum(),
                pl.col("first_ts").min(),
                pl.col("last_ts").max(),
                denied=pl.col("count").filter(pl.col("outcome") == "DENIED").sum(),
            )
            .filter(pl.col("first_ts") >= since)
        )
        if new_principals is None:
            new_principals = rows.select("principal")
        else:
            rows = rows.join(new_principals, on="principal", how="anti")
        blank = [pl.lit("").alias(name) for name in _NAMES if name not in columns]
        found.append(rows.with_columns(*blank, kind=pl.lit(kind), since=pl.lit(since)).collect())
    ordered = [contents.as_frame("new_access", each) for each in found]
    return pl.concat(ordered).sort("kind", *_NAMES)
