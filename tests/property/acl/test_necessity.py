"""What can go without a change of any decision: every question is asked, on small worlds."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.lint import Severity, lint
from doorkeeper.acls.model import CLUSTER_NAME, AclOperation, ResourceType
from doorkeeper.acls.necessity import Cause, removable
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from testkit import acl_worlds
from testkit.acl import LITERAL, PREFIXED, allow, cluster, deny, topic

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.snapshot import Snapshot

# Behind each name one that no binding has, so that every set of names has such a member.
NAMES = (*acl_worlds.NAMES, *(f"{name}~" for name in acl_worlds.NAMES))
QUESTIONS = tuple(
    Question(principal, host, operation, resource_type, name)
    for resource_type in acl_worlds.TYPES
    for principal, host, operation, name in product(
        ("User:a", "Group:a", "User:~", "User:super"),
        (*acl_worlds.HOSTS[1:], "10.9.9.9"),
        SUPPORTED_OPERATIONS[resource_type],
        NAMES,
    )
)
worlds = st.lists(
    acl_worlds.bindings.filter(
        lambda each: each.entry.principal in ("User:a", "User:*", "Group:a")
    ),
    max_size=7,
    unique=True,
)
CLUSTER_QUESTIONS = tuple(
    Question(principal, host, operation, ResourceType.CLUSTER, CLUSTER_NAME)
    for principal, host, operation in product(
        ("User:a", "User:~", "User:super"),
        ("10.0.0.1", "10.9.9.9"),
        SUPPORTED_OPERATIONS[ResourceType.CLUSTER],
    )
)
cluster_worlds = st.lists(
    st.sampled_from(
        tuple(
            make(principal, operation, cluster(name, pattern_type), host)
            for make, principal, operation, name, pattern_type, host in product(
                (allow, deny),
                ("User:a", "User:*"),
                (AclOperation.ALL, AclOperation.ALTER, AclOperation.DESCRIBE, AclOperation.READ),
                (CLUSTER_NAME, "kafka", "kafka-clusters", "*", ""),
                (LITERAL, PREFIXED),
                ("*", "10.0.0.1"),
            )
            if name or pattern_type is PREFIXED
        )
    ),
    max_size=7,
    unique=True,
)
policies = st.builds(
    Policy,
    super_users=st.frozensets(st.sampled_from(("User:super", "User:a")), max_size=1),
    allow_everyone=st.booleans(),
)


network_worlds = st.lists(
    st.sampled_from(
        tuple(
            make(principal, operation, topic(name), host)
            for make, principal, operation, name, host in product(
                (allow, deny),
                ("User:a", "User:*"),
                (AclOperation.ALL, AclOperation.READ),
                ("a", "*"),
                (
                    *("*", "10.0.0.0/30", "10.0.0.3/30", "10.0.0.0/31", "10.0.0.2/31", "0.0.0.0/0"),
                    *("10.0.0.1/32", "10.0.0.0", "10.0.0.1", "10.0.0.2", "::/0", "10.0.0.0/33"),
                ),
            )
        )
    ),
    max_size=9,
    unique=True,
)
NETWORK_QUESTIONS = tuple(
    Question(principal, host, operation, ResourceType.TOPIC, name)
    for principal, host, operation, name in product(
        ("User:a", "User:~"),
        (*(f"10.0.0.{number}" for number in range(5)), "0:0:0:0:0:0:0:1", "0.0.0.0", "10.0.0.0/33"),
        (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.WRITE),
        ("a", "b"),
    )
)


def answers(
    policy: Policy, bindings: list[AclBinding], questions: tuple[Question, ...] = QUESTIONS
) -> list[bool]:
    snapshot = loaded(bindings, questions)
    return [allows(policy, snapshot, question) for question in questions]


def loaded(bindings: list[AclBinding], questions: tuple[Question, ...]) -> Snapshot:
    networks = questions is NETWORK_QUESTIONS
    return acl_worlds.loaded(*bindings).with_network_matching(enabled=networks)


def check(
    policy: Policy, world: list[AclBinding], questions: tuple[Question, ...] = QUESTIONS
) -> None:
    gone = {each.binding for each in removable(policy, loaded(world, questions))}
    left = [binding for binding in world if binding not in gone]

    before = answers(policy, world, questions)

    assert answers(policy, left, questions) == before
    for binding in left:
        others = [each for each in left if each != binding]
        assert answers(policy, others, questions) != before, binding


@settings(max_examples=15)
@given(policies, worlds, st.frozensets(st.sampled_from(Cause)))
def test_removable_for_some_causes(
    policy: Policy, world: list[AclBinding], causes: frozenset[Cause]
) -> None:
    found = removable(
        policy, acl_worlds.loaded(*world), lambda _binding, cause: cause not in causes
    )
    gone = {each.binding for each in found}

    assert {each.cause for each in found} <= causes
    left = [binding for binding in world if binding not in gone]
    assert answers(policy, left) == answers(policy, world)


@settings(max_examples=15)
@given(policies, worlds, st.data())
def test_removable_while_keeping_bindings(
    policy: Policy, world: list[AclBinding], data: st.DataObject
) -> None:
    kept = data.draw(st.frozensets(st.sampled_from(world))) if world else frozenset()
    found = removable(policy, acl_worlds.loaded(*world), lambda binding, _cause: binding in kept)
    gone = {each.binding for each in found}

    assert gone.isdisjoint(kept)
    left = [binding for binding in world if binding not in gone]
    assert answers(policy, left) == answers(policy, world)


@settings(max_examples=15)
@given(policies, worlds)
def test_removable_with_describe_kept(policy: Policy, world: list[AclBinding]) -> None:
    found = lint(policy, acl_worlds.loaded(*world), implied=False)
    gone = {each.bindings[0] for each in found if each.severity is Severity.ERROR}

    left = [binding for binding in world if binding not in gone]
    assert answers(policy, left) == answers(policy, world)


@settings(max_examples=25)
@given(policies, worlds)
def test_removable_set_is_complete(policy: Policy, world: list[AclBinding]) -> None:
    check(policy, world)


@settings(max_examples=60)
@given(policies, cluster_worlds)
def test_removable_for_the_cluster(policy: Policy, world: list[AclBinding]) -> None:
    """The same, for the resource that has one name."""
    check(policy, world, CLUSTER_QUESTIONS)


@settings(max_examples=150)
@given(policies, network_worlds)
def test_removable_with_networks(policy: Policy, world: list[AclBinding]) -> None:
    check(policy, world, NETWORK_QUESTIONS)
