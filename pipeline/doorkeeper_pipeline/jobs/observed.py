"""The days, names and principals of a history, each queried once, and the evidence in it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.collection import collection_of
from doorkeeper_pipeline.evaluation.decision_table import accesses
from doorkeeper_pipeline.evaluation.evidence import (
    BrokerLog,
    Evidence,
    Observed,
    Thresholds,
    evidence_of,
)
from doorkeeper_pipeline.evaluation.overbroad import History
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, UnreadLines
from doorkeeper_pipeline.evaluation.verdicts import LOGGED_BY, Activity
from doorkeeper_pipeline.jobs.asking import distinct
from doorkeeper_pipeline.jobs.belonging import AUTHORIZER_LOG
from doorkeeper_pipeline.jobs.gold import GoldInput, Totals
from doorkeeper_pipeline.tables import contents

NAME = ("resource_type", "resource_name")


NAMES = Totals(NAME)
BY_PRINCIPAL = Totals(("principal", "operation", "resource_type", "api", "outcome", "probe"))
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
    frame = (
        distinct(decisions, ("day", "outcome"))
        .collect()
        .join(pairs_in(decisions), on="day", how="left")
        .with_columns(
            pl.when(allowed).then(name).otherwise(None).fill_null(0)
            for name in ("paired", "unpaired")
        )
    )
    return contents.of_job("days", frame)


def span(asked: GoldInput) -> Span:
    return span_of(days(asked)["days"].to_dicts())


def history(asked: GoldInput) -> History:
    """Return the names of a history by type, and how many principals it has."""
    names: dict[ResourceType, list[str]] = defaultdict(list)
    for kind, name in NAMES.of(asked).select(NAME).iter_rows():
        names[ResourceType[kind]].append(name)
    return History(names, len(principals_of(asked)))


def principals_of(asked: GoldInput) -> frozenset[str]:
    return frozenset(BY_PRINCIPAL.of(asked)["principal"])


def activity_of(asked: GoldInput) -> dict[str, Activity]:
    """Return how many accesses of each principal were allowed and denied."""
    rows = BY_PRINCIPAL.of(asked)
    allowed, denied = (
        pl.col("count").filter(pl.col("outcome") == outcome).sum()
        for outcome in ("ALLOWED", "DENIED")
    )
    sums = rows.filter(accesses(rows)).group_by("principal", maintain_order=True)
    numbers = sums.agg(allowed.alias("allowed"), denied.alias("denied"))
    return {principal: Activity(*counts) for principal, *counts in numbers.iter_rows()}


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
    ``controllers_span`` is the time from the first to the last heartbeat of a broker, of which
    controllers get some each second; None without any.
    """

    hosts: frozenset[str]
    replicate: bool
    controllers_seen: bool
    controllers_span: tuple[dt.datetime, dt.datetime] | None = None


def brokers_in(asked: GoldInput) -> Brokers:
    """Return the brokers that ask each other, by CLUSTER_ACTION.

    Only those of the last day: a container gets another address when it starts.
    """
    everything = BROKERS.of(asked)
    actions = everything.filter(pl.col("operation") == "CLUSTER_ACTION")
    latest = actions.filter(pl.col("last_ts").max() - pl.col("last_ts") < dt.timedelta(days=1))
    apis = frozenset(everything["api"].fill_null("").unique())
    beats = everything.filter(pl.col("api") == "BrokerHeartbeat")
    return Brokers(
        frozenset(latest["host"]),
        "Fetch" in latest["api"],
        not {"", *_OF_CONTROLLERS}.isdisjoint(apis),
        beats.select(pl.col("first_ts").min(), pl.col("last_ts").max()).row(0)
        if len(beats) and "" not in apis
        else None,
    )


_OF_GROUPS: Final = frozenset(
    {
        *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"),
        *("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"),
    }
)


def logged_in(asked: GoldInput) -> frozenset[AclOperation]:
    """Return of which of ``LOGGED_BY`` a history has requests; see there.

    A broker's log has all kinds if it has one of them; controllers have Fetch too, but for
    CLUSTER_ACTION.
    """
    pairs = set(BROKERS.of(asked).select("operation", pl.col("api").fill_null("")).iter_rows())
    logged = frozenset(
        operation
        for operation, apis in LOGGED_BY.items()
        if any((operation.name, api) in pairs for api in apis)
    )
    if asked.proof.observed.brokers is None:
        return logged
    has_groups = any((AclOperation.READ.name, api) in pairs for api in _OF_GROUPS)
    return frozenset(LOGGED_BY) if logged or has_groups else logged


_CLUSTER_FIRST: Final[Mapping[tuple[AclOperation, ResourceType], str]] = {
    (AclOperation.CREATE, ResourceType.TOPIC): "",
    (AclOperation.DESCRIBE, ResourceType.GROUP): "ListGroups",
}
"""What a broker asks of the cluster, and only where that is refused of each resource of a type: in
any request, or in one.

Source: ``ControllerApis.createTopics``, ``AutoTopicCreationManager``, ``KafkaApis``
``.handleListGroupsRequest`` (4.3.1).
"""


def cluster_first(
    asked: GoldInput,
) -> dict[tuple[AclOperation, ResourceType], frozenset[str]]:
    """Return the principals that an operation on the cluster let through, by what it hides."""
    rows = BY_PRINCIPAL.of(asked)
    rows = rows.filter(
        accesses(rows), pl.col("outcome") == "ALLOWED", resource_type=ResourceType.CLUSTER.name
    )
    return {
        (operation, hidden): frozenset(
            rows.filter((pl.col("api") == api) | (api == ""), operation=operation.name)["principal"]
        )
        for (operation, hidden), api in _CLUSTER_FIRST.items()
    }


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


