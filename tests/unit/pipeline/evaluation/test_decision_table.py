"""Answers of sets of ACLs, computed once for all jobs."""

import pytest

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import ResourceType
from doorkeeper_pipeline.evaluation import decision_table
from doorkeeper_pipeline.evaluation.index import compile_index
from testkit.acl import PREFIXED, READ, allow, topic
from testkit.asked import asked_table

BINDINGS = [allow("*", READ, topic("t", PREFIXED)), allow("a", READ, topic("c"))]
QUESTIONS = [
    Question("User:a", "10.0.0.1", READ, ResourceType.TOPIC, name) for name in ("c", "t", "t2")
]


@pytest.mark.parametrize("kept", [0, 100])
def test_decision_table_in_blocks(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_table, "BLOCK_ROWS", 2)
    monkeypatch.setattr(decision_table, "PAIRS_KEPT", kept)
    evaluated = asked_table(QUESTIONS).evaluate(compile_index(BINDINGS))

    for _ in range(2):
        first, second = evaluated.blocks()

        names = [block.rows["resource_name"].to_list() for block in (first, second)]
        assert names == [["c", "t"], ["t2"]]
        assert [block.questions.size for block in (first, second)] == [2, 1]
        assert [block.decisions.bindings.tolist() for block in (first, second)] == [[1, 0], [0]]
        assert sorted(zip(*first.matches[:2], strict=True)) == [(0, 1), (1, 0)]
        assert list(zip(*second.matches[:2], strict=True)) == [(0, 0)]
    assert list(asked_table([]).evaluate(compile_index(BINDINGS)).blocks()) == []
