"""Numbers, shares, days and bars as people read them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from doorkeeper_pipeline.amounts import days, percent, short
from doorkeeper_pipeline.report.charts import SEEN, ranking_lines, stretches, time_chart
from doorkeeper_pipeline.report.model import Bar, Part, Ranking, Slot, Timeline

FIRST = date(2026, 11, 1)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (short(9_999), "9,999"), (short(10_000), "10.0k"), (short(99_949), "99.9k"),
        (short(999_999), "1.00M"), (short(2_000_000_000), "2.00B"),
        (percent(0, 0), "0%"), (percent(1, 1_000_000), "<0.1%"), (percent(1, 30), "3.3%"),
        (percent(99_999, 100_000), ">99.9%"), (percent(860, 863), "99.6%"),
        (days(FIRST, date(2026, 11, 7)), "1\u20137 Nov 2026"),
        (days(FIRST, date(2026, 12, 7)), "1 Nov \u2013 7 Dec 2026"),
        (days(FIRST, date(2027, 1, 7)), "1 Nov 2026 \u2013 7 Jan 2027"),
    ],
)  # fmt: skip
def test_rounding_does_not_mislead(found: str, text: str) -> None:
    """Three digits, never 0 % of something nor 100 % of less, and each end of a range."""
    assert found == text


def test_bars_of_small_values() -> None:
    start = datetime(2026, 11, 1, tzinfo=UTC)
    hours = tuple(Slot(start + timedelta(hours=each), 1_000_000, 1) for each in range(71))

    nothing = time_chart(Timeline(title="Decisions", slots=(), slot_word="hour"))
    chart = time_chart(Timeline(title="Decisions", slots=hours, slot_word="hour"))

    assert (nothing.columns, nothing.dates, nothing.summary) == ((), (), "Decisions: nothing.")
    assert chart.columns[0].rects[0][3:] == (SEEN, True)
    assert [each.text for each in chart.dates] == ["1 Nov", "2 Nov", "3 Nov"]
    assert stretches([Part("a", 0, 0)]) == ((0.0, 0.0),)
    assert stretches([Part("a", 999_999, 0), Part("c", 1, 2)])[1].width > 0.5
    assert ranking_lines(Ranking(title="", bars=(Bar("a", 0, 0),), total=1)) == ((0.0, 0.0),)
