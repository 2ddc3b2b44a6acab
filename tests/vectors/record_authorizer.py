"""Writes authorizer.json: random worlds, and what the StandardAuthorizer of two releases answers.

    PYTHONPATH=tests python tests/vectors/record_authorizer.py

It needs Java and Maven; the answers come from Kafka's own classes, run by
``tests/interop/kafka/AuthorizerOracle.java``. Audit lines stand before the answers they belong to.
"""

from __future__ import annotations

import random

from testkit.authorizer_oracle import FORM_OF, kafkas_answers, random_world, write_vectors
from testkit.kafka_jars import jars

SEED = 431
WORLDS = 60


def main() -> None:
    """Ask both releases the same, each world in a run of its own, so that answers cannot slip."""
    chance = random.Random(SEED)
    worlds = [random_world(chance) for _ in range(WORLDS)]
    answers = {
        release: [kafkas_answers(jars(release), [world]) for world in worlds] for release in FORM_OF
    }
    write_vectors(worlds, answers)


if __name__ == "__main__":
    main()