def span_of(rows: Sequence[Row]) -> Span:
    """Return how long a history is, by its table days."""
    return Span(
        frozenset(row["day"] for row in rows),
        sum(row["count"] for row in rows),
        sum(row["count"] for row in rows if row["outcome"] == "ALLOWED"),
        min((row["first_ts"] for row in rows), default=None),
        max((row["last_ts"] for row in rows), default=None),
    )


BASIS: Final = ("days", "clients", "agreement")
"""The tables that are the evidence in a history."""


def evidence_in(
    tables: Mapping[str, pl.DataFrame],
    policy: Policy,
    thresholds: Thresholds,
    *,
    has_acls: bool,
    logs: tuple[BrokerLog, ...] | None = None,
    now: dt.datetime | None = None,
    unread: UnreadLines = NOTHING_UNREAD,
) -> Evidence:
    """Return the evidence in a history; ``tables`` are those of ``BASIS``.

    Days on which lines are missing, by ``unread``, are not covered.
    Decisions later than ``now`` make it worthless; None if times are not to be checked. A history
    begins where decisions were allowed: at INFO, before a logger was set to DEBUG, none is logged.
    """
    days, clients, agreement = (tables[name].to_dicts() for name in BASIS)
    history_span = span_of(days)
    allowed = span_of([row for row in days if row["outcome"] == "ALLOWED"])
    begin = allowed if allowed.first else history_span
    earlier = min(history_span.dates, default=None) != min(begin.dates, default=None)
    observed = Observed(
        decisions=history_span.decisions,
        allowed=history_span.allowed,
        first=begin.first,
        last=history_span.last,
        days=begin.dates - unread.lost_days,
        refused_from=history_span.first if earlier else None,
        has_acls=has_acls,
        now=now,
        logs=logs,
        collection=collection_of(days, clients)._replace(torn=unread.torn),
    )
    return evidence_of(observed, agreement, policy, thresholds)


COMMITS: Final = ("OffsetCommit", "TxnOffsetCommit")
LOOK_UP: Final = "FindCoordinator"
LOOK_UPS_MAX: Final = 12
"""Of a client and a group within a day; librdkafka looks every ten minutes, whatever it does."""

_CLIENT = ("principal", "host")
_GROUP, _TOPIC = (pl.col("resource_type") == kind for kind in ("GROUP", "TOPIC"))
_ALLOWED = pl.col("outcome") == "ALLOWED"
_COLUMNS = (
    *("day", "minute", *_CLIENT, "api"),
    *("resource_type", "resource_name", "outcome", "count"),
)


def pairs_in(decisions: pl.LazyFrame) -> pl.DataFrame:
    """Return for each day the requests that write two lines, ``paired`` and ``unpaired``.

    A commit of offsets has a line for the group, and one for each topic; FindCoordinator has one
    for the group, which another request for it follows. All decisions of a day must be there. They
    are as exact as a minute: two commits of a client within one are not told apart, and are left
    out. Logs that have no lines for topics of commits are not Kafka's own.

    Source: ``KafkaApis.handleOffsetCommitRequest`` (4.3.1); clients look for a coordinator before
    they ask it.
    """
    is_commit = pl.col("api").is_in(COMMITS)
    rows = (
        decisions.filter(pl.col("source") == AUTHORIZER_LOG, _GROUP | (_TOPIC & is_commit))
        .select(_COLUMNS)
        .collect()
    )
    requests = pl.concat([_commits(rows.filter(is_commit)), _look_ups(rows)])
    return requests.group_by("day").agg(
        pl.col("is_paired").sum().cast(pl.Int64).alias("paired"),
        (~pl.col("is_paired")).sum().cast(pl.Int64).alias("unpaired"),
    )


def _commits(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for commits in minutes with one of a client whether both kinds of lines are there."""
    group = pl.col("count").filter(_GROUP)
    commits = (
        rows.group_by("day", "minute", *_CLIENT, "api")
        .agg(
            group.sum().alias("groups"),
            pl.col("count").filter(_TOPIC).sum().alias("topics"),
            (_GROUP & ~_ALLOWED).any().alias("refused"),
        )
        # A refused one has no line for topics.
        .filter((pl.col("groups") <= 1) & ~pl.col("refused"))
    )
    has_topics = (pl.col("topics") > 0).any()
    return commits.filter(has_topics).select(
        "day", is_paired=(pl.col("groups") > 0) & (pl.col("topics") > 0)
    )


def _look_ups(rows: pl.DataFrame) -> pl.DataFrame:
    """Return for look-ups whether another request for the group came within a minute or two."""
    whose = (*_CLIENT, "resource_name")
    # The minute after the last one is in files of another day.
    before_last = pl.col("minute") < pl.lit(rows["minute"].max(), pl.Datetime("us", "UTC"))
    asked = rows.filter(_GROUP, _ALLOWED, pl.col("api") == LOOK_UP)
    few = asked.group_by("day", *whose).len().filter(pl.col("len") <= LOOK_UPS_MAX)
    look_ups = asked.filter(before_last).join(few, on=["day", *whose], how="semi")
    look_ups = look_ups.unique(["minute", *whose])
    others = rows.filter(_GROUP, pl.col("api") != LOOK_UP).select("minute", *whose)
    others = others.join(look_ups, on=whose, how="semi")
    before = others.with_columns(pl.col("minute") - dt.timedelta(minutes=1))
    followed = pl.concat([others, before]).unique().with_columns(is_paired=pl.lit(value=True))
    return look_ups.join(followed, on=["minute", *whose], how="left").select(
        "day", pl.col("is_paired").fill_null(value=False)
    )
