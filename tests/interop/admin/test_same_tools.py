"""Kafka's tools and administrators' clients are told the same by a broker and by us.

What is asked, and the outcome, is in ``tests/interop/tools``, and on
``docs/reference/tools-and-clients.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit import client_cases, tool_cases
from testkit.client_programs import PROGRAMS
from testkit.kafka_jars import TOOLS, VERSIONS, tool_jars
from testkit.kafka_tools import KafkaTools
from testkit.or_skip import or_skip
from testkit.pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from testkit.client_cases import ClientCalls
    from testkit.oracle_totals import Totals


@pytest.fixture
def own_pair(totals: Totals) -> Iterator[Pair]:
    """Give a broker and a Doorkeeper of the test's own: what one release did, others trip over."""
    running = or_skip(lambda: Pair.start(totals))
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
    tools = or_skip(lambda: KafkaTools(tool_jars(request.param)))
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


QUICK = "java-admin"
"""The program that runs in the quick suite."""


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(each, id=each.program, marks=() if each.program == QUICK else pytest.mark.slow)
        for each in client_cases.clients()
    ],
)
def test_clients(client: ClientCalls, own_pair: Pair, totals: Totals) -> None:
    """Each method is called, and each call has the outcome that the page tells."""
    command = or_skip(PROGRAMS[client.program])
    own_pair.clear()
    addresses = (own_pair.reference.target.plain, own_pair.ours.target.plain)

    (theirs, ours), not_called = client_cases.run_programs(command, addresses)

    assert not_called == set(client.not_called)
    assert [call.name for call in theirs] == [call.name for call in ours] == list(client.outcomes)
    wrong = []
    for reference, found in zip(theirs, ours, strict=True):
        outcome, unequal = client_cases.compared(reference, found)
        totals.compared[f"calls of {client.name} {client.release}"] += 1
        expected = client.outcomes[found.name]
        if outcome != tool_cases.kind(expected):
            wrong += [f"{found.name}: {outcome}, not {expected}", *unequal]
    assert not wrong, "\n".join(wrong)
