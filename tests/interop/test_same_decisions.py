"""Kafka's own StandardAuthorizer and ours are asked the same, in worlds made for the occasion."""

from __future__ import annotations

import random

import pytest

from testkit.authorizer_oracle import FORM_OF, kafkas_answers, our_answers, random_world
from testkit.kafka_jars import Unavailable, cannot, jars


@pytest.mark.parametrize("release", FORM_OF)
def test_decisions_and_audit_lines_are_those_of_kafka(release: str) -> None:
    """24,000 verdicts with the rule that each is based on; another seed each run."""
    seed = random.SystemRandom().randrange(10**9)
    chance = random.Random(seed)
    worlds = [random_world(chance) for _ in range(2000)]
    try:
        kafka = jars(release)
    except Unavailable as missing:
        cannot(str(missing))

    expected = kafkas_answers(kafka, worlds)

    ours = [line for world in worlds for line in our_answers(world, FORM_OF[release])]
    assert ours == expected, f"seed {seed}"
