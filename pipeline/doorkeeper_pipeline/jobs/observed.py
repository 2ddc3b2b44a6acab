"""The days, names and principals of a history, each queried once."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline import schemas
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.overbroad import History
from doorkeeper_pipeline.evaluation.questions import (
    COUNT,
    HOST,
    LAST,
    OPERATION,
    PRINCIPAL,
    RESOURCE_NAME,
    RESOURCE_TYPE,
    TIME,
)
from doorkeeper_pipeline.evaluation.verdicts import Activity
from doorkeeper_pipeline.jobs.basis import DAY, OUTCOME, span_of
from doorkeeper_pipeline.jobs.pairs import Pairs, pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
    from doorkeeper_pipeline.jobs.basis import Span
    from doorkeeper_pipeline.jobs.gold import GoldInput

NAME = (RESOURCE_TYPE, RESOURCE_NAME)
API = "api"

DAYS = arrow_schema(schemas.DAYS)
_DAYS = pa.schema([field for field in DAYS if field.name not in Pairs._fields])


def days(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table days, sorted; days that are known already are not asked about."""
    by = (DAY, OUTCOME)
    known = asked.known_days
    files = asked.decisions if known is None else asked.undated
    table = asked.engine.over_tuples(files, columns_of, _DAYS.names, _DAYS, by)
    table = _with_pairs(table, pairs_of(asked.engine, files))
    if known is not None:
        table = pa.concat_tables([known.cast(DAYS), table])
    return {"days": table.sort_by([(name, "ascending") for name in by])}


def _with_pairs(table: pa.Table, pairs: Mapping[dt.date, Pairs]) -> pa.Table:
    """Return days with the requests of the authorizer's log that write two lines."""
    nothing = Pairs(0, 0)
    outcomes = zip(*(table.column(name).to_pylist() for name in (DAY, OUTCOME)), strict=True)
    rows = [
        pairs.get(day, nothing) if outcome == "ALLOWED" else nothing for day, outcome in outcomes
    ]
    for place, name in enumerate(Pairs._fields):
        table = table.append_column(name, pa.array([row[place] for row in rows], pa.int64()))
    return table.cast(DAYS)


def span(asked: GoldInput) -> Span:
    """Return how long a history is."""
    return span_of(days(asked)["days"].to_pylist())


def history(asked: GoldInput) -> History:
    """Return the names of a history by type, and how many principals it has."""
    engine, files = asked.engine, asked.distinct
    schema = pa.schema([pa.field(name, pa.string(), nullable=False) for name in NAME])
    names: dict[ResourceType, set[str]] = defaultdict(set)
    table = engine.over_tuples(files, columns_of, NAME, schema, NAME)
    for kind, name in zip(*(table.column(each).to_pylist() for each in NAME), strict=True):
        names[ResourceType[kind]].add(name)
    found = engine.over_tuples(files, count_rows, None, _ROWS, (PRINCIPAL,))
    return History(
        {kind: sorted(those) for kind, those in names.items()},
        sum(found.column(COUNT).to_pylist()),
    )


def principals_of(asked: GoldInput) -> frozenset[str]:
    """Return the principals of a history."""
    schema = pa.schema([pa.field(PRINCIPAL, pa.string(), nullable=False)])
    by = (PRINCIPAL,)
    table = asked.engine.over_tuples(asked.distinct, columns_of, by, schema, by)
    return frozenset(table.column(PRINCIPAL).to_pylist())


def activity_of(asked: GoldInput) -> dict[str, Activity]:
    """Return how many decisions of each principal were allowed and denied."""
    by = (PRINCIPAL, OUTCOME)
    schema = pa.schema(
        [*(pa.field(each, pa.string(), nullable=False) for each in by), pa.field(COUNT, pa.int64())]
    )
    table = asked.engine.over_tuples(asked.distinct, columns_of, schema.names, schema, by)
    found: dict[str, Activity] = defaultdict(Activity)
    for principal, outcome, count in zip(
        *(table.column(name).to_pylist() for name in schema.names), strict=True
    ):
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
    by = (HOST, OPERATION, API)
    schema = pa.schema(
        [*(pa.field(name, pa.string(), nullable=False) for name in by), pa.field(LAST, TIME)]
    )
    table = asked.engine.over_tuples(asked.distinct, columns_of, schema.names, schema, by)
    everything = table.to_pylist()
    rows = [row for row in everything if row[OPERATION] == "CLUSTER_ACTION"]
    end = max((row[LAST] for row in rows), default=None)
    latest = [row for row in rows if end - row[LAST] < dt.timedelta(days=1)]
    return Brokers(
        frozenset(row[HOST] for row in latest),
        any(row[API] == "Fetch" for row in latest),
        any(not row[API] or row[API] in _OF_CONTROLLERS for row in everything),
    )


def columns_of(names: tuple[str, ...], table: DecisionTable) -> pa.Table:
    """Return some columns: a function for ``Engine.over_tuples``."""
    return table.rows.select(list(names))


_ROWS = pa.schema([pa.field(COUNT, pa.int64(), nullable=False)])


def count_rows(_: None, table: DecisionTable) -> pa.Table:
    """Return how many rows there are: a function for ``Engine.over_tuples``."""
    return pa.table([pa.array([table.rows.num_rows])], schema=_ROWS)
