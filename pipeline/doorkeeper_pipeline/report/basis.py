"""The basis of the numbers, which stands at the top: cluster, dates, agreement, limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl

from doorkeeper_pipeline.amounts import amount, day, moment, percent
from doorkeeper_pipeline.evaluation.evidence import Observed, Thresholds, duration
from doorkeeper_pipeline.evaluation.unread import UnreadLines, unread_in_files
from doorkeeper_pipeline.report.frames import Frames
from doorkeeper_pipeline.report.model import Fact
from doorkeeper_pipeline.report.overview import History

AGREEING = pl.min_horizontal("agreeing", pl.col("count") - pl.col("unlisted"))
"""How many decisions of a row of the table agreement follow from the given ACLs."""


def basis_of(frames: Frames, history: History, title: str) -> tuple[Fact, ...]:
    """Return the facts; those of the last run's warnings that make recommendations impossible.

    ``title`` is that of the page: a cluster of this name is not named again.
    """
    if history.first is None or history.last is None:
        return ()
    first, dates = _covered(frames)
    observed = Observed(
        decisions=history.decisions,
        allowed=history.allowed,
        first=first or history.first,
        last=history.last,
        days=dates,
        has_acls="grant_usage" in frames,
    )
    span_days = (history.last - history.first) / timedelta(days=1)
    missing = len(observed.missing_days)
    lacking = _warnings(frames, "not enough evidence to remove an ACL: ")
    return (
        *_cluster(frames, title),
        Fact(
            "Log",
            f"{duration(span_days)}, from {_text(history.first)} to {_text(history.last)} UTC",
        ),
        Fact(
            "Coverage",
            "allowed decisions, and no missing lines, on"
            f" {len(dates):,} of {amount(len(dates) + missing, 'day')}",
            doubtful=missing > 0,
        ),
        *_listings(frames),
        _agreement(frames),
        *_options(frames),
        *(Fact("Not enough evidence", reason, doubtful=True) for reason in lacking),
    )


def _covered(frames: Frames) -> tuple[datetime | None, frozenset[date]]:
    """Return the time of the first allowed decision, and the days that count as evidence."""
    allowed = frames["decisions"].filter(pl.col("outcome") == "ALLOWED")
    row = allowed.select(pl.col("first_ts").min(), pl.col("day").unique().implode()).collect()
    first, dates = row.row(0)
    return first, frozenset(dates) - unread_of(frames).lost_days


def unread_of(frames: Frames) -> UnreadLines:
    """Return the lines of the last run's cluster that could not be read, or are missing."""
    files = frames.get("files")
    rows = [] if files is None else files.collect().to_dicts()
    return unread_in_files(rows, last_run(frames).get("cluster") or "")


def last_run(frames: Frames) -> dict[str, Any]:
    """Return the row of the last run; an empty one without any."""
    runs = frames.get("runs")
    rows = [] if runs is None else runs.sort("finished").tail(1).collect().to_dicts()
    return rows[0] if rows else {}


def _cluster(frames: Frames, title: str) -> Iterator[Fact]:
    run = last_run(frames)
    if run and (run["cluster"] or "") != title:
        yield Fact("Cluster", run["cluster"])
    elif run and not title:
        yield Fact("Cluster", "no name was given: run --cluster-name NAME")


def _listings(frames: Frames) -> Iterator[Fact]:
    """Yield the times of the sets of ACLs that all runs were given."""
    runs = frames.get("runs")
    if runs is None:
        return
    times = sorted({*runs.select(pl.col("listed").explode().drop_nulls()).collect()["listed"]})
    if times:
        between = f", {len(times):,} of them" if len(times) > 2 else ""
        ends = " and ".join(dict.fromkeys(day(time) for time in (times[0], times[-1])))
        yield Fact("Listings of ACLs", f"of {ends}{between}")


def _options(frames: Frames) -> Iterator[Fact]:
    """Yield super users and limits of the last run; a lowered limit makes the rest doubtful."""
    asked = json.loads(last_run(frames).get("asked") or "{}")
    if "super_users" in asked:
        names = asked["super_users"]
        yield Fact("Super users", ", ".join(names) or "none were given")
    lowered = _warnings(frames, "RISK: ")
    yield from (Fact("Lowered limit", limit, doubtful=True) for limit in lowered)
    if not lowered and asked.get("thresholds"):
        limits = Thresholds(**asked["thresholds"])
        yield Fact(
            "Limits",
            f"{limits.days:g} days for a removal, {limits.start_days:g} for permissions that"
            f" clients use only at startup; {limits.agreement:g}% agreement,"
            f" {limits.coverage:g}% coverage",
        )


def _warnings(frames: Frames, begin: str) -> list[str]:
    """Return the warnings of the last run that begin so, without their beginning."""
    warnings = last_run(frames).get("warnings", [])
    return [warning.removeprefix(begin) for warning in warnings if warning.startswith(begin)]


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
