"""Texts of moments: revisions, dates, relative times."""

from __future__ import annotations

import pytest

from doorkeeper.server.state.history.moments import Moment, parse_moment, time_text

NOW_MS = 1_792_000_000_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0", Moment(0, None)),
        (" 1042 ", Moment(1042, None)),
        ("2 days ago", Moment(None, NOW_MS - 2 * 86_400_000)),
        ("1 Week ago", Moment(None, NOW_MS - 7 * 86_400_000)),
        ("90 seconds ago", Moment(None, NOW_MS - 90_000)),
        ("1970-01-02", Moment(None, 86_400_000)),
        ("1970-01-01T01:00:00.5Z", Moment(None, 3_600_500)),
        ("1970-01-01T01:00+01:00", Moment(None, 0)),
    ],
)
def test_moment_is_a_revision_or_a_time(text: str, moment: Moment) -> None:
    assert parse_moment(text, NOW_MS) == moment


@pytest.mark.parametrize("text", ["", "-1", "yesterday", "2026-13-01", "2 fortnights ago", "1e3"])
def test_invalid_moments_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: a revision, an ISO date"):
        parse_moment(text, NOW_MS)


def test_times_are_formatted_in_utc() -> None:
    assert time_text(1) == "1970-01-01T00:00:00.001Z"
    assert time_text(10**20) == f"{10**20} ms"
    assert str(Moment(7, None)) == "revision 7"
    assert str(Moment(None, 0)) == "1970-01-01T00:00:00.000Z"
