"""The evidence in a history, by its tables days, clients and agreement.

A run with nothing new asks for it too, so that neither Arrow nor an evaluator is imported here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.evaluation.collection import collection_of
from doorkeeper_pipeline.evaluation.evidence import (
    BrokerLog,
    Evidence,
    Observed,
    Thresholds,
    evidence_of,
)

Row = dict[str, Any]


class Span(NamedTuple):
    """The days (UTC) that have decisions, their number, and the first and last time, or None."""

    dates: frozenset[dt.date]
    decisions: int
    allowed: int
    first: dt.datetime | None
    last: dt.datetime | None

    @property
    def days(self) -> int:
        """Return the number of days that have decisions."""
        return len(self.dates)


class Basis(NamedTuple):
    """The tables, as rows, whether any ACL is in force, and brokers' logs."""

    days: Sequence[Row]
    clients: Sequence[Row]
    agreement: Sequence[Row]
    has_acls: bool
    logs: tuple[BrokerLog, ...] | None = None


def span_of(rows: Sequence[Row]) -> Span:
    """Return how long a history is, by its table days."""
    return Span(
        frozenset(row["day"] for row in rows),
        sum(row["count"] for row in rows),
        sum(row["count"] for row in rows if row["outcome"] == "ALLOWED"),
        min((row["first_ts"] for row in rows), default=None),
        max((row["last_ts"] for row in rows), default=None),
    )


def evidence_in(
    basis: Basis, policy: Policy, thresholds: Thresholds, now: dt.datetime | None = None
) -> Evidence:
    """Return the evidence in a history.

    Decisions later than ``now`` make it worthless; None if times are not to be checked. A history
    begins where decisions were allowed: at INFO, before a logger was set to DEBUG, none is logged.
    """
    found = span_of(basis.days)
    allowed = span_of([row for row in basis.days if row["outcome"] == "ALLOWED"])
    begin = allowed if allowed.first else found
    earlier = min(found.dates, default=None) != min(begin.dates, default=None)
    observed = Observed(
        decisions=found.decisions,
        allowed=found.allowed,
        first=begin.first,
        last=found.last,
        days=begin.dates,
        refused_from=found.first if earlier else None,
        has_acls=basis.has_acls,
        now=now,
        logs=basis.logs,
        collection=collection_of(basis.days, basis.clients),
    )
    return evidence_of(observed, basis.agreement, policy, thresholds)
