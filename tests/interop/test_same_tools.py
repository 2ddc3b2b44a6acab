"""Kafka's tools and administrators' clients are told the same by a broker and by us.

What is asked, and the outcome, is in ``tests/interop/tools``, and on ``docs/tools-and-clients.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit import tool_cases
from testkit.kafka_jars import TOOLS, VERSIONS, Unavailable, cannot, tool_jars
from testkit.kafka_tools import KafkaTools
from testkit.pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from testkit.oracle_totals import Totals


@pytest.fixture
def own_pair(totals: Totals) -> Iterator[Pair]:
    """Give a broker and a Doorkeeper of the test's own: what one release did, others trip over."""
    try:
        running = Pair.start(totals)
    except Unavailable as missing:
        cannot(str(missing))
    yield running
    running.close()


@pytest.fixture(
    params=[
        release if release == VERSIONS[0] else pytest.param(release, marks=pytest.mark.slow)
        for release in TOOLS
    ]
)
def release_tools(request: pytest.FixtureRequest) -> Iterator[KafkaTools]:
    """Give the tools of each release in turn."""
    try:
        tools = KafkaTools(tool_jars(request.param))
    except Unavailable as missing:
        cannot(str(missing))
    yield tools
    tools.close()


def test_tools(release_tools: KafkaTools, own_pair: Pair, totals: Totals, tmp_path: Path) -> None:
    """Each line has the outcome that the page tells: same text and exit status, or a difference."""
    own_pair.clear()
    wrong = []
    for line in tool_cases.lines():
        expected = line.outcomes.get(release_tools.version)
        if expected is None:
            continue
        outcome, unequal = tool_cases.run_both(release_tools, own_pair, line, tmp_path)
        totals.compared[f"commands of Kafka's tools {release_tools.version}"] += 1
        if outcome != tool_cases.kind(expected):
            wrong += [f"{line.tool} {line.user} {line.words}: {outcome}, not {expected}", *unequal]
    assert not wrong, "\n".join(wrong)
