"""What the conformance suite shares: the oracles, one of each for a run

A release of Kafka that this machine cannot have skips what needs it, with the reason; under
CI=true it fails.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from testkit.kafka_jars import Unavailable, cannot
from testkit.oracle_authorizer import AuthorizerOracle
from testkit.oracle_codec import RELEASES, CodecOracle

FIRST_RUN_S = 900
"""The first test that needs a release of Kafka may have to fetch it."""

SLOW_S = 3600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, and give the first ones time to fetch Kafka."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.interop)
            item.add_marker(pytest.mark.xdist_group(item.path.name))
            slow = item.get_closest_marker("slow") is not None
            item.add_marker(pytest.mark.timeout(SLOW_S if slow else FIRST_RUN_S))


@pytest.fixture(scope="session")
def codec() -> Iterator[CodecOracle]:
    """Give Kafka's message classes, of all releases that are asked."""
    oracle = CodecOracle()
    try:
        for release in RELEASES:
            oracle.ask(release, [])
        yield oracle
    except Unavailable as missing:
        cannot(str(missing))
    finally:
        oracle.close()


@pytest.fixture(scope="session")
def authorizers() -> Iterator[Callable[[str], AuthorizerOracle]]:
    """Give Kafka's authorizer of a release."""
    opened: list[AuthorizerOracle] = []

    @cache
    def of(release: str) -> AuthorizerOracle:
        try:
            opened.append(AuthorizerOracle(release))
        except Unavailable as missing:
            cannot(str(missing))
        return opened[-1]

    yield of
    for each in opened:
        each.close()
