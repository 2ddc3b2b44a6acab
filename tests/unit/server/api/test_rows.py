"""Rows that are kept encoded, against answers that are made anew."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.bulk import load
from doorkeeper.acls.model import (
    ANY_BINDING,
    AclBindingFilter,
    AclOperation,
    PatternType,
    ResourceType,
)
from doorkeeper.acls.search import find
from doorkeeper.acls.snapshot import EMPTY, Snapshot
from doorkeeper.base.slices import SLICE_ITEMS, run_to_end
from doorkeeper.server.api.acl_rows import (
    KEPT_BYTES_MAX,
    KEPT_MAX,
    AclRows,
    Description,
    ShortAnswer,
)
from doorkeeper.server.api.codes import resource_rows
from doorkeeper_wire.errors import Unencodable
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.acl import DESCRIBE, LITERAL, PREFIXED, READ, WRITE, allow, deny, group, topic, wanted

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.base.slices import Slices

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
    resources = resource_rows(find(snapshot, asked))
    return DescribeAclsResponse(error_message="", resources=resources).encode(version)


class CachedRows:
    """Rows of a state that a test changes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.rows = AclRows(lambda: self.snapshot)

    def agrees(self, asked: AclBindingFilter = ANY_BINDING, version: int = 3) -> bool:
        answer = self.rows.answer(asked, version)
        assert answer is not None
        return answer.encode(version) == anew(self.snapshot, asked, version)

    def long(self, asked: AclBindingFilter = ANY_BINDING) -> Description:
        """Return the description of what a filter selects, which is long."""
        answer = self.rows.answer(asked, 3)
        assert isinstance(answer, Description)
        return answer


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("resource_type", [ResourceType.ANY, ResourceType.TOPIC, ResourceType.USER])
@pytest.mark.parametrize(
    "pattern_type", [PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED]
)
def test_cached_rows_give_the_same_response(
    version: int, resource_type: ResourceType, pattern_type: PatternType
) -> None:
    """In both layouts; version 0, whose rows have no pattern type, describes literals only."""
    kept = CachedRows(load(numbered(WORLD)))

    assert kept.agrees(wanted(resource_type, None, pattern_type), version)
    assert kept.agrees(wanted(pattern_type=LITERAL), 0)


def test_unknown_type_goes_to_the_authorizer() -> None:
    rows = CachedRows(load(numbered(WORLD))).rows

    assert rows.answer(wanted(ResourceType.UNKNOWN), 3) is None
    assert rows.answer(wanted(pattern_type=PatternType.UNKNOWN), 3) is None


def test_plug_in_has_no_cached_rows() -> None:
    assert AclRows(lambda: None).answer(ANY_BINDING, 3) is None


SHORT = [
    wanted(name="b"),
    wanted(name="b", pattern_type=PatternType.MATCH),
    wanted(principal="User:alice"),
    wanted(principal="User:nobody"),
    wanted(operation=AclOperation.UNKNOWN),
    ANY_BINDING,
]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("asked", SHORT)
def test_short_answer_is_kept_while_no_acl_changes(asked: AclBindingFilter, version: int) -> None:
    kept = CachedRows(load(numbered(WORLD)))
    first = kept.rows.answer(asked, version)

    assert isinstance(first, ShortAnswer)
    assert kept.rows.answer(asked, version) is first
    assert kept.agrees(asked, version)
    kept.snapshot = kept.snapshot.with_changes([("0" * 22, allow("alice", WRITE, topic("b")))])
    assert kept.rows.answer(asked, version) is not first
    assert kept.agrees(asked, version)


def test_kept_answers_are_bounded() -> None:
    """In number, and in what one takes: the names of a filter are a client's."""
    kept = CachedRows(load(numbered(WORLD)))
    first = kept.rows.answer(SHORT[0], 3)
    for number in range(KEPT_MAX):
        kept.rows.answer(wanted(name=f"t-{number}"), 3)
    long = wanted(principal="x" * KEPT_BYTES_MAX)

    assert kept.rows.answer(SHORT[0], 3) is not first
    assert kept.rows.answer(long, 3) is not kept.rows.answer(long, 3)


