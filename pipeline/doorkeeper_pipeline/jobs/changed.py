"""What changed: bindings that came and went, and access that was first seen in a window."""

from __future__ import annotations

import datetime as dt
from functools import partial

import polars as pl

from doorkeeper_pipeline.bindings import FIELDS
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.questions import COUNTS, SUMMED
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.gold import GoldInput, Totals
from doorkeeper_pipeline.jobs.observed import BY_PRINCIPAL
from doorkeeper_pipeline.tables import contents


def drift(asked: GoldInput) -> dict[str, pl.DataFrame]:
    """Return the table drift: additions and removals since the begin of the window, or all.

    A binding that was there before anything is known of times is not an addition.
    """
    bindings = contents.as_frame("bindings", asked.bindings)
    sides = [
        bindings.filter(pl.col(at).is_not_null()).with_columns(
            change=pl.lit(change), at=at, revision=revision, by=by
        )
        for change, at, revision, by in (
            ("ADDED", "valid_from", "from_revision", "created_by"),
            ("REMOVED", "valid_to", "to_revision", "removed_by"),
        )
    ]
    rows = pl.concat(sides).with_columns(since=pl.lit(asked.since), until=pl.lit(None))
    if asked.since is not None:
        rows = rows.filter(pl.col("at") > asked.since)
    return {"drift": contents.of_job("drift", rows.sort("at", "revision", "change", *FIELDS))}


HOSTS = Totals(("principal", "host", "outcome", "probe"))

_RESOURCE = ("principal", "resource_type", "resource_name")
_NAMES = ("principal", "host", "resource_type", "resource_name")
_FOUND = {**dict.fromkeys(_RESOURCE, pl.String()), **COUNTS, "denied": pl.Int64()}


def new_access(asked: GoldInput) -> dict[str, pl.DataFrame]:
    """Return the table new_access: accesses in the window that never occurred before it."""
    seen = BY_PRINCIPAL.of(asked).filter(~pl.col("probe"))
    since = asked.since or last_day(seen)
    if since is None or seen.filter(pl.col("first_ts") < since).is_empty():
        # Without an earlier history everything would be new.
        return {"new_access": contents.empty("new_access")}
    [resources] = asked.ask(Question(partial(new_resources, since), _FOUND))
    return {"new_access": first_seen(seen, HOSTS.of(asked), resources, since)}


def last_day(seen: pl.DataFrame) -> dt.datetime | None:
    """Return the begin of the last day of a history; None for an empty one."""
    day: dt.datetime | None = seen.select(pl.col("last_ts").max().dt.truncate("1d")).item()
    return day


def new_resources(since: dt.datetime, table: DecisionTable) -> pl.DataFrame:
    """Return the resources of principals that were first seen since a time."""
    return _new(table.rows, _RESOURCE, since)


def first_seen(
    principals: pl.DataFrame, hosts: pl.DataFrame, resources: pl.DataFrame, since: dt.datetime
) -> pl.DataFrame:
    """Return the first occurrences since a time, by kind.

    A host or a resource of a principal that is new itself is left out: the principal says it.
    """
    new = _new(principals, ("principal",), since)
    kinds = {
        "PRINCIPAL": new,
        "HOST": _new(hosts, ("principal", "host"), since).join(new, on="principal", how="anti"),
        "RESOURCE": resources.join(new, on="principal", how="anti"),
    }
    frames = []
    for kind, rows in kinds.items():
        blank = [pl.lit("").alias(name) for name in _NAMES if name not in rows.columns]
        named = rows.with_columns(*blank, kind=pl.lit(kind), since=pl.lit(since))
        frames.append(contents.as_frame("new_access", named))
    return pl.concat(frames).sort("kind", *_NAMES)


def _new(decisions: pl.DataFrame, by: tuple[str, ...], since: dt.datetime) -> pl.DataFrame:
    """Return what was first seen since a time, but for probes."""
    return (
        decisions.filter(~pl.col("probe"))
        .group_by(by)
        .agg(
            *SUMMED,
            pl.col("count").filter(pl.col("outcome") == "DENIED").sum().alias("denied"),
        )
        .filter(pl.col("first_ts") >= since)
    )
