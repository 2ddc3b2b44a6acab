"""What happened."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from doorkeeper_pipeline.report.overview import history_of, overview_of
from testkit.report_tables import table_of

if TYPE_CHECKING:
    import polars as pl

BEGIN = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


def decisions(*rows: dict[str, Any]) -> pl.LazyFrame:
    given = [
        {
            "principal": "User:a",
            "resource_type": "TOPIC",
            "resource_name": "t",
            "operation": "READ",
            "api": "Fetch",
            "outcome": "ALLOWED",
            "count": 1,
            "first_ts": row.get("minute", BEGIN),
            "last_ts": row.get("minute", BEGIN),
            "minute": BEGIN,
            "day": row.get("minute", BEGIN).date(),
        }
        | row
        for row in rows
    ]
    return table_of("decisions", given)


def test_denied_probes_are_not_counted() -> None:
    frame = decisions(
        {"count": 7},
        {"count": 2, "outcome": "DENIED"},
        {"count": 5, "outcome": "DENIED", "probe": True},
    )

    history = history_of(frame)
    section = overview_of(frame, history)

    assert (history.decisions, history.refused, history.probes) == (14, 2, 5)
    assert "2 of them, 14%, were refused." in section.lead[0]
    assert section.lead[1].startswith("Besides, 5 refusals answered clients that only asked")
    assert section.timeline is not None
    assert sum(each.refused for each in section.timeline.slots) == 2
