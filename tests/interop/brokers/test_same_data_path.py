"""Producers, consumers and groups as beside a real broker: random requests under random ACLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.consumer_frame_cases import consumer_scenarios
from testkit.data_frame_cases import data_scenarios
from testkit.or_skip import or_skip
from testkit.pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testkit.frame_steps import Scenario
    from testkit.oracle_totals import Totals

pytestmark = pytest.mark.interop

FEW, MANY = 12, 125
"""Scenarios of each kind; the many are 5,125 exchanges."""

DATA, CONSUMERS = list(data_scenarios(MANY)), list(consumer_scenarios(MANY))


@pytest.fixture(scope="module")
def pair(totals: Totals) -> Iterator[Pair]:
    """Give a real broker, and a Doorkeeper with the test broker."""
    # The test broker computes assignments at once; a broker waits for a second between two.
    at_once = {"group_consumer_assignment_interval_ms": "0"}
    running = or_skip(lambda: Pair.start(totals, "4.3.1", doorkeeper_test_broker="true", **at_once))
    yield running
    running.close()


def differences(pair: Pair, scenario: Scenario) -> list[str]:
    pair.clear(scenario.topics)
    return [line for step in scenario.steps for line in pair.differences(step)]


@pytest.mark.parametrize("scenario", DATA[:FEW] + CONSUMERS[:FEW], ids=lambda each: each.name)
def test_scenario(scenario: Scenario, pair: Pair) -> None:
    """Every answer of the scenario equals the broker's."""
    found = differences(pair, scenario)

    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", DATA[FEW:] + CONSUMERS[FEW:], ids=lambda each: each.name)
def test_further_scenario(scenario: Scenario, pair: Pair) -> None:
    """As above, for as many as it takes to trust it."""
    found = differences(pair, scenario)

    assert not found, "\n".join(found)
