"""The basis of the numbers at the top of the page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from doorkeeper_pipeline.report.basis import basis_of
from doorkeeper_pipeline.report.model import Fact
from doorkeeper_pipeline.report.overview import history_of
from testkit.report_tables import BEGIN, table_of

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def test_time_coverage_agreement_and_shortcomings() -> None:
    """The exact time, the days without a decision, and what the last run lacked."""
    later = NOON + timedelta(days=3)
    decisions = table_of(
        "decisions",
        [
            {"count": 1, "first_ts": NOON, "last_ts": NOON},
            {"count": 1, "day": later.date(), "first_ts": later, "last_ts": later},
        ],
    )
    warning = "not enough evidence to remove an ACL: the history is 3 days long"
    frames = {
        "decisions": decisions,
        "agreement": table_of("agreement", [{"count": 10, "agreeing": 9, "unlisted": 2}]),
        "runs": table_of(
            "runs",
            [
                {"finished": BEGIN, "warnings": ["not enough evidence to remove an ACL: old"]},
                {"finished": later, "warnings": ["other", warning]},
            ],
        ),
    }

    assert basis_of(frames, history_of(decisions)) == (
        Fact("Time", "3 days, from 1 Nov 2026 12:00 to 4 Nov 2026 12:00 UTC"),
        Fact("Coverage", "decisions on 2 of 4 days", doubtful=True),
        Fact(
            "Agreement",
            "80% of the recorded decisions follow from the given ACLs",
            doubtful=True,
        ),
        Fact("Not enough evidence", "the history is 3 days long", doubtful=True),
    )


def test_decisions_alone() -> None:
    """Without ACLs nothing was compared; without decisions there is no basis."""
    decisions = table_of("decisions", [{"count": 1, "first_ts": NOON, "last_ts": NOON}])
    nothing = table_of("decisions", [])

    found = basis_of({"decisions": decisions}, history_of(decisions))

    assert [each.name for each in found if not each.doubtful] == ["Time", "Coverage", "Agreement"]
    assert "no set of ACLs" in found[-1].text
    assert basis_of({"decisions": nothing}, history_of(nothing)) == ()
