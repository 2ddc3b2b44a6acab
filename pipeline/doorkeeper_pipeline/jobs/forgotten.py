"""What a maintenance that forgot names means for the evidence about grants.

Rows of a forgotten principal or address are gone, and so is the use of any grant that they used.
Whose rows they were is not kept: from then on each grant is known as if it had been listed that
day.
"""

from __future__ import annotations

import datetime as dt
import json

import polars as pl

MARK = json.dumps({"forgotten": True})
"""The digests of a maintenance that forgot names, in its row of ``runs``."""


def last_forgotten(runs: pl.DataFrame) -> dt.datetime | None:
    """Return when names were forgotten last; None if never."""
    last: dt.datetime | None = runs.filter(pl.col("digests") == MARK)["started"].max()  # type: ignore[assignment]
    return last


def restarted(bindings: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the table bindings, known from no earlier than the last forgetting on."""
    at = last_forgotten(runs)
    if at is None:
        return bindings
    known = pl.max_horizontal("known_from", "valid_from", pl.lit(at))
    return bindings.with_columns(known_from=known.cast(bindings.schema["known_from"]))
