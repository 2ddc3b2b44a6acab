"""Principals, their hosts and their resources that were first seen in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from doorkeeper_pipeline.evaluation.questions import (
    COUNT,
    FIRST,
    HOST,
    LAST,
    PRINCIPAL,
    RESOURCE_NAME,
    RESOURCE_TYPE,
    TIME,
)
from doorkeeper_pipeline.jobs.asking import Question
from doorkeeper_pipeline.jobs.basis import OUTCOME
from doorkeeper_pipeline.jobs.observed import ACTIVITY, PROBE
from doorkeeper_pipeline.jobs.totals import Totals
from doorkeeper_pipeline.tables import contents

if TYPE_CHECKING:
    import datetime as dt

    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
    from doorkeeper_pipeline.jobs.gold import GoldInput

HOSTS = Totals((PRINCIPAL, HOST, OUTCOME, PROBE))

_RESOURCE = (PRINCIPAL, RESOURCE_TYPE, RESOURCE_NAME)
_NAMES = (PRINCIPAL, HOST, RESOURCE_TYPE, RESOURCE_NAME)
_FOUND = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in _RESOURCE),
        *(pa.field(name, pa.int64()) for name in (COUNT, "denied")),
        *(pa.field(name, TIME) for name in (FIRST, LAST)),
    ]
)


def new_access(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table new_access: accesses in the window that never occurred before it."""
    seen = ACTIVITY.of(asked).filter(~pl.col(PROBE))
    since = asked.since or last_day(seen)
    if since is None or seen.filter(pl.col(FIRST) < since).is_empty():
        # Without an earlier history everything would be new.
        return {"new_access": contents.empty("new_access").to_arrow()}
    [resources] = asked.ask(Question(new_resources, since, _FOUND))
    found = pl.from_arrow(resources)
    assert isinstance(found, pl.DataFrame)
    return {"new_access": first_seen(seen, HOSTS.of(asked), found, since).to_arrow()}


def last_day(seen: pl.DataFrame) -> dt.datetime | None:
    """Return the begin of the last day of a history; None for an empty one."""
    found: dt.datetime | None = seen.select(pl.col(LAST).max().dt.truncate("1d")).item()
    return found


def new_resources(since: dt.datetime, table: DecisionTable) -> pa.Table:
    """Return the resources of principals that were first seen since a time."""
    return _new(table.frame, _RESOURCE, since).select(_FOUND.names).to_arrow()


def first_seen(
    principals: pl.DataFrame, hosts: pl.DataFrame, resources: pl.DataFrame, since: dt.datetime
) -> pl.DataFrame:
    """Return the first occurrences since a time, by kind.

    A host or a resource of a principal that is new itself is left out: the principal says it.
    """
    new = _new(principals, (PRINCIPAL,), since)
    kinds = {
        "PRINCIPAL": new,
        "HOST": _new(hosts, (PRINCIPAL, HOST), since).join(new, on=PRINCIPAL, how="anti"),
        "RESOURCE": resources.join(new, on=PRINCIPAL, how="anti"),
    }
    found = []
    for kind, rows in kinds.items():
        blank = [pl.lit("").alias(name) for name in _NAMES if name not in rows.columns]
        named = rows.with_columns(*blank, kind=pl.lit(kind), since=pl.lit(since))
        found.append(contents.as_frame("new_access", named))
    return pl.concat(found).sort("kind", *_NAMES)


def _new(decisions: pl.DataFrame, by: tuple[str, ...], since: dt.datetime) -> pl.DataFrame:
    """Return what was first seen since a time, but for probes."""
    return (
        decisions.filter(~pl.col(PROBE))
        .group_by(by)
        .agg(
            pl.col(COUNT).sum(),
            pl.col(COUNT).filter(pl.col(OUTCOME) == "DENIED").sum().alias("denied"),
            pl.col(FIRST).min(),
            pl.col(LAST).max(),
        )
        .filter(pl.col(FIRST) >= since)
    )
