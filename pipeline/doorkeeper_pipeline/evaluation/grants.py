"""The table ``grant_usage``: every binding in force, used or not, with its use."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.acl_sets import AclSet, rows
from doorkeeper_pipeline.evaluation.questions import FIRST, LAST
from doorkeeper_pipeline.evaluation.usage import BINDING, DECISIVE, DETAILS, USES
from doorkeeper_pipeline.schemas import GRANT_USAGE

_COUNTS = {
    "principals": "principal_count",
    "hosts": "host_count",
    "operations": None,
    "resources": "resource_count",
}


def grant_usage(
    acls: AclSet, totals: pl.DataFrame, days_observed: int, verdicts: pl.DataFrame
) -> pa.Table:
    """Return the table, in the order of the bindings; ``totals`` is that of ``usage.sum_uses``.

    ``verdicts`` has the columns of the verdict for each number of a binding.
    """
    frame = rows(acls).join(totals, on=BINDING, how="left", maintain_order="left")
    frame = frame.join(verdicts, on=BINDING, maintain_order="left")
    nothing = pl.lit([], pl.List(pl.String))
    counts = {name: pl.col(f"{key}_count") for key, name in _COUNTS.items() if name is not None}
    frame = frame.with_columns(
        pl.col(USES, DECISIVE).fill_null(0),
        pl.col(*DETAILS.values()).fill_null(nothing),
        *(column.fill_null(0).alias(name) for name, column in counts.items()),
        pl.col(FIRST).alias("first_used"),
        pl.col(LAST).alias("last_used"),
        pl.lit(days_observed, pl.Int64).alias("days_observed"),
    ).with_columns(
        (pl.col(USES) > 0).alias("used"),
        (pl.col(DECISIVE) > 0).alias("decisive"),
    )
    return frame.select(GRANT_USAGE.names).to_arrow().cast(arrow_schema(GRANT_USAGE))
