"""The use of every grant: the tables grant_usage, unused_grants and overbroad_grants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.acl_sets import AclSet, rows
from doorkeeper_pipeline.evaluation.grants import grant_usage
from doorkeeper_pipeline.evaluation.literals import commands_of, text
from doorkeeper_pipeline.evaluation.overbroad import TOUCHES, overbroad, touches_of, wide
from doorkeeper_pipeline.evaluation.questions import LAST
from doorkeeper_pipeline.evaluation.unused import KEPT, keepers_of, rank_bindings, unused_bindings
from doorkeeper_pipeline.evaluation.usage import (
    BINDING,
    LISTED_MAX,
    PARTS,
    USES,
    parts_of,
    sum_uses,
)
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.observed import history, span
from doorkeeper_pipeline.schemas import OVERBROAD_GRANTS, UNUSED_GRANTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from doorkeeper_pipeline.evaluation.index import Index
    from doorkeeper_pipeline.evaluation.overbroad import Excess
    from doorkeeper_pipeline.evaluation.unused import Unused
    from doorkeeper_pipeline.jobs.basis import Span
    from doorkeeper_pipeline.jobs.gold import GoldInput

COVERED_BY_MAX = 10
_TIME = pl.Datetime("us", "UTC")


def grants(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the three tables."""
    acls = asked.acls
    observed = span(asked)
    totals = usage(asked, asked.index(acls.bindings))
    lacking = [bool(asked.lacking) or asked.is_doubtful(each) for each in acls.bindings]
    unneeded = removable(asked, acls, totals)
    return {
        "grant_usage": grant_usage(acls, totals, observed.days),
        "unused_grants": _unused_table(acls, unneeded, totals, observed, lacking),
        "overbroad_grants": _overbroad_table(acls, overbroad_in(asked, acls), observed, lacking),
    }


def usage(asked: GoldInput, index: Index) -> pl.DataFrame:
    """Return the uses in the history, by the number of the binding."""
    parts = asked.engine.over_tuples(asked.distinct, parts_of, index, PARTS)
    return sum_uses([parts])


def removable(asked: GoldInput, acls: AclSet, totals: pl.DataFrame) -> list[Unused]:
    """Return bindings that were never decisive; those marked to go can go together (backtest)."""
    shared = rank_bindings(asked.index(acls.bindings), acls.bindings, totals)
    keepers = asked.engine.over_tuples(asked.distinct, keepers_of, shared, KEPT)
    found = unused_bindings(acls.bindings, totals, keepers, asked.policy)
    going = {each.binding for each in found if each.removable}
    left = tuple(each for number, each in enumerate(acls.bindings) if number not in going)
    if going and changes_by(asked, acls.bindings, left).num_rows:
        # It would be an error of ours, and no reason to break somebody.
        return [each._replace(removable=False) for each in found]
    return found


def overbroad_in(asked: GoldInput, acls: AclSet) -> Excess:
    """Return the grants that are too wide."""
    shared = wide(asked.index(acls.bindings), acls.bindings)
    touches = asked.engine.over_tuples(asked.distinct, touches_of, shared, TOUCHES)
    return overbroad(acls.bindings, touches, history(asked))


def _unused_table(
    acls: AclSet,
    found: Sequence[Unused],
    totals: pl.DataFrame,
    observed: Span,
    lacking: Sequence[bool],
) -> pa.Table:
    judged = pl.DataFrame(
        [
            (
                each.reason,
                [acls.ids[other] for other in each.covered_by[:COVERED_BY_MAX]],
                _proposal(each, lacking[each.binding]),
            )
            for each in found
        ],
        {
            "reason": pl.String,
            "covered_by": pl.List(pl.String),
            "proposal": pl.String,
        },
        orient="row",
    )
    bindings = rows(acls, [each.binding for each in found])
    frame = pl.concat([bindings, judged], how="horizontal")
    going = frame.filter(pl.col("proposal") == "REMOVE")
    commands = going.select(BINDING, commands_of(going, remove=True))
    frame = (
        frame.join(commands, on=BINDING, how="left", maintain_order="left")
        .with_columns(pl.col("command").fill_null(""))
        .join(totals.select(BINDING, USES, LAST), on=BINDING, how="left", maintain_order="left")
        .with_columns(
            pl.col(USES).fill_null(0),
            pl.col(LAST).alias("last_used"),
            pl.lit(observed.days, pl.Int64).alias("days_observed"),
            pl.lit(observed.first, _TIME).alias("first_observed"),
            pl.lit(observed.last, _TIME).alias("last_observed"),
        )
    )
    return frame.select(UNUSED_GRANTS.names).to_arrow().cast(arrow_schema(UNUSED_GRANTS))


def _proposal(one: Unused, lacking: bool) -> str:  # noqa: FBT001  private
    if not one.removable:
        return "KEEP"
    return "NOT_ENOUGH_EVIDENCE" if lacking else "REMOVE"


def _overbroad_table(
    acls: AclSet, found: Excess, observed: Span, lacking: Sequence[bool]
) -> pa.Table:
    numbers = found.grants[BINDING].to_list()
    bindings = rows(acls, numbers)
    certain = pl.Series([not lacking[number] for number in numbers], dtype=pl.Boolean)
    removals = bindings.filter(certain)
    removals = removals.select(BINDING, commands_of(removals, remove=True).alias("removal"))
    instead = found.instead.join(removals, on=BINDING, how="semi", maintain_order="left")
    instead = instead.with_columns(text().alias("proposal"), commands_of(instead))
    proposals = (
        instead.group_by(BINDING)
        .agg("proposal", pl.col("command").alias("commands"))
        .join(removals, on=BINDING)
        .with_columns(pl.concat_list("commands", "removal").alias("commands"))
    )
    nothing = pl.lit([], pl.List(pl.String))
    frame = (
        pl.concat([bindings, found.grants.drop(BINDING)], how="horizontal")
        .join(proposals, on=BINDING, how="left", maintain_order="left")
        .with_columns(
            pl.lit(observed.days, pl.Int64).alias("days_observed"),
            pl.col("touched_resources").list.len().cast(pl.Int64).alias("touched_resource_count"),
            pl.col("proposal", "commands").fill_null(nothing),
            pl.col("touched_principals", "touched_hosts").list.head(LISTED_MAX),
        )
        .with_columns(pl.col("touched_resources").list.head(LISTED_MAX))
    )
    return frame.select(OVERBROAD_GRANTS.names).to_arrow().cast(arrow_schema(OVERBROAD_GRANTS))
