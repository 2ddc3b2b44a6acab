"""What a proposed set would turn."""

from __future__ import annotations

from datetime import UTC, datetime

from doorkeeper_pipeline.report.model import About
from doorkeeper_pipeline.report.overview import History
from doorkeeper_pipeline.report.proposals import backtest_of
from testkit.report_tables import BEGIN, table_of

HISTORY = History(1_000, 60, 0, 3, 3, 1, BEGIN, BEGIN)
REFUSALS = HISTORY._replace(refused=990, probes=10)
ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_history_of_denials_shows_no_loss() -> None:
    tables = {"backtest": table_of("backtest", [])}
    lost = [{"turn": "ALLOW_TO_DENY", "principal": "User:a", "count": 3}]

    unknown = "The history has no allowed decisions, so it cannot show who would lose access."
    assert backtest_of(tables, REFUSALS, ABOUT).lead[0].startswith(unknown)
    lead = backtest_of(tables, HISTORY, ABOUT).lead
    assert lead[0].startswith("No principal would lose access.")
    assert "decisions of later runs are not in it" in lead[1]
    told = backtest_of({"backtest": table_of("backtest", lost)}, REFUSALS, ABOUT).lead[0]
    assert told.startswith("1 principal would lose access: 3 decisions")
