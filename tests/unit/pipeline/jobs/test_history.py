"""What commands ask after a run."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import polars as pl
import pytest

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.jobs.history import history, keep
from doorkeeper_pipeline.tables import contents, delta, places
from doorkeeper_pipeline.tables.delta import Change, Tables
from testkit.report_tables import table_of

if TYPE_CHECKING:
    from pathlib import Path


def test_commands_read_tables_and_acls(tmp_path: Path) -> None:
    change = Change(Tables(tmp_path))
    row = {"day": dt.date(2026, 11, 22)}
    decisions = contents.as_frame("decisions", table_of("decisions", [row]).collect())
    change.write("decisions", decisions, places.of_span("2026-11-22", 0, 1))
    change.replace("runs", contents.empty("runs"))
    change.commit()
    (tmp_path / "acls.yaml").write_text(
        "version: 1\nacls:\n- {resourceType: TOPIC, name: x, principal: 'U:a', operation: READ}\n"
    )

    asked = history(tmp_path, Engine())
    given = history(tmp_path, Engine(), [str(tmp_path / "acls.yaml")])

    (path,) = asked.decisions
    assert path.startswith(f"{tmp_path}/silver/decisions/day=2026-11-22/0000of0001-")
    assert (len(asked.bindings), len(given.bindings)) == (0, 1)


def test_invalid_tables_are_not_written(tmp_path: Path) -> None:
    change = Change(Tables(tmp_path))
    change.replace("runs", contents.empty("runs"))
    change.commit()
    keep(tmp_path, {"backtest": contents.empty("backtest")})
    wrong = pl.DataFrame({"principal": ["a"]})

    with pytest.raises(PipelineError, match="table backtest: the columns"):
        keep(tmp_path, {"denied": contents.empty("denied"), "backtest": wrong})

    assert delta.Tables(tmp_path).files("denied") == []
    assert len(delta.Tables(tmp_path).files("backtest")) == 1
