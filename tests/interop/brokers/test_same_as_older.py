"""Versions that Kafka 4.0 removed are answered as a broker 3.9.1 answers them."""

from collections.abc import Iterator

import pytest

from testkit.accepted import ACCEPTED, OLDER_ACCEPTED, Accepted
from testkit.frame_steps import Scenario
from testkit.older_frame_cases import OLDER
from testkit.or_skip import or_skip
from testkit.oracle_totals import Totals
from testkit.pairs import Pair


@pytest.fixture(scope="module")
def older(totals: Totals) -> Iterator[Pair]:
    """Give a broker 3.9.1 and a Doorkeeper."""
    running = or_skip(lambda: Pair.start(totals, "3.9.1"))
    yield running
    running.close()


@pytest.mark.parametrize("scenario", OLDER, ids=[s.name for s in OLDER])
def test_scenario(scenario: Scenario, older: Pair) -> None:
    """Every answer of the scenario equals the broker's."""
    older.clear(scenario.topics)

    differences = [line for step in scenario.steps for line in older.differences(step)]

    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("row", OLDER_ACCEPTED, ids=[row.name for row in OLDER_ACCEPTED])
def test_accepted_differences_are_needed(row: Accepted, older: Pair) -> None:
    older.clear()

    assert older.differences(row.witness, ACCEPTED)
    assert not older.differences(row.witness, (*ACCEPTED, row))
