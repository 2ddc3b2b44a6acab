"""Measurements, their ratios, and the goals that are judged by them."""

from __future__ import annotations

import pytest

from versus.goals import judged
from versus.page import page
from versus.table import KAFKA, OURS, Table


def test_a_number_is_the_median_of_its_rounds() -> None:
    """One slow round changes nothing."""
    row = Table().row("a", "b", 1, "us", more=False)

    for value in (1.0, 2.0, 100.0):
        row.add(OURS, value)

    assert row.of(OURS) == 2.0
    assert row.of(KAFKA) is None
    assert row.ratio() is None


@pytest.mark.parametrize(("more", "ratio"), [(True, 4.0), (False, 0.25)])
def test_a_ratio_says_how_many_times_better_ours_is(*, more: bool, ratio: float) -> None:
    """Of a rate more is better, of a time less."""
    row = Table().row("a", "b", 1, "", more=more)

    row.add(OURS, 8.0)
    row.add(KAFKA, 2.0)

    assert row.ratio() == ratio


def measured(ours: float) -> Table:
    table = Table()
    row = table.row("CreateAcls of 1", "1 connection", 10_000, "/s", more=True)
    row.add(OURS, ours)
    row.add(KAFKA, 30.0)
    return table


@pytest.mark.parametrize(("ours", "met"), [(300.0, True), (299.0, False)])
def test_a_goal_is_met_at_its_ratio(*, ours: float, met: bool) -> None:
    """And not below; goals that were not measured are not mentioned."""
    (goal,) = judged(measured(ours))

    assert goal.met is met


@pytest.mark.parametrize(("beside", "met"), [(5.5, True), (5.6, False)])
def test_patience_is_the_difference_to_being_alone(*, beside: float, met: bool) -> None:
    """In milliseconds, of ours only."""
    table = Table()
    for what, value in (("nothing", 0.5), ("full descriptions", beside)):
        name = f"p99 of a small request beside {what}"
        table.row(name, "1 x 1", 100_000, "ms", more=False).add(OURS, value)

    (goal,) = judged(table)

    assert goal.met is met


@pytest.mark.parametrize(("at_a_million", "met"), [(3.0, True), (3.1, False)])
def test_a_decision_is_flat(*, at_a_million: float, met: bool) -> None:
    """Its time at a million is compared with that at a thousand."""
    table = Table()
    for acls, value in ((1_000, 2.0), (1_000_000, at_a_million)):
        table.row("authorize(), plain", "in process", acls, "us", more=False).add(OURS, value)

    (goal,) = judged(table)

    assert goal.met is met


def test_the_page_tells_what_was_not_met_and_that_others_were_busy() -> None:
    """Its reader need not look for that."""
    text = page(measured(10.0), command="bench", loads=(3.0, 4.0), kafka="Kafka", took_s=60)

    assert "0 of 1 met" in text
    assert "**not met**" in text
    assert "| CreateAcls of 1 | 1 connection | 10,000 | /s | 10.0 | 30.0 | 0.33x |  |" in text
    assert "Others used the machine" in text
