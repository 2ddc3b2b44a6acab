"""The basis of the numbers, which stands at the top: time, coverage, agreement, shortcomings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from doorkeeper_pipeline.evaluation.evidence import Observed, duration
from doorkeeper_pipeline.report.amounts import amount, moment, number, percent
from doorkeeper_pipeline.report.model import Fact

if TYPE_CHECKING:
    from datetime import datetime

    from doorkeeper_pipeline.report.frames import Frames
    from doorkeeper_pipeline.report.overview import History


AGREEING = pl.min_horizontal("agreeing", pl.col("count") - pl.col("unlisted"))
"""How many decisions of a row of the table agreement follow from the given ACLs."""


def basis_of(frames: Frames, history: History) -> tuple[Fact, ...]:
    """Return the facts; those of the last run's warnings that make recommendations impossible."""
    if history.first is None or history.last is None:
        return ()
    dates = frames["decisions"].select(pl.col("day").unique()).collect()["day"].to_list()
    observed = Observed(
        decisions=history.decisions,
        allowed=history.allowed,
        first=history.first,
        last=history.last,
        days=frozenset(dates),
        has_acls="grant_usage" in frames,
    )
    missing = len(observed.missing_days)
    return (
        Fact(
            "Time",
            f"{duration(observed.span_days)}, from {_text(history.first)} to"
            f" {_text(history.last)} UTC",
        ),
        Fact(
            "Coverage",
            f"decisions on {number(len(dates))} of {amount(len(dates) + missing, 'day')}",
            doubtful=missing > 0,
        ),
        _agreement(frames),
        *(Fact("Lowered limit", each, doubtful=True) for each in _warnings(frames, "RISK: ")),
        *(Fact("Not enough evidence", each, doubtful=True) for each in shortcomings_of(frames)),
    )


def shortcomings_of(frames: Frames) -> list[str]:
    """Return why the last run recommended no removal."""
    return _warnings(frames, "not enough evidence to remove an ACL: ")


def _warnings(frames: Frames, begin: str) -> list[str]:
    """Return the warnings of the last run that begin so, without their beginning."""
    runs = frames.get("runs")
    if runs is None:
        return []
    last = runs.sort("finished").tail(1).collect().to_dicts()
    warnings = last[0]["warnings"] if last else []
    return [each.removeprefix(begin) for each in warnings if each.startswith(begin)]


def _text(at: datetime) -> str:
    """Return a time with plain blanks: the page shows others as escapes."""
    return moment(at).replace("\u00a0", " ")


def _agreement(frames: Frames) -> Fact:
    frame = frames.get("agreement")
    count = agreeing = 0
    if frame is not None:
        count, agreeing = frame.select(pl.col("count").sum(), AGREEING.sum()).collect().row(0)
    if not count:
        return Fact("Agreement", "no set of ACLs was given to compare with")
    return Fact(
        "Agreement",
        f"{percent(agreeing, count)} of the recorded decisions follow from the given ACLs",
        doubtful=agreeing < count,
    )
