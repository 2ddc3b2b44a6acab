"""Our authorizer against Kafka's StandardAuthorizer, in random worlds.

Compared are the decision, the authorizer log line with its level and rule, the host in Java's form,
authorizeByResourceType, what filters find, and what is refused, with its text.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from testkit import java_lines
from testkit.kafka_jars import PROJECT
from testkit.oracle_authorizer import (
    ACCEPTED,
    FORMS,
    AuthorizerOracle,
    World,
    compared,
    matched_by_networks,
)
from testkit.oracle_totals import Totals
from testkit.oracle_worlds import kafka_is_lost, worlds

CASES = Path(__file__).parent / "cases"
"""Worlds that once made a difference, one a file."""

FOUND = CASES / "difference.json"
"""Where a world is written in which the two differ: the last one, which is the smallest."""

NEWER, REFERENCE, OLDER = FORMS
OPERATIONS_OF_OLDER = 14
"""3.9.1 does not know TWO_PHASE_COMMIT."""

NO_ANSWER = "a name that sorts before *, where Kafka never answers"
NO_RESULT = "a name that sorts before *, where Kafka fails"

Authorizers = Callable[[str], AuthorizerOracle]


def agree(oracle: AuthorizerOracle, totals: Totals, world: World) -> list[str]:
    """Ask both; fail when they differ, and keep the world. Return the accepted differences."""
    found = compared(world, oracle.answer(world), oracle.our_answer(world))
    of = f"of {oracle.release}"
    totals.compared[f"worlds of ACLs {of}"] += 1
    totals.compared[f"decisions, with their authorizer log lines {of}"] += len(world["questions"])
    totals.compared[f"answers by resource type {of}"] += len(world["by_type"])
    totals.compared[f"filters {of}"] += len(world["filters"])
    totals.accepted.update(found.accepted)
    if found.different:
        FOUND.write_text(json.dumps(dict(world), indent=1) + "\n")
    assert not found.different, "\n".join(found.different[:3])
    return found.accepted


def agree_about_networks(oracle: AuthorizerOracle, totals: Totals, world: World) -> None:
    """Do the same, and count the decisions in which a network matches."""
    agree(oracle, totals, world)
    totals.compared[f"decisions by networks of {oracle.release}"] += matched_by_networks(world)


@settings(max_examples=1000)
@given(world=worlds(acls_max=30, questions_max=20))
def test_random_worlds(authorizers: Authorizers, totals: Totals, world: World) -> None:
    """In a world of some ACLs both answer the same."""
    agree(authorizers(REFERENCE), totals, world)


@settings(max_examples=250)
@given(world=worlds(acls_max=30, questions_max=20, operations=OPERATIONS_OF_OLDER))
def test_random_worlds_of_kafka_3_9(authorizers: Authorizers, totals: Totals, world: World) -> None:
    """The authorizer of 3.9.1 answers the same, with round brackets in its authorizer log line."""
    agree(authorizers(OLDER), totals, world)


@settings(max_examples=500)
@given(world=worlds(acls_max=30, questions_max=20, networks=True))
def test_random_worlds_with_networks(
    authorizers: Authorizers, totals: Totals, world: World
) -> None:
    agree_about_networks(authorizers(NEWER), totals, world)


@pytest.mark.slow
@settings(max_examples=2600)
@given(world=worlds(acls_max=60, questions_max=400, networks=True))
def test_a_million_decisions_with_networks(
    authorizers: Authorizers, totals: Totals, world: World
) -> None:
    agree_about_networks(authorizers(NEWER), totals, world)


@pytest.mark.slow
@settings(max_examples=2600)
@given(world=worlds(acls_max=60, questions_max=400))
def test_a_million_decisions(authorizers: Authorizers, totals: Totals, world: World) -> None:
    """As the short form, with more ACLs and a million questions."""
    agree(authorizers(REFERENCE), totals, world)


@pytest.mark.parametrize("case", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
@pytest.mark.parametrize("release", FORMS)
def test_former_differences_stay_fixed(
    authorizers: Authorizers, totals: Totals, release: str, case: Path
) -> None:
    agree(authorizers(release), totals, json.loads(case.read_text()))


def test_accepted_differences_are_needed(authorizers: Authorizers, totals: Totals) -> None:
    """Each accepted difference occurs in the kept cases."""
    needed = [
        name
        for case in sorted(CASES.glob("*.json"))
        for name in agree(authorizers(REFERENCE), totals, json.loads(case.read_text()))
    ]

    assert set(needed) == set(ACCEPTED)


def test_accepted_differences_are_documented() -> None:
    """docs/reference/compatibility.md names each accepted difference."""
    text = (PROJECT / "docs" / "reference" / "compatibility.md").read_text()

    assert [name for name in (*ACCEPTED, NO_ANSWER, NO_RESULT) if f"`{name}`" not in text] == []


def world_of(name: str, *stored: str) -> dict[str, Any]:
    """Return a world with ALLOW READ on literal names, and a question about a group."""
    return {
        "configs": {},
        "acls": [[3, each, 3, "User:a", "*", 3, 3] for each in stored],
        "added": [],
        "removed": [],
        "questions": [["User", "a", "10.0.0.1", 3, 3, name, 3, 15, 1, True, True]],
        "by_type": [],
        "filters": [],
    }


@pytest.mark.parametrize("release", FORMS)
def test_kafka_fails_for_a_name_before_the_wildcard(
    authorizers: Authorizers, totals: Totals, release: str
) -> None:
    """For the group "#ab" beside an ACL on "#abc" a broker fails; we deny."""
    world = world_of("#ab", "#abc")
    oracle = authorizers(release)

    assert kafka_is_lost(world["acls"], world["questions"][0])
    assert "refused" in oracle.answer(world)["questions"][0]
    assert oracle.our_answer(world)["questions"][0][0] == "DENIED"
    totals.accepted[NO_RESULT] += 1


@pytest.mark.parametrize("release", FORMS)
def test_kafka_never_answers_for_a_name_before_the_wildcard(
    monkeypatch: pytest.MonkeyPatch, totals: Totals, authorizers: Authorizers, release: str
) -> None:
    """For the group "#" beside an ACL on "#a" a broker's thread runs for ever; we deny."""
    world = world_of("#", "#a")
    oracle = authorizers(release)
    assert oracle.answer(world | {"acls": []})["count"] == 0
    monkeypatch.setattr(java_lines, "ANSWER_S", 3)

    with pytest.raises(TimeoutError):
        oracle.answer(world)

    assert kafka_is_lost(world["acls"], world["questions"][0])
    assert oracle.our_answer(world)["questions"][0][0] == "DENIED"
    totals.accepted[NO_ANSWER] += 1