@pytest.mark.parametrize("seed", range(3))
def test_cached_rows_follow_any_changes(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("doorkeeper.server.api.acl_chunks.CHUNK", 8)
    monkeypatch.setattr("doorkeeper.acls.snapshot.STEPS_MAX", 3)
    monkeypatch.setattr("doorkeeper.acls.snapshot.PATTERNS_MAX", 40)
    chance = random.Random(seed)
    names = [f"{chance.choice('abc')}{number}" for number in range(40)]
    all_of_them = [
        allow(user, operation, topic(name, kind))
        for name in names
        for kind in (LITERAL, PREFIXED)
        for user in ("alice", "bob")
        for operation in (READ, WRITE, DESCRIBE)
    ]
    kept = CachedRows(EMPTY)
    earlier = [EMPTY]
    for step in range(100):
        some = chance.sample(all_of_them, chance.choice((1, 1, 2, 5, 60)))
        new = [(f"{step:06}{place:016}", each) for place, each in enumerate(some)]
        how = chance.random()
        if how < 0.6:
            kept.snapshot = kept.snapshot.with_changes(new)
        elif how < 0.9:
            kept.snapshot = kept.snapshot.without(some)
        else:
            kept.snapshot = chance.choice(earlier[-5:])
        earlier.append(kept.snapshot)
        if chance.random() < 0.6:
            kinds = chance.choice((PatternType.ANY, PatternType.ANY, LITERAL, PREFIXED))
            assert kept.agrees(wanted(pattern_type=kinds), chance.choice((1, 2, 3)))


def many(count: int, user: str = "alice") -> list[AclBinding]:
    """Return an ACL on each of so many topics."""
    return [allow(user, READ, topic(f"t-{number:05}")) for number in range(count)]


def test_few_acls_are_described_immediately() -> None:
    few, one_topic, all_topics = (
        CachedRows(load(numbered(bindings))).rows.answer(ANY_BINDING, 3)
        for bindings in (
            many(SLICE_ITEMS),
            [allow(f"user-{number}", READ, topic("t")) for number in range(SLICE_ITEMS + 1)],
            many(SLICE_ITEMS + 1),
        )
    )

    assert isinstance(few, ShortAnswer)
    assert isinstance(one_topic, Description)
    assert isinstance(all_topics, Description)


def test_long_description_is_sliced() -> None:
    kept = CachedRows(load(numbered(many(40 * SLICE_ITEMS))))
    answer = kept.long()

    assert sum(1 for _ in answer.chunks(3)) > 2 * 40


def test_description_is_of_one_state() -> None:
    chance = random.Random(1)
    world = many(30 * SLICE_ITEMS)
    kept = CachedRows(load(numbered(world)))
    before = anew(kept.snapshot, ANY_BINDING, 3)
    answer = kept.long()
    pieces = answer.chunks(3)

    for step in range(60):
        next(pieces)
        kept.snapshot = kept.snapshot.without(chance.sample(world, 3))
        kept.snapshot = kept.snapshot.with_changes(
            [(f"{step:022}", chance.choice(many(500, "bob")))]
        )
        if step % 15 == 0:
            assert kept.agrees()

    assert run_to_end(pieces) == before
    assert kept.agrees()


def test_oversized_row_fails_alone() -> None:
    """A name of 40,000 bytes has no place in an answer: not in the second one either."""
    too_long = allow("alice", READ, topic("x" * 40_000))
    kept = CachedRows(load(numbered([*many(3), too_long])))
    for _ in range(2):
        with pytest.raises(Unencodable):
            kept.rows.answer(ANY_BINDING, 3)

    kept.snapshot = kept.snapshot.without([too_long])
    assert kept.agrees()


@pytest.mark.parametrize("version", [0, 3])
def test_row_with_many_acls(version: int) -> None:
    users = [allow(f"user-{number % 500}", READ, topic("t"), str(number)) for number in range(3000)]
    kept = CachedRows(load(numbered([*users, *many(3)])))

    assert kept.agrees(wanted(pattern_type=LITERAL), version)


@pytest.mark.parametrize(
    "asked",
    [
        wanted(name="t"),
        wanted(ResourceType.TOPIC, "t", LITERAL),
        wanted(name="to", pattern_type=PREFIXED),
        wanted(ResourceType.TOPIC, "topic", PatternType.MATCH),
        wanted(name="t", host="1"),
    ],
)
def test_pattern_with_many_acls_is_sliced(asked: AclBindingFilter) -> None:
    users = [allow(f"user-{number}", READ, topic("t"), str(number)) for number in range(3000)]
    others = [allow(f"user-{number}", WRITE, topic("to", PREFIXED)) for number in range(500)]
    kept = CachedRows(load(numbered([*users, *others, *many(3), *WORLD])))

    assert kept.agrees(asked)
    assert len(list(kept.long(asked).chunks(3))) > 500 / SLICE_ITEMS


def steps_of(work: Slices[bytearray]) -> int:
    steps = 0
    for _ in work:
        steps += 1
    return steps


def described_all(kept: CachedRows) -> Slices[bytearray]:
    return kept.long().chunks(3)


def test_abandoned_build_is_resumed() -> None:
    kept = CachedRows(load(numbered(many(2_000, "alice"))))
    whole = steps_of(described_all(CachedRows(kept.snapshot)))
    begun = described_all(kept)
    for _ in range(whole // 2):
        next(begun)
    begun.close()

    assert steps_of(described_all(kept)) <= whole - whole // 2 + 1
    assert kept.agrees()


def test_concurrent_descriptions_share_a_build() -> None:
    kept = CachedRows(load(numbered(many(2_000, "alice"))))
    whole = steps_of(described_all(CachedRows(kept.snapshot)))
    bodies: list[bytes] = []
    running = [described_all(kept), described_all(kept)]
    steps = 0
    while running:
        for each in [*running]:
            steps += 1
            try:
                next(each)
            except StopIteration as end:
                bodies.append(end.value)
                running.remove(each)

    assert bodies == [anew(kept.snapshot, ANY_BINDING, 3)] * 2
    assert steps < whole + 20
