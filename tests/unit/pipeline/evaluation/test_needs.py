"""What each principal was let through to."""

import polars as pl

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import AclBinding, ResourceType
from doorkeeper_pipeline.evaluation.decision_table import DecisionTable
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.needs import logged_needs, needs_of, sum_needs
from testkit.acl import READ, WRITE, allow, deny, topic
from testkit.asked import asked, asked_table

TOPIC = ResourceType.TOPIC
HERE, THERE = "10.0.0.1", "10.0.0.2"
QUESTIONS = [
    Question("User:a", HERE, READ, TOPIC, "orders"),
    Question("User:a", THERE, READ, TOPIC, "orders"),
    Question("User:a", HERE, WRITE, TOPIC, "orders"),
    Question("User:b", HERE, READ, TOPIC, "orders"),
]


def needs(bindings: list[AclBinding], policy: Policy | None = None) -> list[tuple[object, ...]]:
    """Return principal, host, operation and count of each need."""
    index = compile_index(bindings, policy or Policy())
    hosts = [each.entry.host for each in bindings]
    frame = sum_needs(needs_of(index, hosts, asked_table(QUESTIONS, [1, 2, 4, 8])))
    return frame.select("principal", "host", "operation", "count").rows()


def test_used_access_is_a_need() -> None:
    assert needs([allow("a", READ, topic("orders"))]) == [("User:a", "*", "READ", 3)]


def test_host_specific_needs() -> None:
    bindings = [allow("a", READ, topic("orders"), HERE), allow("a", WRITE, topic("orders"))]

    assert needs(bindings) == [("User:a", "*", "WRITE", 4), ("User:a", HERE, "READ", 1)]
    assert needs([*bindings, allow("*", READ, topic("*"))]) == [
        ("User:a", "*", "READ", 3),
        ("User:a", "*", "WRITE", 4),
        ("User:b", "*", "READ", 8),
    ]


def test_network_is_the_host_of_what_it_let_through() -> None:
    """Clients of a network have other addresses tomorrow."""
    wide, narrow = "10.0.0.0/8", "10.0.0.0/31"
    bindings = [allow("a", READ, topic("orders"), host) for host in (wide, narrow)]
    both = [("User:a", wide, "READ", 2), ("User:a", narrow, "READ", 1)]

    assert needs(bindings) == sorted(both, key=lambda need: need[1])
    assert needs([*bindings, allow("a", READ, topic("orders"), HERE)]) == [
        ("User:a", wide, "READ", 2),
        ("User:a", HERE, "READ", 1),
    ]
    assert needs([*bindings, allow("a", READ, topic("orders"))]) == [("User:a", "*", "READ", 3)]


def test_super_users_and_denials_need_nothing() -> None:
    policy = Policy(super_users=frozenset({"User:a"}))
    denying = [allow("b", READ, topic("orders")), deny("b", READ, topic("orders"))]

    assert needs([allow("a", READ, topic("orders"))], policy) == []
    assert needs(denying) == []


def test_default_access_is_a_need() -> None:
    policy = Policy(allow_everyone=True)

    assert needs([], policy) == [
        ("User:a", "*", "READ", 3),
        ("User:a", "*", "WRITE", 4),
        ("User:b", "*", "READ", 8),
    ]


def test_recorded_decisions_are_used_without_acls() -> None:
    outcomes = pl.Series("outcome", ["ALLOWED", "ALLOWED", "DENIED", "ALLOWED"])
    table = asked(QUESTIONS, [1, 2, 4, 8]).with_columns(outcomes)

    found = sum_needs(logged_needs(frozenset({"User:b"}), DecisionTable(table)))

    assert found.select("principal", "host", "operation", "count").rows() == [
        ("User:a", "*", "READ", 3)
    ]
