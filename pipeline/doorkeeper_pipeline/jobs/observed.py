"""The days, names and principals of a history, each queried once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from doorkeeper.acl.model import ResourceType
from doorkeeper_pipeline import schemas
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.overbroad import History
from doorkeeper_pipeline.evaluation.questions import (
    COUNT,
    FIRST,
    LAST,
    PRINCIPAL,
    RESOURCE_NAME,
    RESOURCE_TYPE,
)

if TYPE_CHECKING:
    import datetime as dt

    from doorkeeper_pipeline.jobs.gold import GoldInput

NAME = (RESOURCE_TYPE, RESOURCE_NAME)
DAY = "day"
OUTCOME = "outcome"

DAYS = arrow_schema(schemas.DAYS)


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


def days(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table days, sorted."""
    by = (DAY, OUTCOME)
    table = asked.engine.over_tuples(asked.decisions, columns_of, DAYS.names, DAYS, by)
    return {"days": table.sort_by([(name, "ascending") for name in by])}


def span(asked: GoldInput) -> Span:
    """Return how long a history is."""
    return span_of(days(asked)["days"])


def span_of(table: pa.Table) -> Span:
    """Return how long a history is, by its table days."""
    rows = table.to_pylist()
    return Span(
        frozenset(row[DAY] for row in rows),
        sum(row[COUNT] for row in rows),
        sum(row[COUNT] for row in rows if row[OUTCOME] == "ALLOWED"),
        min((row[FIRST] for row in rows), default=None),
        max((row[LAST] for row in rows), default=None),
    )


def history(asked: GoldInput) -> History:
    """Return the names of a history by type, and how many principals it has."""
    engine, files = asked.engine, asked.decisions
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


def columns_of(names: tuple[str, ...], table: pa.Table) -> pa.Table:
    """Return some columns: a function for ``Engine.over_tuples``."""
    return table.select(list(names))


_ROWS = pa.schema([pa.field(COUNT, pa.int64(), nullable=False)])


def count_rows(_: None, table: pa.Table) -> pa.Table:
    """Return how many rows there are: a function for ``Engine.over_tuples``."""
    return pa.table([pa.array([table.num_rows])], schema=_ROWS)
