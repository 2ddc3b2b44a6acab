"""Frame by frame the same as a real broker: each request of ``frame_cases`` goes to both.

What must differ is put aside before the comparison: names that servers make up (cluster, topic
ids), addresses, and the description of a connection inside a refusal. Sets are sorted, because a
broker answers them in hash order.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testkit.frame_cases import SCENARIOS, Scenario
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import Target, kafka_target
from testkit.side import OFFSETS, OFFSETS_DECLARED, Side

DESCRIPTION = re.compile(r"Request\(.*\)", re.DOTALL)

MADE_UP = {
    "cluster_id": "<cluster>",
    "host": "<host>",
    "port": "<port>",
    "finalized_features_epoch": "<epoch>",
    "api_keys": "<keys>",
    "supported_features": "<features>",
    "finalized_features": "<features>",
}

SETS = (
    "resources",
    "acls",
    "matching_acls",
    "brokers",
    "groups",
    "configs",
    "synonyms",
    "topics",
    "responses",
)
"""Fields whose order a broker leaves open."""


def normal(value: Any, name: str = "") -> Any:
    """Return the value without what servers make up, sets in one order."""
    if isinstance(value, dict):
        return {key: MADE_UP.get(key, normal(part, key)) for key, part in value.items()}
    if isinstance(value, list):
        parts = [normal(part) for part in value if not of_offsets(part)]
        return sorted(parts, key=repr) if name in SETS else parts
    if isinstance(value, str):
        return DESCRIPTION.sub("Request(...)", value)
    if name == "topic_id" and isinstance(value, bytes):
        return "<none>" if value == bytes(16) else "<id>"
    return value


def unequal(path: str, expected: Any, found: Any) -> list[str]:
    """Return a line for each place where the two differ."""
    if expected == found:
        return []
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        return [
            line
            for key, part in expected.items()
            for line in unequal(f"{path}.{key}", part, found[key])
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line
            for number, part in enumerate(expected)
            for line in unequal(f"{path}[{number}]", part, found[number])
        ]
    return [f"  {path}: kafka has {expected}", f"  {path}: we have  {found}"]


def of_offsets(part: Any) -> bool:
    """Say whether this is the row of a broker's own topic, which we have no use for."""
    return isinstance(part, dict) and part.get("name") == OFFSETS


@pytest.fixture(scope="module")
def reference() -> Iterator[Side]:
    """Give a real broker."""
    try:
        running = kafka_target()
    except Unavailable as missing:
        cannot(str(missing))
    side = Side(running)
    side.coordinator()
    yield side
    side.close()
    running.close()


@pytest.fixture(scope="module")
def ours(start_target: Callable[..., Target]) -> Iterator[Side]:
    """Give a server of the kind under test, with no topic but those of the scenarios."""
    running = start_target(OFFSETS_DECLARED)
    side = Side(running)
    side.coordinator()
    yield side
    side.close()
    running.close()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[s.name for s in SCENARIOS])
def test_scenario(scenario: Scenario, reference: Side, ours: Side) -> None:
    """Every answer of the scenario equals the broker's."""
    differences = []
    for side in (reference, ours):
        side.clear()
        if scenario.topics:
            side.make(scenario.topics)
    for number, step in enumerate(scenario.steps):
        expected, found = normal(reference.ask(step)), normal(ours.ask(step))
        if expected != found:
            differences.append(f"step {number}, {step.user}, v{step.version} {step.request}")
            differences += unequal("", expected, found)
    assert not differences, "\n".join(differences)
