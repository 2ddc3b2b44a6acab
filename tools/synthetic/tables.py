"""The silver table ``decisions`` of a world, without the way through a log.

Benchmarks of later stages start from it, and readers of logs are compared with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.tables import contents
from synthetic.lines import rule_text
from synthetic.traffic import events
from synthetic.writing import BEGIN_MS

if TYPE_CHECKING:
    from synthetic.traffic import World

_RULE = "MatchingAcl(acl=StandardAcl["


def decisions_of(
    world: World, count: int, *, begin_ms: int = BEGIN_MS, days: int = 7, source: str = ""
) -> pl.DataFrame:
    """Return so many events as rows of ``decisions``: one for each question and minute.

    ``source`` is that of a log unless it is given. Rows are in the order of time.
    """
    parts = [
        pl.DataFrame({"row": part.rows, "ms": part.at_ms})
        .group_by("row", (pl.col("ms") // 60_000).alias("at_minute"))
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            pl.col("ms").min().alias("first_ms"),
            pl.col("ms").max().alias("last_ms"),
        )
        for part in events(world, count, begin_ms=begin_ms, days=days)
    ]
    # A minute may lie in two chunks.
    grouped = (
        pl.concat(parts)
        .group_by("row", "at_minute")
        .agg(pl.col("count").sum(), pl.col("first_ms").min(), pl.col("last_ms").max())
        .sort("at_minute", "row")
    )
    joined = grouped.join(_questions(world), on="row", maintain_order="left")
    minute = _moment(pl.col("at_minute") * 60_000)
    table = joined.select(
        minute.dt.date().alias("day"),
        minute.alias("minute"),
        *("principal", "host", "operation", "resource_type", "resource_name", "outcome", "api"),
        *("rule", "rule_binding"),
        pl.lit(value=False).alias("probe"),
        pl.lit(source or "authorizer-log").alias("source"),
        "count",
        _moment(pl.col("first_ms")).alias("first_ts"),
        _moment(pl.col("last_ms")).alias("last_ts"),
        pl.lit("").alias("cluster"),
    )
    return contents.as_frame("decisions", table)


def _moment(milliseconds: pl.Expr) -> pl.Expr:
    return (
        pl.from_epoch(milliseconds, time_unit="ms")
        .dt.cast_time_unit("us")
        .dt.replace_time_zone("UTC")
    )


def _questions(world: World) -> pl.DataFrame:
    """Return the questions with their outcomes and rules, by row."""
    rules = [rule_text(each, "E") for each in world.decisions]
    bindings = [
        each.removeprefix(_RULE).removesuffix("])") if each.startswith(_RULE) else ""
        for each in rules
    ]
    found = pl.DataFrame(pl.from_arrow(world.questions))
    return found.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"),
        pl.when("allowed").then(pl.lit("ALLOWED")).otherwise(pl.lit("DENIED")).alias("outcome"),
        pl.Series("rule", [each.partition("(")[0] for each in rules], pl.String),
        pl.Series("rule_binding", bindings, pl.String),
    )
