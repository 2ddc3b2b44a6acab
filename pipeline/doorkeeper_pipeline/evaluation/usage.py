"""The use of each binding, by principal, host and resource: sums over questions.

Kafka's log names one rule, so that of two grants that say the same only one would get its due. Here
every binding does that was used, see ``matching``. Two grants that cover each other are both used
and neither is decisive: not all indecisive ones can go at once.

The sums of several blocks, or of several workers, are parts that can be added: a row for each
binding that matched anything, with the values with which it was used.
"""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import COUNTS, TIME

DETAILS = {
    "principal": "principals",
    "host": "hosts",
    "operation": "operations",
    "resource_name": "resources",
}
"""The lists of each binding's uses, and their names."""

LISTED_MAX = 100
"""How many values a list names: enough to act on; a grant to all users has thousands."""

PARTS = {
    "binding": pl.Int32(),
    "uses": pl.Int64(),
    "decisive_uses": pl.Int64(),
    "first_ts": TIME,
    "last_ts": TIME,
    **dict.fromkeys(DETAILS, pl.List(pl.String())),
}
"""The columns of a part."""


def parts_of(index: Index, table: DecisionTable) -> pl.DataFrame:
    """Return the uses of distinct questions, as parts, not yet added."""
    return table.find(index, _part, PARTS)


def sum_uses(parts: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each binding that matched or was decisive, sorted by its number.

    Columns: ``binding``, ``uses``, ``decisive_uses``, ``first_ts``, ``last_ts`` (of the uses; null
    where there was none), and for each of ``DETAILS`` the first hundred values, sorted, under its
    name, and how many there are under its singular with ``_count``.
    """
    values = {name: pl.col(about).explode().drop_nulls() for about, name in DETAILS.items()}
    return (
        parts.group_by("binding")
        .agg(
            pl.col("uses", "decisive_uses").sum(),
            pl.col("first_ts").min(),
            pl.col("last_ts").max(),
            *(all_of.unique().sort().head(LISTED_MAX).alias(n) for n, all_of in values.items()),
            *(
                all_of.n_unique().cast(pl.Int64).alias(f"{name[:-1]}_count")
                for name, all_of in values.items()
            ),
        )
        .sort("binding")
    )


def _part(block: Block) -> pl.DataFrame:
    matches, rows = block.matches, block.rows.select(*DETAILS, *COUNTS)
    return (
        rows[matches.questions]
        .with_columns(
            pl.Series("binding", matches.bindings),
            pl.Series("used", matches.used),
            pl.Series("decisive", matches.decisive),
        )
        .group_by("binding")
        .agg(
            pl.col("count").filter("used").sum().alias("uses"),
            pl.col("count").filter("decisive").sum().alias("decisive_uses"),
            pl.col("first_ts").filter("used").min(),
            pl.col("last_ts").filter("used").max(),
            pl.col(*DETAILS).filter("used").unique(),
        )
    )
