"""Heights, widths and labels of bars."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from doorkeeper_pipeline.report.charts import (
    stretches,
    time_chart,
)
from doorkeeper_pipeline.report.model import Part, Slot, Timeline

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


def timeline(*counts: tuple[int, int], step: timedelta = timedelta(hours=1)) -> Timeline:
    slots = tuple(Slot(BEGIN + step * place, *each) for place, each in enumerate(counts))
    return Timeline(title="Decisions over time", slots=slots, slot_word="hour")


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


def test_parts_fill_the_whole() -> None:
    """Parts stand one after the other; a tiny one is seen, an empty one is not there."""
    parts = stretches([Part("a", 999_999, 0), Part("b", 0, 1), Part("c", 1, 2)])

    assert parts[0].x == 0.0
    assert parts[1].width == 0.0
    assert parts[2].width > 0.5
    assert parts[2].x + parts[2].width == pytest.approx(100, abs=0.01)
    assert stretches([Part("a", 0, 0)]) == ((0.0, 0.0),)
