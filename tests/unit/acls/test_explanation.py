"""Why a question is answered as it is."""

from __future__ import annotations

import string
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from doorkeeper.acls.decision import Policy, Question, RuleKind, allows, explain
from doorkeeper.acls.explanation import (
    Bearing,
    Flip,
    apply_change,
    explanation,
    split_size,
)
from doorkeeper.acls.model import ANY_HOST, ResourceType
from testkit import acl_worlds
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, group, topic
from testkit.acl_worlds import loaded

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

PLAIN = Policy()


def asked(principal: str = "User:a", host: str = "10.0.0.1") -> Question:
    return Question(principal, host, DESCRIBE, ResourceType.TOPIC, "orders")


def test_explanation_lists_all_covering_bindings() -> None:
    """Each says what it has to say; those about other resources are not there."""
    world = [
        allow("a", READ, topic("ord", PREFIXED)),
        allow("a", DESCRIBE, topic("*"), "10.0.0.2"),
        allow("b", DESCRIBE, topic("orders")),
        deny("User:*", WRITE, topic("orders")),
        allow("a", DESCRIBE, topic("orders")),
    ]

    found = explanation(PLAIN, loaded(*world, allow("a", READ, group("orders"))), asked())

    assert found.decision == replace(
        explain(PLAIN, loaded(*world), asked()), binding_id=found.decision.binding_id
    )
    assert {each.binding: each.bearing for each in found.considered} == dict(
        zip(
            world,
            (
                Bearing.IMPLIES,
                Bearing.OTHER_HOST,
                Bearing.OTHER_PRINCIPAL,
                Bearing.OTHER_OPERATION,
                Bearing.ALLOWS,
            ),
            strict=True,
        )
    )


def test_explanation_shows_how_to_reverse_a_decision() -> None:
    one, other = allow("a", READ, topic("ord", PREFIXED)), allow("a", DESCRIBE, topic("*"))
    against = deny("a", DESCRIBE, topic("*"))
    narrow = {kind: kind("a", DESCRIBE, topic("orders"), "10.0.0.1") for kind in (allow, deny)}

    def flip(*world: AclBinding) -> Flip:
        return explanation(PLAIN, loaded(*world), asked()).flip

    assert flip() == Flip(added=(narrow[allow],))
    assert flip(one) == Flip(removed=(one,))
    assert flip(one, other) == Flip(added=(narrow[deny],))
    assert flip(one, against) == Flip(removed=(against,))
    assert flip(against) == Flip(added=(narrow[allow],), removed=(against,))


def test_any_host_matches_only_wildcard_acls() -> None:
    world = loaded(allow("a", READ, topic("orders"), "10.0.0.1"))

    assert not explanation(PLAIN, world, asked(host=ANY_HOST)).decision.allowed


@settings(max_examples=50)
@given(acl_worlds.policies, acl_worlds.worlds, acl_worlds.questions)
def test_reversal_is_correct_and_minimal(
    policy: Policy, world: list[AclBinding], question: Question
) -> None:
    snapshot = loaded(*world)
    before = allows(policy, snapshot, question)
    found = explanation(policy, snapshot, question)
    size = len(found.flip.added) + len(found.flip.removed)

    assert found.decision.allowed is before
    if found.decision.rule is RuleKind.SUPER_USER:
        assert size == 0
        return
    after = apply_change(snapshot, found.flip.added, found.flip.removed)
    assert allows(policy, after, question) is not before
    for fewer in range(size):
        for removed in combinations(dict.fromkeys(world), fewer):
            assert allows(policy, apply_change(snapshot, removed=removed), question) is before


LETTERS = f"{string.ascii_letters}{string.digits}._-"


@pytest.mark.parametrize(
    ("denying", "prefix"),
    [
        (deny("a", READ, topic("p-", PREFIXED)), "p-"),
        (deny("a", READ, topic("p-ab", PREFIXED)), "p-ab"),
        (deny("a", READ, topic("*")), ""),
    ],
)
def test_number_of_acls_to_replace_a_deny(denying: AclBinding, prefix: str) -> None:
    name = "p-ab"
    split = [deny("a", READ, topic(name + letter, PREFIXED)) for letter in LETTERS]
    for length in range(len(prefix), len(name)):
        shorter, letter = name[:length], name[length]
        split += [deny("a", READ, topic(shorter))] if shorter else []
        split += [
            deny("a", READ, topic(shorter + each, PREFIXED)) for each in LETTERS if each != letter
        ]
    world = loaded(allow("a", READ, topic("*")), *split)

    def may_read(topic_name: str) -> bool:
        return allows(PLAIN, world, Question("User:a", "::1", READ, ResourceType.TOPIC, topic_name))

    assert len(set(split)) == split_size(denying, name)
    names = ("p-ab", "p-", "p-a", "p-abc", "p-ac", "p-b")
    assert [each for each in names if each.startswith(prefix) and may_read(each)] == ["p-ab"]
    assert split_size(deny("a", READ, group("p-", PREFIXED)), name) is None
