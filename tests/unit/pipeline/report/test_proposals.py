"""Least privilege, and what a proposed set would turn."""

from __future__ import annotations

from datetime import UTC, datetime

from doorkeeper_pipeline.report.model import About, Commands
from doorkeeper_pipeline.report.overview import History
from doorkeeper_pipeline.report.proposals import backtest_of, least_privilege_of
from testkit.report_tables import BEGIN, table_of

HISTORY = History(1_000, 60, 0, 3, 3, 1, BEGIN, BEGIN)
REFUSALS = HISTORY._replace(refused=990, probes=10)
ABOUT = About(made=datetime(2026, 11, 8, tzinfo=UTC))


def test_what_a_principals_set_turns_is_counted_once() -> None:
    """The numbers are a principal's, and stand in each of its rows."""
    rows = [
        {"principal": "User:a", "newly_allows": 3, "newly_forbids": 1, "kind": "LITERAL"},
        {"principal": "User:a", "newly_allows": 3, "newly_forbids": 1, "kind": "PREFIX"},
        {"principal": "User:b", "newly_allows": 4, "kind": "LITERAL", "command": "add"},
    ]

    section = least_privilege_of(
        {"least_privilege": table_of("least_privilege", rows)}, HISTORY, ABOUT
    )

    assert " ".join(section.lead) == (
        "3 grants for 2 principals would allow all that was used. Over the whole history they"
        " would change 1 from allowed to denied and 7 from denied to allowed."
    )
    assert section.tables[0].rows[2][-1] == Commands("add", ("add",))
    assert [row[6] is None for row in section.tables[0].rows] == [True, False, True]


def test_a_history_of_refusals_shows_no_loss() -> None:
    """That nobody would lose access is said only where somebody had it."""
    tables = {name: table_of(name, []) for name in ("least_privilege", "backtest")}
    lost = [{"turn": "ALLOW_TO_DENY", "principal": "User:a", "count": 3}]

    unknown = "Nothing was allowed in this history, so that it cannot show who would lose access."
    assert least_privilege_of(tables, REFUSALS, ABOUT).lead == (unknown,)
    assert backtest_of(tables, REFUSALS, ABOUT).lead[0].startswith(unknown)
    assert backtest_of(tables, HISTORY, ABOUT).lead[0].startswith("No principal would lose access.")
    told = backtest_of({"backtest": table_of("backtest", lost)}, REFUSALS, ABOUT).lead[0]
    assert told.startswith("1 principal would lose access: 3 decisions")
