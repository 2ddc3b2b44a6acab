"""Tables for reports: rows of tests, and those of a run over the log of a made-up world."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from doorkeeper_pipeline.columns import polars_schema
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.evidence import DEFAULT_THRESHOLDS
from doorkeeper_pipeline.jobs.backtest import backtest
from doorkeeper_pipeline.jobs.history import history
from doorkeeper_pipeline.jobs.request import RunRequest, Surroundings
from doorkeeper_pipeline.jobs.run import run
from doorkeeper_pipeline.report.writing import frames_in
from doorkeeper_pipeline.schemas import TABLES
from synthetic.grants import proposal_of
from synthetic.shape import SMALL
from synthetic.traffic import world_of
from synthetic.writing import Log, write_acls, write_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from synthetic.traffic import World

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
_ZERO: dict[str, Any] = {
    "string": "",
    "int64": 0,
    "int32": 0,
    "boolean": False,
    "timestamp": BEGIN,
    "date": BEGIN.date(),
}


def table_of(name: str, rows: Iterable[Mapping[str, Any]]) -> pl.LazyFrame:
    """Return rows as a table; what a row leaves out is null, or empty where it may not be."""
    table = TABLES[name]
    whole = [
        {
            column.name: row[column.name]
            if column.name in row
            else None
            if column.nullable
            else []
            if column.is_list
            else _ZERO[str(column.type)]
            for column in table.columns
        }
        for row in rows
    ]
    return pl.DataFrame(whole, schema=polars_schema(table)).select(table.names).lazy()


def tables_of(world: World, count: int, *, days: int = 7) -> dict[str, pl.LazyFrame]:
    """Return all tables that a report shows, after a run over a log with so many events."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        log = Log(lines=count, files=days, days=days, bad_every=max(1, count // 12))
        write_log(world, folder / "logs", log)
        sets = write_acls(world, folder / "acls")
        request = RunRequest(
            out=folder / "out",
            inputs=(str(folder / "logs"),),
            acls=(f"{sets['proposal']}@{BEGIN:%Y-%m-%d}", str(sets["yaml"])),
            since=BEGIN + timedelta(days=days - 2),
            policy=world.policy,
            max_quarantined=100,
            thresholds=DEFAULT_THRESHOLDS._replace(days=0),
        )
        engine = Engine()
        end = BEGIN + timedelta(days=days)
        run(
            request,
            Surroundings(
                engine=engine, now=lambda: end, run_id="run", version="1", tell=lambda _: None
            ),
        )
        asked = history(request.out, engine)
        turns = backtest(asked, proposal_of(world.bindings))
        frames = {name: each.collect().lazy() for name, each in frames_in(request.out).items()}
        return frames | {"backtest": turns.lazy()}


@cache
def small_tables() -> dict[str, pl.LazyFrame]:
    """Return the tables of 2,000 events of the small world."""
    return tables_of(world_of(SMALL), 2_000)
