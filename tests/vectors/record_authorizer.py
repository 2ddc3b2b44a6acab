"""Writes authorizer.json: random worlds, and what the StandardAuthorizer of each release answers.

    PYTHONPATH=tests python tests/vectors/record_authorizer.py

It needs Java and Maven; the answers come from Kafka's own classes, run by
``tests/conformance/kafka/authorizer/AuthorizerOracle.java``. The worlds are the same in each run.
"""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings

from testkit.oracle_authorizer import FORMS, AuthorizerOracle, World
from testkit.oracle_worlds import worlds

RECORDED = Path(__file__).parent / "authorizer.json"
WORLDS = 100
OPERATIONS_OF_BOTH = 14
"""3.9.1 does not know TWO_PHASE_COMMIT."""


def random_worlds() -> list[World]:
    """Return worlds that depend on nothing but the strategy."""
    made: list[World] = []

    for networks in (False, True):

        @settings(max_examples=WORLDS, derandomize=True, database=None)
        @given(
            world=worlds(
                acls_max=30, questions_max=20, operations=OPERATIONS_OF_BOTH, networks=networks
            )
        )
        def collect(world: World) -> None:
            made.append(world)

        collect()
    return made


def main() -> None:
    """Ask all releases the same."""
    oracles = [AuthorizerOracle(release) for release in FORMS]
    try:
        rows = [
            {
                "world": dict(world),
                "answers": {oracle.release: oracle.answer(world) for oracle in oracles},
            }
            for world in random_worlds()
        ]
    finally:
        for oracle in oracles:
            oracle.close()
    lines = ",\n".join(json.dumps(row) for row in rows)
    RECORDED.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
