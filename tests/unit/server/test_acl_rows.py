"""Rows that are kept encoded, against answers that are made anew."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.bulk import load
from doorkeeper.acl.model import (
    ANY_BINDING,
    AclBindingFilter,
    AclOperation,
    PatternType,
    ResourceType,
)
from doorkeeper.acl.search import find
from doorkeeper.acl.snapshot import EMPTY, Snapshot
from doorkeeper.acl_rows import AclRows
from doorkeeper.codes import described
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import DESCRIBE, LITERAL, PREFIXED, READ, WRITE, allow, deny, group, topic, wanted

if TYPE_CHECKING:
    from doorkeeper.acl.model import AclBinding

WORLD = [
    allow("alice", READ, topic("b")),
    allow("bob", WRITE, topic("b")),
    allow("alice", READ, topic("b", PREFIXED)),
    deny("alice", READ, topic("a", PREFIXED)),
    allow("alice", READ, topic("c")),
    allow("alice", READ, group("*")),
    allow("alice", READ, group("ü", PREFIXED), host="10.0.0.1"),
]


def numbered(bindings: list[AclBinding]) -> list[tuple[str, AclBinding]]:
    return [(f"{number:022}", binding) for number, binding in enumerate(bindings)]


def anew(snapshot: Snapshot, asked: AclBindingFilter, version: int) -> bytes:
    """Return the answer as it is made without anything that is kept."""
    resources = described(find(snapshot, asked))
    return DescribeAclsResponse(error_message="", resources=resources).encode(version)


class Kept:
    """Rows of a state that a test changes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.rows = AclRows(lambda: self.snapshot)

    def agrees(self, asked: AclBindingFilter = ANY_BINDING, version: int = 3) -> bool:
        answer = self.rows.description(asked)
        assert answer is not None
        return answer.encode(version) == anew(self.snapshot, asked, version)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("resource_type", [ResourceType.ANY, ResourceType.TOPIC, ResourceType.USER])
@pytest.mark.parametrize(
    "pattern_type", [PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED]
)
def test_a_description_is_what_it_would_be_without(
    version: int, resource_type: ResourceType, pattern_type: PatternType
) -> None:
    """In all layouts, of all types and of one, of all patterns and of one kind."""
    kept = Kept(load(numbered(WORLD)))

    assert kept.agrees(wanted(resource_type, None, pattern_type), version)


def test_version_0_knows_literals() -> None:
    """Its rows have no pattern type."""
    kept = Kept(load(numbered(WORLD)))

    assert kept.agrees(wanted(pattern_type=LITERAL), 0)


def test_nothing_is_an_answer() -> None:
    """Of an empty store, and of one that was emptied."""
    kept = Kept(EMPTY)
    assert kept.agrees()

    kept.snapshot = load(numbered(WORLD))
    assert kept.agrees()
    kept.snapshot = kept.snapshot.without(WORLD)
    assert kept.agrees()
    kept.snapshot = load(numbered(WORLD[:1]))
    assert kept.agrees()


@pytest.mark.parametrize(
    "asked",
    [
        wanted(name="b"),
        wanted(principal="User:alice"),
        wanted(host="*"),
        wanted(operation=READ),
        wanted(ResourceType.UNKNOWN),
        wanted(pattern_type=PatternType.UNKNOWN),
        wanted(operation=AclOperation.UNKNOWN),
    ],
)
def test_other_questions_are_for_the_authorizer(asked: AclBindingFilter) -> None:
    """Whoever asks for single ACLs, or with what nobody knows."""
    assert Kept(load(numbered(WORLD))).rows.description(asked) is None


def test_a_plug_in_has_no_rows() -> None:
    """Its ACLs are its own."""
    assert AclRows(lambda: None).description(ANY_BINDING) is None


def test_two_versions_are_kept_apart() -> None:
    """One after the other, on the same state."""
    kept = Kept(load(numbered(WORLD)))

    assert [kept.agrees(version=version) for version in (3, 1, 2, 1, 3)] == [True] * 5


def test_an_older_state_may_be_asked_for_again() -> None:
    """A change that failed brings back what was before."""
    kept = Kept(load(numbered(WORLD)))
    before = kept.snapshot
    assert kept.agrees()

    kept.snapshot = before.without(WORLD[:1])
    assert kept.agrees()
    kept.snapshot = before
    assert kept.agrees()


@pytest.mark.parametrize("seed", range(6))
def test_any_changes_lead_to_the_right_rows(seed: int) -> None:
    """Few of them and many, so that rows move singly and all together."""
    chance = random.Random(seed)
    names = [f"{chance.choice('abc')}{number}" for number in range(40)]
    all_of_them = [
        allow(user, operation, topic(name, kind))
        for name in names
        for kind in (LITERAL, PREFIXED)
        for user in ("alice", "bob")
        for operation in (READ, WRITE, DESCRIBE)
    ]
    kept = Kept(EMPTY)
    for step in range(60):
        some = chance.sample(all_of_them, chance.choice((1, 1, 2, 5, 60)))
        if chance.random() < 0.6:
            new = [(f"{step:06}{place:016}", each) for place, each in enumerate(some)]
            kept.snapshot = kept.snapshot.with_added(new)
        else:
            kept.snapshot = kept.snapshot.without(some)
        if chance.random() < 0.8:
            assert kept.agrees(version=chance.choice((1, 3)))
