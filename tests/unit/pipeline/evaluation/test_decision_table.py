"""Answers of sets of ACLs, computed once for all jobs."""

import pytest

from doorkeeper.acl.decision import Question
from doorkeeper.acl.model import ResourceType
from doorkeeper_pipeline.evaluation import decision_table
from doorkeeper_pipeline.evaluation.index import compile_index
from testkit.acl import PREFIXED, READ, allow, topic
from testkit.asked import asked_table

BINDINGS = [allow("*", READ, topic("t", PREFIXED)), allow("a", READ, topic("c"))]
QUESTIONS = [
    Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, name) for name in ("c", "t", "t2")
]


def test_answers_are_kept() -> None:
    """Each set of ACLs is asked once, and the last two are kept."""
    table = asked_table(QUESTIONS)
    first, second, third = (compile_index(BINDINGS[:count]) for count in (0, 1, 2))
    before = table.evaluate(first)

    assert table.evaluate(second).decisions.allowed.tolist() == [False, True, True]
    assert table.evaluate(first) is before
    assert table.evaluate(third).decisions.allowed.tolist() == [True, True, True]
    assert table.evaluate(first) is before
    assert table.evaluate(second).decisions.allowed.tolist() == [False, True, True]
    assert table.evaluate(third) is not before

    assert next(before.blocks()).matches is next(before.blocks()).matches


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_blocks(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table in blocks has all rows in order, and each its own matches, kept or not."""
    monkeypatch.setattr(decision_table, "BLOCK_ROWS", 2)
    monkeypatch.setattr(decision_table, "PAIRS_KEPT", kept)
    evaluated = asked_table(QUESTIONS).evaluate(compile_index(BINDINGS))

    for _ in range(2):
        first, second = evaluated.blocks()

        names = [block.rows.column("resource_name").to_pylist() for block in (first, second)]
        assert names == [["c", "t"], ["t2"]]
        assert [block.questions.size for block in (first, second)] == [2, 1]
        assert [block.decisions.bindings.tolist() for block in (first, second)] == [[1, 0], [0]]
        assert sorted(zip(*first.matches[:2], strict=True)) == [(0, 1), (1, 0)]
        assert list(zip(*second.matches[:2], strict=True)) == [(0, 0)]
    assert list(asked_table([]).evaluate(compile_index(BINDINGS)).blocks()) == []
