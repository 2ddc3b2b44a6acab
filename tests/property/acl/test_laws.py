"""The laws of Kafka's authorization, by name; and sentences that sound like laws and are none.

``docs/explanation/authorizer.md`` lists them. Each law holds for every world that hypothesis
finds; each sentence that does not hold has its counterexample here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from doorkeeper.acls.bulk import load
from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.decision import Policy, Question, RuleKind, allows, explain
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from testkit import acl_worlds as some
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, group, topic

if TYPE_CHECKING:
    from collections.abc import Iterable

CLOSED = Policy()
OPEN = Policy(allow_everyone=True)
laws = settings(max_examples=60, deadline=None)


def holds(policy: Policy, world: Iterable[AclBinding], question: Question) -> bool:
    """Answer a question in a world."""
    return allows(policy, load(some.numbered(list(world))), question)


def asks(user: str, operation: AclOperation, resource: ResourcePattern) -> Question:
    return Question(f"User:{user}", "10.0.0.1", operation, resource.resource_type, resource.name)


def with_permission(binding: AclBinding, permission_type: AclPermissionType) -> AclBinding:
    return AclBinding(binding.pattern, binding.entry._replace(permission_type=permission_type))


@laws
@given(some.policies, some.worlds, some.questions, st.data())
def test_deny_beats_allow(
    policy: Policy, world: list[AclBinding], question: Question, data: st.DataObject
) -> None:
    """One matching DENY denies, whatever else there is, but for super users."""
    assume(question.principal not in policy.super_users)
    prefix = question.name[: data.draw(st.integers(0, len(question.name)))]
    pattern = data.draw(
        st.sampled_from(
            (
                ResourcePattern(question.resource_type, question.name, PatternType.LITERAL),
                ResourcePattern(question.resource_type, prefix, PatternType.PREFIXED),
            )
        )
    )
    denial = AclBinding(
        pattern,
        AccessControlEntry(
            data.draw(st.sampled_from((question.principal, "User:*"))),
            data.draw(st.sampled_from((question.host, "*"))),
            data.draw(st.sampled_from((question.operation, AclOperation.ALL))),
            AclPermissionType.DENY,
        ),
    )

    assert not holds(policy, [*world, denial], question)


@laws
@given(some.worlds, some.questions)
def test_default_is_deny(world: list[AclBinding], question: Question) -> None:
    allows = [each for each in world if each.entry.permission_type is AclPermissionType.ALLOW]

    assert not holds(CLOSED, [], question)
    if holds(CLOSED, world, question):
        assert any(holds(CLOSED, [each], question) for each in allows)


@laws
@given(some.policies, some.worlds, some.questions)
def test_super_user_is_always_allowed(
    policy: Policy, world: list[AclBinding], question: Question
) -> None:
    policy = replace(policy, super_users=frozenset({question.principal}))

    assert holds(policy, world, question)
    assert explain(policy, load(some.numbered(world)), question).rule is RuleKind.SUPER_USER


@laws
@given(some.policies, some.worlds, some.questions, st.data())
def test_order_and_duplicates_do_not_matter(
    policy: Policy, world: list[AclBinding], question: Question, data: st.DataObject
) -> None:
    """The answer and the reported rule depend on the set of ACLs alone."""
    shuffled = data.draw(st.permutations([*world, *world[:3]]))

    one = explain(policy, load(some.numbered(world)), question)
    other = explain(policy, load(some.numbered(shuffled)), question)

    assert astuple(one)[:3] == astuple(other)[:3]


@laws
@given(some.worlds, some.questions, some.bindings)
def test_added_allow_never_revokes_without_allow_everyone(
    world: list[AclBinding], question: Question, binding: AclBinding
) -> None:
    permission = with_permission(binding, AclPermissionType.ALLOW)

    assert holds(CLOSED, [*world, permission], question) >= holds(CLOSED, world, question)


@laws
@given(some.policies, some.worlds, some.questions, some.bindings)
def test_added_deny_never_grants(
    policy: Policy, world: list[AclBinding], question: Question, binding: AclBinding
) -> None:
    denial = with_permission(binding, AclPermissionType.DENY)

    assert holds(policy, [*world, denial], question) <= holds(policy, world, question)


@laws
@given(some.policies, some.worlds, some.questions)
def test_other_resource_types_do_not_matter(
    policy: Policy, world: list[AclBinding], question: Question
) -> None:
    """Only ACLs of the asked resource type count."""
    same_type = [each for each in world if each.pattern.resource_type is question.resource_type]

    assert holds(policy, world, question) == holds(policy, same_type, question)


@laws
@given(some.worlds, some.questions)
def test_other_principals_do_not_matter_without_allow_everyone(
    world: list[AclBinding], question: Question
) -> None:
    """Only ACLs of the asking principal and of ``User:*`` count."""
    own = [each for each in world if each.entry.principal in (question.principal, "User:*")]

    assert holds(CLOSED, world, question) == holds(CLOSED, own, question)


@laws
@given(some.worlds, some.questions)
def test_all_includes_every_operation(world: list[AclBinding], question: Question) -> None:
    """An ALLOW of ALL in place of any operation never takes away."""
    widened = [
        AclBinding(each.pattern, each.entry._replace(operation=AclOperation.ALL))
        if each.entry.permission_type is AclPermissionType.ALLOW
        else each
        for each in world
    ]

    assert holds(CLOSED, widened, question) >= holds(CLOSED, world, question)


@laws
@given(some.policies, some.worlds, some.questions)
def test_explained_binding_alone_gives_the_same_answer(
    policy: Policy, world: list[AclBinding], question: Question
) -> None:
    decision = explain(policy, load(some.numbered(world)), question)

    if decision.binding is not None:
        assert holds(policy, [decision.binding], question) == decision.allowed


ORDERS = topic("orders")
OF_ALICE = allow("alice", READ, ORDERS)
PREFIX_ONLY = allow("alice", READ, group("*", PatternType.PREFIXED))
STAFF = Question("Group:staff", "10.0.0.1", READ, ResourceType.TOPIC, "orders")


@pytest.mark.parametrize(
    ("policy", "world", "question", "answer"),
    [
        # An ALLOW never takes away: it closes its resource to the others.
        (OPEN, [], asks("bob", READ, ORDERS), True),
        (OPEN, [OF_ALICE], asks("bob", READ, ORDERS), False),
        # Deleting the last ALLOW closes: it opens the resource to everyone.
        (OPEN, [OF_ALICE], asks("bob", WRITE, ORDERS), False),
        (OPEN, [], asks("bob", WRITE, ORDERS), True),
        # DENY implies what ALLOW implies.
        (CLOSED, [deny("alice", READ, ORDERS), allow("alice", WRITE, ORDERS)],
         asks("alice", DESCRIBE, ORDERS), True),
        # "*" covers every name: not a longer one that begins with an asterisk.
        (CLOSED, [allow("alice", READ, group("*"))], asks("alice", READ, group("a")), True),
        (CLOSED, [allow("alice", READ, group("*"))], asks("alice", READ, group("*")), True),
        (CLOSED, [allow("alice", READ, group("*"))], asks("alice", READ, group("*a")), False),
        # PREFIXED "*" is the wildcard.
        (CLOSED, [PREFIX_ONLY], asks("alice", READ, group("*a")), True),
        (CLOSED, [PREFIX_ONLY], asks("alice", READ, group("a")), False),
        # "User:*" is of its own type: it covers principals of every type.
        (CLOSED, [allow("User:*", READ, ORDERS)], STAFF, True),
        (CLOSED, [allow("Group:*", READ, ORDERS)], STAFF, False),
    ],
)  # fmt: skip
def test_plausible_laws_with_counterexamples(
    policy: Policy, world: list[AclBinding], question: Question, *, answer: bool
) -> None:
    assert holds(policy, world, question) is answer


@pytest.mark.parametrize(
    ("world", "operation", "name", "on_one"),
    [
        # A literal DENY never dominates a prefix.
        ([allow("alice", READ, topic("a", PREFIXED)), deny("alice", READ, topic("a"))],
         READ, "a", False),
        # Implied operations do not count.
        ([OF_ALICE], DESCRIBE, "orders", True),
    ],
)  # fmt: skip
def test_resource_type_check_is_not_equivalent_to_a_named_check(
    world: list[AclBinding], operation: AclOperation, name: str, *, on_one: bool
) -> None:
    on_some = allowed_on_some(
        load(some.numbered(world)),
        ResourceType.TOPIC,
        operation,
        principal="User:alice",
        host="10.0.0.1",
    )

    assert holds(CLOSED, world, asks("alice", operation, topic(name))) is on_one
    assert on_some is not on_one
