"""Decisions and denials: their numbers by time, principal and resource."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

import polars as pl

from doorkeeper_pipeline.amounts import amount, percent
from doorkeeper_pipeline.evaluation.evidence import duration
from doorkeeper_pipeline.report.model import Bar, Ranking, Section, Slot, Timeline

SLOTS_MAX = 170
"""A week of hours; more bars than that are thinner than a line on a phone."""

_BARS = 10
_STEPS = (
    (timedelta(minutes=1), "minute"),
    (timedelta(minutes=5), "five minutes"),
    (timedelta(minutes=15), "quarter of an hour"),
    (timedelta(hours=1), "hour"),
    (timedelta(hours=6), "quarter of a day"),
    (timedelta(days=1), "day"),
    (timedelta(days=7), "week"),
    (timedelta(days=28), "four weeks"),
)
_EPOCH = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday, so that weeks begin with one."""

REFUSED = (pl.col("outcome") == "DENIED") & ~pl.col("probe")
"""A client was denied an access. A probe only asks."""

_ALL = pl.col("count").sum().alias("all")
_NO = pl.col("count").filter(REFUSED).sum().alias("no")


class History(NamedTuple):
    """The decisions in numbers; ``first`` and ``last`` are None where nothing was decided."""

    decisions: int
    refused: int
    probes: int
    principals: int
    resources: int
    days: int
    first: datetime | None
    last: datetime | None

    @property
    def allowed(self) -> int:
        return self.decisions - self.refused - self.probes


def history_of(decisions: pl.LazyFrame) -> History:
    row = (
        decisions.select(
            decisions=_ALL,
            refused=_NO,
            probes=pl.col("count").filter(pl.col("outcome") == "DENIED", pl.col("probe")).sum(),
            principals=pl.col("principal").n_unique(),
            resources=pl.struct("resource_type", "resource_name").n_unique(),
            days=pl.col("day").n_unique(),
            first=pl.col("first_ts").min(),
            last=pl.col("last_ts").max(),
        )
        .collect(engine="streaming")
        .to_dicts()[0]
    )
    return History(**row)


def time_of(history: History) -> str:
    """Return the number of days with decisions, or the exact time if it is shorter than a day."""
    if history.first is not None and history.last is not None:
        days = (history.last - history.first) / timedelta(days=1)
        if days < 1:
            return f"within {duration(days)}"
    return f"on {amount(history.days, 'day')}"


def overview_of(decisions: pl.LazyFrame, history: History) -> Section:
    section = partial(Section, id="overview", word="Overview", title="What happened")
    if history.first is None or history.last is None:
        return section(missing="No decisions were read.")
    happened = (
        f"{amount(history.principals, 'principal')} made"
        f" {amount(history.decisions, 'request')} of"
        f" {amount(history.resources, 'resource')} {time_of(history)}."
        f" {_refused_sentence(history)}"
    )
    lead = [happened]
    if history.probes:
        lead.append(
            f"Besides, {amount(history.probes, 'refusal')} answered clients that only asked what"
            " they may see. They were denied nothing that they asked for, so that they do not count"
            " as refused."
        )
    return section(
        lead=tuple(lead),
        timeline=timeline_of(decisions, history.first, history.last),
        rankings=(
            _ranking(decisions, "By principal", ["principal"], history.principals),
            _ranking(
                decisions, "By resource", ["resource_name", "resource_type"], history.resources
            ),
            _ranking(decisions, "By operation", ["operation"]),
            _ranking(decisions.filter(pl.col("api") != ""), "By request", ["api"]),
        ),
    )


def timeline_of(decisions: pl.LazyFrame, first: datetime, last: datetime) -> Timeline:
    """Return decisions over time, in the shortest slots of which not too many are needed."""
    step, word = next(
        (entry for entry in _STEPS if (last - first) / entry[0] < SLOTS_MAX - 1), _STEPS[-1]
    )
    slot = (pl.col("minute") - _EPOCH).dt.total_seconds() // int(step.total_seconds())
    rows = (
        decisions.group_by(slot.alias("slot")).agg(_ALL, _NO).collect(engine="streaming").to_dicts()
    )
    counts = {int(row["slot"]): (int(row["all"]), int(row["no"])) for row in rows}
    slots = []
    for index in range(min(counts), max(counts) + 1):
        every, refused = counts.get(index, (0, 0))
        slots.append(Slot(_EPOCH + index * step, every - refused, refused))
    return Timeline(title="Decisions over time", slots=tuple(slots[-2000:]), slot_word=word)


def _ranking(
    decisions: pl.LazyFrame, title: str, by: Sequence[str], total: int | None = None
) -> Ranking:
    grouped = decisions.group_by(by).agg(_ALL, _NO)
    bars = (
        grouped.sort(["all", *by], descending=[True, *(False for _ in by)])
        .head(_BARS)
        .collect(engine="streaming")
        .to_dicts()
    )
    if total is None:
        total = len(bars)
        if total == _BARS:
            total = int(decisions.select(pl.struct(by).n_unique()).collect().item())
    return Ranking(
        title=title,
        bars=tuple(
            Bar(row[by[0]], int(row["all"]), int(row["no"]), row[by[1]] if len(by) > 1 else "")
            for row in bars
        ),
        total=total,
    )


def _refused_sentence(history: History) -> str:
    if not history.refused:
        return "None of them was denied."
    was = "was" if history.refused == 1 else "were"
    share = percent(history.refused, history.decisions)
    return f"{history.refused:,} of them, {share}, {was} refused."
