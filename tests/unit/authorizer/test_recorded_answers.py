"""Answers and audit lines that Kafka's own StandardAuthorizer gave, recorded."""

from __future__ import annotations

import pytest

from testkit.authorizer_oracle import FORM_OF, our_answers, read_vectors


@pytest.mark.parametrize("release", FORM_OF)
def test_our_answers_are_those_of_kafka(release: str) -> None:
    """The same verdict, and the same audit line down to the reported rule, in every world."""
    vectors = read_vectors()

    for world, answers in vectors:
        assert our_answers(world, FORM_OF[release]) == answers[release]
    assert sum(len(world.questions) for world, _ in vectors) >= 700
