"""Frame by frame the same as a real broker: each request of ``frame_cases`` goes to both."""

import pytest

from testkit.frame_cases import SCENARIOS, Scenario
from testkit.pairs import Pair


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])
def test_scenario(scenario: Scenario, pair: Pair) -> None:
    """Every answer of the scenario equals the broker's."""
    pair.clear(scenario.topics)

    differences = [line for step in scenario.steps for line in pair.differences(step)]

    assert not differences, "\n".join(differences)
