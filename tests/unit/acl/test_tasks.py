"""Tasks that need several permissions, and the principals that may do them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.cases import Verdict
from doorkeeper.acl.decision import Policy, allows
from doorkeeper.acl.model import ResourceType
from doorkeeper.acl.regions import Extent, single
from doorkeeper.acl.tasks import TaskNeed, task_access, task_answer
from testkit.acl import PREFIXED, READ, allow, deny, group, topic
from testkit.acl_worlds import loaded
from testkit.counted import counted_calls

if TYPE_CHECKING:
    from doorkeeper.acl.model import AclBinding

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
def test_from_a_network(world: list[AclBinding], needs: list[TaskNeed], verdict: Verdict) -> None:
    """A client does the task from one address, so the needs are met there together."""
    snapshot = loaded(*world).with_network_matching(enabled=True)

    assert task_answer(PLAIN, snapshot, "User:a", "10.0.0.0/8", needs).verdict is verdict
    found = {each.principal: each for each in task_access(PLAIN, snapshot, "10.0.0.0/8", needs)}
    assert (found["User:a"].verdict if "User:a" in found else Verdict.NEVER) is verdict
    for each in found.values():
        assert all(allows(PLAIN, snapshot, question) for question in each.allowed)
        assert each.denied is None or not allows(PLAIN, snapshot, each.denied)


def test_principals_of_a_prefix() -> None:
    """Others first; each with an example of what it may and may not."""
    snapshot = loaded(
        allow("User:*", READ, topic("pii-public")),
        deny("bad", READ, topic("pii-", PREFIXED)),
        allow("good", READ, topic("pii-", PREFIXED)),
        allow("other", READ, topic("orders")),
    )
    policy = Policy(super_users=frozenset({"User:root"}))

    found = task_access(policy, snapshot, "*", [READS])

    assert [(each.principal, each.verdict) for each in found] == [
        ("User:*", Verdict.SOMETIMES),
        ("User:good", Verdict.ALWAYS),
        ("User:other", Verdict.SOMETIMES),
        ("User:root", Verdict.ALWAYS),
    ]
    assert [each.name for each in found[0].allowed] == ["pii-public"]


def test_a_need_of_one_name() -> None:
    """Names are as narrow as asked."""
    snapshot = loaded(allow("a", READ, topic("pii-x")))

    found = task_answer(PLAIN, snapshot, "User:a", None, [TaskNeed(READ, TOPIC, single("pii-x"))])

    assert found.verdict is Verdict.ALWAYS


def test_principals_without_acls_on_the_names_cost_little() -> None:
    """They are answered as those that no ACL names."""
    costs = []
    for size in (500, 1000):
        snapshot = loaded(
            *(allow(f"{n}", READ, topic(f"t{n}")) for n in range(size)),
            *(allow("User:*", READ, topic(f"pii-{n}")) for n in range(size)),
        )
        with counted_calls() as calls:
            task_access(PLAIN, snapshot, "*", [READS])
        costs.append(calls.count)

    assert costs[1] < 3 * costs[0]
