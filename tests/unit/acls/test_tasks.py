"""Tasks that need several permissions.

tests/property/acl/test_solved_answers.py compares the answers about one need with a solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.cases import Verdict
from doorkeeper.acls.decision import Policy, allows
from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.regions import Extent, single
from doorkeeper.acls.tasks import TaskNeed, task_access, task_answer
from testkit.acl import PREFIXED, READ, allow, group, topic
from testkit.acl_worlds import loaded

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

PLAIN = Policy()
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READS = TaskNeed(READ, TOPIC, Extent("pii-"))
JOINS_ONE = TaskNeed(READ, GROUP, None)


@pytest.mark.parametrize(
    ("world", "needs", "verdict"),
    [
        ([], [READS], Verdict.NEVER),
        ([allow("a", READ, topic("pii", PREFIXED))], [READS], Verdict.ALWAYS),
        ([allow("a", READ, topic("pii", PREFIXED), "10.1.0.0/16")], [READS], Verdict.SOMETIMES),
        ([allow("a", READ, topic("pii", PREFIXED), "10.0.0.0/7")], [READS], Verdict.ALWAYS),
        ([allow("a", READ, topic("*"))], [READS, JOINS_ONE], Verdict.NEVER),
        ([allow("a", READ, topic("*")), allow("a", READ, group("g"))], [READS, JOINS_ONE],
         Verdict.ALWAYS),
        # Topics from one half of the network, groups from the other: never both.
        ([allow("a", READ, topic("*"), "10.0.0.0/9"), allow("a", READ, group("g"), "10.128.0.0/9")],
         [READS, JOINS_ONE], Verdict.NEVER),
        ([allow("a", READ, topic("*"), "10.0.0.0/9"), allow("a", READ, group("g"), "10.64.0.0/10")],
         [READS, JOINS_ONE], Verdict.SOMETIMES),
    ],
)  # fmt: skip
def test_task_from_a_network(
    world: list[AclBinding], needs: list[TaskNeed], verdict: Verdict
) -> None:
    snapshot = loaded(*world).with_network_matching(enabled=True)

    assert task_answer(PLAIN, snapshot, "User:a", "10.0.0.0/8", needs).verdict is verdict
    found = {each.principal: each for each in task_access(PLAIN, snapshot, "10.0.0.0/8", needs)}
    assert (found["User:a"].verdict if "User:a" in found else Verdict.NEVER) is verdict
    for each in found.values():
        assert all(allows(PLAIN, snapshot, question) for question in each.allowed)
        assert each.denied is None or not allows(PLAIN, snapshot, each.denied)


def test_task_from_an_address() -> None:
    snapshot = loaded(allow("a", READ, topic("pii-x")), allow("a", READ, group("g"), "10.0.0.1"))
    needs = [TaskNeed(READ, TOPIC, single("pii-x")), JOINS_ONE]

    assert task_answer(PLAIN, snapshot, "User:a", "10.0.0.1", needs).verdict is Verdict.ALWAYS
    assert task_answer(PLAIN, snapshot, "User:a", "10.0.0.2", needs).verdict is Verdict.NEVER
    assert task_access(PLAIN, snapshot, "10.0.0.2", needs) == []
