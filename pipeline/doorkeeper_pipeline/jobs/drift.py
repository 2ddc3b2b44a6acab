"""Which bindings were added and removed between two dates, by the times in the table bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    import datetime as dt

    from doorkeeper_pipeline.jobs.gold import GoldInput


def drift(asked: GoldInput) -> dict[str, pl.DataFrame]:
    """Return the table drift: since the begin of the window, or ever where there is none."""
    bindings = contents.as_frame("bindings", asked.bindings)
    return {"drift": changes(bindings, asked.since, None)}


def changes(
    bindings: pl.DataFrame, since: dt.datetime | None, until: dt.datetime | None
) -> pl.DataFrame:
    """Return each addition and removal after ``since`` and not after ``until``, the oldest first.

    A binding that was there before anything is known of times is not an addition.
    """
    sides = [
        bindings.filter(pl.col(at).is_not_null()).select(
            "binding_id",
            *FIELDS,
            change=pl.lit(change),
            at=at,
            revision=revision,
            by=by,
            since=pl.lit(since, pl.Datetime("us", "UTC")),
            until=pl.lit(until, pl.Datetime("us", "UTC")),
        )
        for change, at, revision, by in (
            ("ADDED", "valid_from", "from_revision", "created_by"),
            ("REMOVED", "valid_to", "to_revision", "removed_by"),
        )
    ]
    rows = contents.as_frame("drift", pl.concat(sides))
    if since is not None:
        rows = rows.filter(pl.col("at") > since)
    if until is not None:
        rows = rows.filter(pl.col("at") <= until)
    return rows.sort("at", "revision", "change", *FIELDS)
