"""The list of gold jobs."""

from __future__ import annotations

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.jobs.gold import BASIS_JOBS, GOLD_JOBS, GoldInput
from doorkeeper_pipeline.schemas import TABLES
from doorkeeper_pipeline.tables import contents


def test_empty_history_gives_empty_tables() -> None:
    asked = GoldInput(
        engine=Engine(),
        decisions=(),
        bindings=contents.empty("bindings"),
        policy=Policy(),
    )

    tables = {}
    for job in (*BASIS_JOBS, *GOLD_JOBS):
        made = job.make(asked)
        assert tuple(made) == job.tables
        tables.update(made)

    gold = {name for name, table in TABLES.items() if table.layer == "gold"}
    assert set(tables) == gold - {"backtest", "findings"}
    for name, rows in tables.items():
        frame = contents.as_frame(name, rows)
        assert isinstance(frame, pl.DataFrame)
        assert contents.check(name, frame) == {}
        assert frame.is_empty()
