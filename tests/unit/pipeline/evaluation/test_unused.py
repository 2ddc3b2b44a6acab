"""What a history could do without, and what of it can go together."""

import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclBinding, AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.unused import (
    Unused,
    keepers_of,
    rank_bindings,
    shut_by_denies,
    unused_bindings,
)
from doorkeeper_pipeline.evaluation.usage import parts_of, sum_uses
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, cluster, deny, topic
from testkit.asked import asked_table

TOPIC = ResourceType.TOPIC
ORDERS = Question("User:a", "10.0.0.1", READ, TOPIC, "orders")
ORDERED = Question("User:a", "10.0.0.1", READ, TOPIC, "ordered")
ONE, WIDE = allow("a", READ, topic("orders")), allow("a", READ, topic("ord", PREFIXED))
SAME, NOT = allow("*", READ, topic("orders")), deny("a", READ, topic("orders"))
OTHER = allow("b", WRITE, topic("bills"))


def found(
    bindings: list[AclBinding], questions: list[Question], policy: Policy | None = None
) -> list[Unused]:
    policy = policy or Policy()
    index, table = compile_index(bindings, policy), asked_table(questions)
    totals = sum_uses(parts_of(index, table))
    return unused_bindings(
        bindings, totals, keepers_of(index, rank_bindings(bindings, totals), table), policy
    )


def test_one_of_two_equivalent_grants_is_removable() -> None:
    assert found([ONE, SAME], [ORDERS]) == [
        Unused(0, "COVERED", (1,), removable=False),
        Unused(1, "COVERED", (0,), removable=True),
    ]


def test_decisive_grant_is_kept() -> None:
    assert found([ONE, SAME, WIDE], [ORDERS, ORDERED]) == [
        Unused(0, "COVERED", (2,), removable=True),
        Unused(1, "COVERED", (2,), removable=True),
    ]


@pytest.mark.parametrize(
    "broad",
    [
        allow("a", READ, topic("*")),
        allow("*", READ, topic("ord", PREFIXED)),
        allow("a", AclOperation.ALL, topic("ord", PREFIXED)),
    ],
)
def test_wide_grant_is_removed_before_exact_ones(broad: AclBinding) -> None:
    """The most used grant may be ALL on ``*``: the exact grants for the same uses stay."""
    exact = allow("a", READ, topic("ordered"))

    assert [
        each.binding for each in found([ONE, broad, exact], [ORDERS, ORDERED]) if each.removable
    ] == [1]


def test_deny_is_never_removable() -> None:
    never = deny("b", READ, topic("x"))
    again = deny("*", READ, topic("orders"))

    assert found([never], [ORDERS]) == [Unused(0, "NEVER_MATCHED", (), removable=False)]
    assert found([ONE, NOT, again], [ORDERS]) == [
        Unused(0, "NEVER_USED", (), removable=True),
        Unused(1, "COVERED", (), removable=False),
        Unused(2, "COVERED", (), removable=False),
    ]


def test_acl_that_closes_a_resource_is_kept() -> None:
    """With allow.everyone one binding stays for each resource that would be open without any."""
    policy = Policy(allow_everyone=True)
    inner = allow("b", READ, topic("bills.", PREFIXED))
    outer, all_topics = allow("b", READ, topic("bill", PREFIXED)), allow("b", READ, topic("*"))

    assert [(each.binding, each.removable) for each in found([OTHER], [ORDERS], policy)] == [
        (0, False)
    ]
    both = found([inner, outer], [ORDERS], policy)
    assert [(each.removable, each.closes) for each in both] == [(True, False), (False, True)]
    # The wildcard is decisive here: it alone closes "orders".
    assert [each.binding for each in found([inner, outer, all_topics], [ORDERS], policy)] == [0, 1]
    assert all(each.removable for each in found([inner, outer, all_topics], [ORDERS], policy))


ALL = AclOperation.ALL
CREATE = allow("a", AclOperation.CREATE, cluster("kafka-cluster"))


@pytest.mark.parametrize(
    ("denied", "binding", "shut"),
    [
        (NOT, ONE, True),
        (deny("*", ALL, topic("ord", PREFIXED)), ONE, True),
        (deny("a", READ, topic("*")), WIDE, True),
        # Who may not describe a topic never comes to read it.
        (deny("a", DESCRIBE, topic("orders")), ONE, True),
        (
            deny("a", READ, topic("orders"), "10.0.0.0/8"),
            allow("a", READ, topic("orders"), "10.1.1.1"),
            True,
        ),
        (deny("a", READ, topic("orders"), "10.1.1.1"), ONE, False),
        (NOT, WIDE, False),
        (NOT, allow("a", ALL, topic("orders")), False),
        (deny("b", READ, topic("orders")), ONE, False),
        (deny("a", WRITE, topic("orders")), ONE, False),
        (deny("a", DESCRIBE, cluster("kafka-cluster")), CREATE, False),
    ],
)
def test_partial_deny_proves_nothing(
    denied: AclBinding, binding: AclBinding, *, shut: bool
) -> None:
    assert shut_by_denies([denied, binding], networks=True)(binding) is shut
