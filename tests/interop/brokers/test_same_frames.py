"""Frame by frame the same as a real broker: each request of the catalogues goes to both."""

import pytest

from testkit.admin_frame_cases import ADMIN_SCENARIOS
from testkit.credential_cases import CREDENTIAL_SCENARIOS
from testkit.data_frame_cases import empty_log_scenarios
from testkit.frame_cases import SCENARIOS
from testkit.frame_steps import Scenario
from testkit.log_frame_cases import LOG_SCENARIOS
from testkit.pairs import Pair

RANDOM = 25
"""Scenarios of random requests that the catalogues do not have."""

ALL = (
    *SCENARIOS,
    *CREDENTIAL_SCENARIOS,
    *LOG_SCENARIOS,
    *ADMIN_SCENARIOS,
    *empty_log_scenarios(RANDOM),
)


@pytest.mark.parametrize("scenario", ALL, ids=[s.name for s in ALL])
def test_scenario(scenario: Scenario, pair: Pair) -> None:
    """Every answer equals the broker's, and nothing is left that another scenario could see."""
    pair.clear(scenario.topics)
    kept = pair.kept()
    differences = [line for step in scenario.steps for line in pair.differences(step)]

    assert not differences, "\n".join(differences)
    assert pair.kept() == kept
