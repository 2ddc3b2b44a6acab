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

from collections.abc import Iterable

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from doorkeeper_pipeline.evaluation.decision_table import Block, DecisionTable
from doorkeeper_pipeline.evaluation.index import Index
from doorkeeper_pipeline.evaluation.matching import Matches
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

PARTS = pa.schema(
    [
        pa.field("binding", pa.int32(), nullable=False),
        pa.field("about", pa.string(), nullable=False),
        pa.field("value", pa.string()),
        pa.field("uses", pa.int64()),
        pa.field("decisive_uses", pa.int64()),
        pa.field("first_ts", TIME),
        pa.field("last_ts", TIME),
    ]
)
"""The columns of a part. A total has no value; the others have neither sums nor times."""


def parts_of(index: Index, table: DecisionTable) -> pa.Table:
    """Return the uses of distinct questions, as parts, not yet added."""
    found = [_part(index, block) for block in table.evaluate(index).blocks()]
    return pa.concat_tables([PARTS.empty_table(), *found])


def sum_uses(parts: Iterable[pa.Table]) -> pl.DataFrame:
    """Return one row for each binding that matched or was decisive, sorted by its number.

    Columns: ``binding``, ``uses``, ``decisive_uses``, ``first_ts``, ``last_ts`` (of the uses; null
    where there was none), and for each of ``DETAILS`` the first hundred values, sorted, under its
    name, and how many there are under its name with ``_count``.
    """
    frame = pl.from_arrow(pa.concat_tables([PARTS.empty_table(), *parts]))
    assert isinstance(frame, pl.DataFrame)
    is_total = pl.col("about") == "total"
    totals = (
        frame.filter(is_total)
        .group_by("binding")
        .agg(
            pl.col("uses", "decisive_uses").sum(), pl.col("first_ts").min(), pl.col("last_ts").max()
        )
    )
    lists = (
        frame.filter(~is_total)
        .group_by("binding", "about")
        .agg(
            pl.col("value").unique().sort().head(LISTED_MAX),
            pl.col("value").n_unique().alias("count"),
        )
    )
    return with_lists(totals, lists)


def with_lists(totals: pl.DataFrame, lists: pl.DataFrame) -> pl.DataFrame:
    """Return totals by binding with the lists by (binding, about) beside them."""
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


def _part(index: Index, block: Block) -> pa.Table:
    found = block.matches
    rows = [_totals(index, block.rows, found)]
    use = np.flatnonzero(found.used)
    asking, bindings = found.questions[use], found.bindings[use]
    for about in DETAILS:
        texts = block.questions.texts[about]
        rows.append(_details(about, bindings, texts, texts.codes[asking]))
    return pa.concat_tables(rows)


def _totals(index: Index, table: pa.Table, found: Matches) -> pa.Table:
    counts = _integers(table, "count")
    uses = np.zeros(index.size, np.int64)
    decisive = np.zeros(index.size, np.int64)
    first = np.full(index.size, np.iinfo(np.int64).max)
    last = np.full(index.size, np.iinfo(np.int64).min)
    for sums, which in ((uses, found.used), (decisive, found.decisive)):
        np.add.at(sums, found.bindings[which], counts[found.questions[which]])
    asking, bindings = found.questions[found.used], found.bindings[found.used]
    np.minimum.at(first, bindings, _integers(table, "first_ts")[asking])
    np.maximum.at(last, bindings, _integers(table, "last_ts")[asking])
    there = np.unique(found.bindings)
    unused = uses[there] == 0
    return pa.table(
        [
            pa.array(there, pa.int32()),
            pa.repeat("total", len(there)),
            pa.nulls(len(there), pa.string()),
            pa.array(uses[there]),
            pa.array(decisive[there]),
            pa.array(first[there], mask=unused).cast(TIME),
            pa.array(last[there], mask=unused).cast(TIME),
        ],
        schema=PARTS,
    )


def _details(
    about: str, bindings: NDArray[np.int32], texts: Texts, codes: NDArray[np.int64]
) -> pa.Table:
    width = max(len(texts.values), 1)
    pairs = np.unique(bindings.astype(np.int64) * width + codes)
    size = len(pairs)
    values = pa.array(texts.values, pa.string()).take(pa.array(pairs % width))
    return pa.table(
        [
            pa.array(pairs // width, pa.int32()),
            pa.repeat(about, size),
            values,
            pa.nulls(size, pa.int64()),
            pa.nulls(size, pa.int64()),
            pa.nulls(size, TIME),
            pa.nulls(size, TIME),
        ],
        schema=PARTS,
    )


def _integers(table: pa.Table, column: str) -> NDArray[np.int64]:
    values = table.column(column)
    if pa.types.is_timestamp(values.type):
        values = pc.cast(values, TIME)
    numbers: NDArray[np.int64] = pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False)
    return numbers
