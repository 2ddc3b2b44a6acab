"""What happens in a world."""

from __future__ import annotations

from functools import cache

import numpy as np

from doorkeeper.acls.bulk import load
from doorkeeper.acls.decision import Question, allows
from doorkeeper.acls.model import AclOperation, ResourceType
from synthetic.shape import SMALL
from synthetic.traffic import Events, World, events, world_of

DAY_MS = 86_400_000


@cache
def small() -> World:
    return world_of(SMALL)


def test_answers_match_the_evaluator() -> None:
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


def test_events_do_not_depend_on_chunks() -> None:
    """The same events come whatever the chunk, in the order of time, within the days."""
    count, chunk = 70_000, 7_000
    whole = joined(list(events(small(), count, begin_ms=5 * DAY_MS, days=2)))

    parts = list(events(small(), count, begin_ms=5 * DAY_MS, days=2, chunk=chunk))

    assert {len(each.rows) for each in parts[:-1]} <= {chunk}
    assert (joined(parts).rows == whole.rows).all()
    assert (joined(parts).at_ms == whole.at_ms).all()
    assert (np.diff(whole.at_ms) >= 0).all()
    assert whole.at_ms[0] >= 5 * DAY_MS
    assert whole.at_ms[-1] < 7 * DAY_MS


def joined(parts: list[Events]) -> Events:
    return Events(
        np.concatenate([each.rows for each in parts]),
        np.concatenate([each.at_ms for each in parts]),
    )
