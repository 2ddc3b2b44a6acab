"""Heights, widths and labels of bars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from doorkeeper_pipeline.report.charts import (
    SEEN,
    ceiling_of,
    ranking_lines,
    stretches,
    time_chart,
)
from doorkeeper_pipeline.report.model import Bar, Part, Ranking, Slot, Timeline

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def timeline(*counts: tuple[int, int], step: timedelta = timedelta(hours=1)) -> Timeline:
    slots = tuple(Slot(BEGIN + step * place, *each) for place, each in enumerate(counts))
    return Timeline(title="Decisions over time", slots=slots, slot_word="hour")


@pytest.mark.parametrize(
    ("highest", "ceiling"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (9, 10), (11, 20), (61, 80), (800, 800)],
)
def test_scales_end_with_a_round_number(highest: int, ceiling: int) -> None:
    """The top of a scale is round and not below the highest bar."""
    assert ceiling_of(highest) == ceiling


def test_allowed_and_refused_have_one_scale() -> None:
    """A bar is all decisions of its slot, refusals at its ground; an empty slot has no bar."""
    chart = time_chart(timeline((750, 250), (500, 0), (0, 0), (0, 100)))

    assert [[tuple(rect[2:]) for rect in each.rects] for each in chart.columns] == [
        [(0.0, 25.0, True), (25.0, 75.0, False)],
        [(0.0, 50.0, False)],
        [(0.0, 10.0, True)],
    ]
    assert chart.labels == ("1,000", "500", "0")
    assert chart.unit == "Decisions per hour"


def test_the_least_bar_is_seen() -> None:
    """One among a million is drawn."""
    chart = time_chart(timeline((1_000_000, 0), (1, 0)))

    assert chart.columns[1].rects[0].height == SEEN


def test_bars_say_what_they_are() -> None:
    """The text that a pointer shows has time and both numbers; the summary the extremes."""
    chart = time_chart(timeline((1_000, 5), (2_000, 1)))

    assert chart.columns[0].text == "1\u00a0Nov\u00a02026 00:00 UTC: 1,000 allowed, 5 refused"
    assert "The busiest begins 1\u00a0Nov\u00a02026 01:00 with 2,001 decisions." in chart.summary
    assert "Most refusals: 5 from" in chart.summary


def test_dates_stand_where_days_begin() -> None:
    """At most seven labels, each at the first slot of its day; hours where there are only hours."""
    hours = time_chart(timeline(*[(1, 0)] * 24)).dates
    week = time_chart(timeline(*[(1, 0)] * 168)).dates
    month = time_chart(timeline(*[(1, 0)] * 30, step=timedelta(days=1))).dates

    assert hours == ((0.0, "00:00"), (25.0, "06:00"), (50.0, "12:00"), (75.0, "18:00"))
    assert [each.text for each in week] == [f"{day} Nov" for day in range(1, 8)]
    assert [round(each.x * 7 / 100, 3) for each in week] == [0, 1, 2, 3, 4, 5, 6]
    assert [each.text for each in month] == [
        "1 Nov",
        "6 Nov",
        "11 Nov",
        "16 Nov",
        "21 Nov",
        "26 Nov",
    ]
    assert time_chart(timeline((1, 0))).dates == ((0.0, "00:00"),)


def test_nothing_gives_an_empty_chart() -> None:
    """Without slots there are no bars and no labels."""
    chart = time_chart(timeline())

    assert chart.dates == ()
    assert chart.columns == ()
    assert chart.summary == "Decisions over time: nothing."


def test_rankings_are_shares_of_the_longest() -> None:
    """The longest bar fills the box; refused and allowed together are the bar."""
    lines = ranking_lines(
        Ranking(title="", bars=(Bar("a", 100, 25), Bar("b", 50, 0), Bar("c", 1, 1)), total=3)
    )

    assert lines == ((75.0, 25.0), (50.0, 0.0), (0.0, 1.0))
    assert ranking_lines(Ranking(title="", bars=(), total=0)) == ()


def test_parts_fill_the_whole() -> None:
    """Parts stand one after the other; a tiny one is seen, an empty one is not there."""
    parts = stretches([Part("a", 999_999, 0), Part("b", 0, 1), Part("c", 1, 2)])

    assert parts[0].x == 0.0
    assert parts[1].width == 0.0
    assert parts[2].width > 0.5
    assert parts[2].x + parts[2].width == pytest.approx(100, abs=0.01)
    assert stretches([Part("a", 0, 0)]) == ((0.0, 0.0),)
