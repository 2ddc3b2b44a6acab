"""The use of each binding, by principal, host and resource: sums over questions.

Kafka's log names one rule, so that of two grants that say the same only one would get its due. Here
every binding does that was used, see ``matching``. Two grants that cover each other are both used
and neither is decisive: not all indecisive ones can go at once.

The sums of several blocks, or of several workers, are parts that can be added. A part has two kinds
of rows, told apart by ``about``:

    total                                             uses, decisive uses, first and last use; it is
                                                      there for each binding that matched anything
    principal, host, operation, resource_name         one value with which the binding was used
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from doorkeeper_pipeline.evaluation.deciding import Matches
from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.questions import TIME, Texts

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
    "about": pl.String(),
    "value": pl.String(),
    "uses": pl.Int64(),
    "decisive_uses": pl.Int64(),
    "first_ts": TIME,
    "last_ts": TIME,
}
"""The columns of a part. A total has no value; the others have neither sums nor times."""


def parts_of(index: Index, table: DecisionTable) -> pl.DataFrame:
    """Return the uses of distinct questions, as parts, not yet added."""
    return table.find(index, lambda block: _part(index, block), PARTS)


def sum_uses(parts: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each binding that matched or was decisive, sorted by its number.

    Columns: ``binding``, ``uses``, ``decisive_uses``, ``first_ts``, ``last_ts`` (of the uses; null
    where there was none), and for each of ``DETAILS`` the first hundred values, sorted, under its
    name, and how many there are under its name with ``_count``.
    """
    is_total = pl.col("about") == "total"
    totals = (
        parts.filter(is_total)
        .group_by("binding")
        .agg(
            pl.col("uses", "decisive_uses").sum(),
            pl.col("first_ts").min(),
            pl.col("last_ts").max(),
        )
    )
    lists = (
        parts.filter(~is_total)
        .group_by("binding", "about")
        .agg(
            pl.col("value").unique().sort().head(LISTED_MAX),
            pl.col("value").n_unique().alias("count"),
        )
    )
    for about, name in DETAILS.items():
        of_one = lists.filter(pl.col("about") == about).select(
            "binding",
            pl.col("value").alias(name),
            pl.col("count").cast(pl.Int64).alias(f"{name}_count"),
        )
        totals = totals.join(of_one, on="binding", how="left").with_columns(
            pl.col(name).fill_null(pl.lit([], pl.List(pl.String))),
            pl.col(f"{name}_count").fill_null(0),
        )
    return totals.sort("binding")


def _part(index: Index, block: Block) -> pl.DataFrame:
    matches = block.matches
    rows = [_totals(index, block.rows, matches)]
    use = np.flatnonzero(matches.used)
    asking, bindings = matches.questions[use], matches.bindings[use]
    for about in DETAILS:
        texts = block.questions.texts[about]
        rows.append(_details(about, bindings, texts, texts.codes[asking]))
    return pl.concat(rows, how="diagonal")


def _totals(index: Index, rows: pl.DataFrame, matches: Matches) -> pl.DataFrame:
    counts = rows["count"].to_numpy()
    uses = np.zeros(index.size, np.int64)
    decisive = np.zeros(index.size, np.int64)
    for sums, which in ((uses, matches.used), (decisive, matches.decisive)):
        np.add.at(sums, matches.bindings[which], counts[matches.questions[which]])
    times = (
        rows[matches.questions[matches.used]]
        .select(
            pl.Series("binding", matches.bindings[matches.used], pl.Int32), "first_ts", "last_ts"
        )
        .group_by("binding")
        .agg(pl.col("first_ts").min(), pl.col("last_ts").max())
    )
    there = np.unique(matches.bindings)
    return pl.DataFrame(
        {
            "binding": pl.Series(there, dtype=pl.Int32),
            "about": pl.repeat("total", len(there), eager=True),
            "value": pl.Series([None] * len(there), dtype=pl.String),
            "uses": uses[there],
            "decisive_uses": decisive[there],
        }
    ).join(times, on="binding", how="left")


def _details(
    about: str, bindings: NDArray[np.int32], texts: Texts, codes: NDArray[np.int64]
) -> pl.DataFrame:
    width = max(len(texts.values), 1)
    pairs = np.unique(bindings.astype(np.int64) * width + codes)
    return pl.DataFrame(
        {
            "binding": pl.Series(pairs // width, dtype=pl.Int32),
            "about": pl.repeat(about, len(pairs), eager=True),
            "value": pl.Series(texts.values, dtype=pl.String).gather(pairs % width),
        }
    )
