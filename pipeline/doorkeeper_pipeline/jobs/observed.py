"""The days, names and principals of a history, each queried once, and the evidence in it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline.evaluation.collection import collection_of
from doorkeeper_pipeline.evaluation.evidence import (
    BrokerLog,
    Evidence,
    Observed,
    Thresholds,
    evidence_of,
)
from doorkeeper_pipeline.evaluation.overbroad import History
from doorkeeper_pipeline.evaluation.verdicts import Activity
from doorkeeper_pipeline.jobs.asking import distinct
from doorkeeper_pipeline.jobs.gold import GoldInput, Totals
from doorkeeper_pipeline.jobs.pairs import pairs_in
from doorkeeper_pipeline.tables import contents

NAME = ("resource_type", "resource_name")


ACTIVITY = Totals(("principal", "outcome", "probe"))
NAMES = Totals(NAME)
BROKERS = Totals(("host", "operation", "api"))


def days(asked: GoldInput) -> dict[str, pl.DataFrame]:
    """Return the table days, sorted; days that are known already are not asked about."""
    known = asked.known_days
    files = asked.decisions if known is None else asked.undated
    by_folder = groupby(sorted(files), key=lambda file: file.rpartition("/")[0])
    tasks = [tuple(those) for _, those in by_folder]
    made = [
        contents.of_job("days", contents.empty("days")),
        *asked.engine.map(days_in, tasks, None),
    ]
    table = pl.concat(made if known is None else [known, *made])
    return {"days": table.sort("day", "outcome")}


def days_in(_: None, files: tuple[str, ...]) -> pl.DataFrame:
    """Return the days of files of decisions, all of a day together: the function of the tasks."""
    decisions = contents.scan("decisions", files)
    allowed = pl.col("outcome") == "ALLOWED"
    found = (
        distinct(decisions, ("day", "outcome"))
        .collect()
        .join(pairs_in(decisions), on="day", how="left")
        .with_columns(
            pl.when(allowed).then(name).otherwise(None).fill_null(0)
            for name in ("paired", "unpaired")
        )
    )
    return contents.of_job("days", found)


def span(asked: GoldInput) -> Span:
    return span_of(days(asked)["days"].to_dicts())


def history(asked: GoldInput) -> History:
    """Return the names of a history by type, and how many principals it has."""
    names: dict[ResourceType, list[str]] = defaultdict(list)
    for kind, name in NAMES.of(asked).select(NAME).iter_rows():
        names[ResourceType[kind]].append(name)
    return History(names, len(principals_of(asked)))


def principals_of(asked: GoldInput) -> frozenset[str]:
    return frozenset(ACTIVITY.of(asked)["principal"])


def activity_of(asked: GoldInput) -> dict[str, Activity]:
    """Return how many decisions of each principal were allowed and denied."""
    found: dict[str, Activity] = defaultdict(Activity)
    rows = ACTIVITY.of(asked).select("principal", "outcome", "count")
    for principal, outcome, count in rows.iter_rows():
        allowed, denied = found[principal]
        more = (allowed + count, denied) if outcome == "ALLOWED" else (allowed, denied + count)
        found[principal] = Activity(*more)
    return dict(found)


_OF_CONTROLLERS: Final = frozenset(
    {
        *("AllocateProducerIds", "AlterClientQuotas", "AlterConfigs", "AlterPartition"),
        *("AlterPartitionReassignments", "AlterUserScramCredentials", "AssignReplicasToDirs"),
        *("BrokerHeartbeat", "BrokerRegistration", "ControllerRegistration", "CreateAcls"),
        *("CreateDelegationToken", "CreatePartitions", "CreateTopics", "DeleteAcls"),
        *("DeleteTopics", "ElectLeaders", "ExpireDelegationToken", "IncrementalAlterConfigs"),
        *("RenewDelegationToken", "UnregisterBroker", "UpdateFeatures"),
    }
)
"""Requests that brokers forward, or send, to controllers, which authorize them.

Source: ``KafkaApis`` and ``ControllerApis`` (4.3.1).
"""


class Brokers(NamedTuple):
    """The addresses from which brokers and controllers ask each other.

    ``replicate``: one fetches from another, so that there are two at least. ``controllers_seen``:
    a request is there that controllers decide, for which brokers have no log line; or one without
    its name, as releases before KRaft wrote, in which brokers decide everything.
    """

    hosts: frozenset[str]
    replicate: bool
    controllers_seen: bool


def brokers_in(asked: GoldInput) -> Brokers:
    """Return the brokers that ask each other, by CLUSTER_ACTION.

    Only those of the last day: a container gets another address when it starts.
    """
    everything = BROKERS.of(asked)
    actions = everything.filter(pl.col("operation") == "CLUSTER_ACTION")
    latest = actions.filter(pl.col("last_ts").max() - pl.col("last_ts") < dt.timedelta(days=1))
    return Brokers(
        frozenset(latest["host"]),
        "Fetch" in latest["api"],
        not {"", *_OF_CONTROLLERS}.isdisjoint(everything["api"].fill_null("").unique()),
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
