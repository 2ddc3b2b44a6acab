"""Our rules for Kerberos names against Kafka's KerberosShortNamer, on random rules and names."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from hypothesis import given, settings

from testkit.kafka_jars import Unavailable, cannot
from testkit.oracle_rules import Question, RulesOracle, our_answer, questions
from testkit.oracle_totals import Totals

REFUSED = "a pattern in a rule for Kerberos names that we do not take"
"""What cannot be translated exactly stops our start; docs/reference/security.md says so."""

Oracle = Callable[[], RulesOracle]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """Give Kafka's class, in a JVM that starts with the first question."""
    opened: list[RulesOracle] = []

    @cache
    def started() -> RulesOracle:
        try:
            opened.append(RulesOracle())
        except Unavailable as missing:
            cannot(str(missing))
        return opened[-1]

    yield started
    for each in opened:
        each.close()


def agree(oracle: RulesOracle, totals: Totals, question: Question) -> None:
    """Ask both; fail when they differ."""
    ours = dict(our_answer(question))
    kafka = oracle.answer(question)
    if ours.pop("pattern", False) and "refused" not in kafka:
        totals.accepted[REFUSED] += 1
        return
    names = kafka.get("names", ())
    totals.compared["lists of rules for Kerberos names"] += 1
    totals.compared["Kerberos names that are refused"] += sum(name is None for name in names)
    totals.compared["Kerberos names that give a user's name"] += sum(
        name is not None for name in names
    )
    assert ours == kafka, f"{question}\nKafka: {kafka}\nours:  {ours}"


@settings(max_examples=1000)
@given(question=questions())
def test_random_rules(oracle: Oracle, totals: Totals, question: Question) -> None:
    """Random lists of rules give random names the same users, and are refused alike."""
    agree(oracle(), totals, question)
