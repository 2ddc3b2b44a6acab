"""What happens in a world."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from doorkeeper.acl.bulk import load
from doorkeeper.acl.decision import Question, RuleKind, allows
from doorkeeper.acl.model import AclOperation, ResourceType
from doorkeeper_pipeline.worlds.shape import SMALL, Shape
from doorkeeper_pipeline.worlds.traffic import Events, World, events, world_of

DAY_MS = 86_400_000


@cache
def small() -> World:
    return world_of(SMALL)


def test_questions_are_distinct_and_as_many_as_asked_for() -> None:
    """No question stands twice, the columns are those that the log has."""
    rows = list(zip(*(each.to_pylist() for each in small().questions.columns), strict=True))

    assert len(set(rows)) == len(rows) == SMALL.questions
    assert small().questions.column_names == [
        *("principal", "host", "operation", "resource_type", "resource_name"),
        *("api", "reference_count", "allowed"),
    ]


def test_answers_are_the_engines() -> None:
    """Each question is answered as the set of ACLs answers it."""
    world = small()
    snapshot = load((str(number), each) for number, each in enumerate(world.bindings))

    for row in world.questions.to_pylist():
        question = Question(
            row["principal"],
            row["host"],
            AclOperation[row["operation"]],
            ResourceType[row["resource_type"]],
            row["resource_name"],
        )
        assert row["allowed"] is allows(world.policy, snapshot, question)


def test_all_rules_but_the_open_default_come_up() -> None:
    """ACLs that allow and that deny, the default and the super user."""
    found = {(each.rule, each.allowed) for each in small().decisions}

    assert found == {
        (RuleKind.MATCHING_ACL, True),
        (RuleKind.MATCHING_ACL, False),
        (RuleKind.DEFAULT_DENY, False),
        (RuleKind.SUPER_USER, True),
    }


def test_a_seed_gives_one_world() -> None:
    """The same shape gives the same questions and weights, another seed others."""
    again, other = world_of(SMALL), world_of(replace(SMALL, seed=2))

    assert again.questions.equals(small().questions)
    assert (again.weights == small().weights).all()
    assert not other.questions.equals(small().questions)


def test_the_tiniest_world_works() -> None:
    """One of everything is a world too."""
    world = world_of(
        Shape(principals=1, topics=1, groups=1, transactional_ids=1, acls=1, questions=1)
    )

    assert len(world.questions) == 1
    assert sum(len(each.rows) for each in events(world, 10, begin_ms=0)) == 10


@pytest.mark.parametrize("chunk", [1, 999, 70_000, 1_000_000])
def test_events_do_not_depend_on_chunks(chunk: int) -> None:
    """The same events come whatever the chunk, in the order of time, within the days."""
    count = 1_500 if chunk == 1 else 140_000
    whole = joined(list(events(small(), count, begin_ms=5 * DAY_MS, days=2)))

    parts = list(events(small(), count, begin_ms=5 * DAY_MS, days=2, chunk=chunk))

    assert {len(each.rows) for each in parts[:-1]} <= {chunk}
    assert (joined(parts).rows == whole.rows).all()
    assert (joined(parts).at_ms == whole.at_ms).all()
    assert (np.diff(whole.at_ms) >= 0).all()
    assert whole.at_ms[0] >= 5 * DAY_MS
    assert whole.at_ms[-1] < 7 * DAY_MS


def test_some_questions_come_late() -> None:
    """Those marked late are asked in the last tenth of the time only, and are asked."""
    happened = joined(list(events(small(), 200_000, begin_ms=0, days=10)))
    late = small().late[happened.rows]

    assert late.any()
    assert np.flatnonzero(late)[0] >= 0.9 * 200_000


def test_a_few_questions_make_most_events() -> None:
    """One in ten questions is more than half of what happens; days are busier than nights."""
    happened = joined(list(events(small(), 100_000, begin_ms=0, days=1)))
    counts = np.sort(np.bincount(happened.rows, minlength=SMALL.questions))[::-1]
    hours = np.bincount(happened.at_ms // 3_600_000, minlength=24)

    assert counts[: SMALL.questions // 10].sum() > 50_000
    assert hours[15] > 2 * hours[3]


def joined(parts: list[Events]) -> Events:
    return Events(
        np.concatenate([each.rows for each in parts]),
        np.concatenate([each.at_ms for each in parts]),
    )
