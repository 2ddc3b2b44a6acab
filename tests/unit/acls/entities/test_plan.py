"""Plans of topics, credentials and quotas."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from doorkeeper.acls.entities.model import (
    Credential,
    Entity,
    EntityName,
    EntityScope,
    EntitySet,
    OwnedName,
    Quota,
    TopicEntity,
)
from doorkeeper.acls.entities.plan import (
    EntityChange,
    EntityPlan,
    EntityPlanError,
    StayingAcls,
    difference,
    plan_entities,
    rest_of,
    staying_acls,
)
from testkit.acl import PREFIXED, READ, allow, group, topic

ORDERS = TopicEntity("orders", 3, 1)
ALICE = Credential("alice", "SCRAM-SHA-512", 4096)
LIMIT = Quota((("user", "alice"),), "producer_byte_rate", 10.0)
ALL_OWNED = (
    OwnedName(EntityName(EntityScope.TOPIC, "or"), is_prefix=True),
    OwnedName(EntityName(EntityScope.USER, "alice")),
    OwnedName(EntityName(EntityScope.QUOTA_USER, "alice")),
)


def wanted(*entities: Entity, owned: tuple[OwnedName, ...] = ALL_OWNED) -> EntitySet:
    return EntitySet(entities, owned=owned)


def test_missing_entities_are_created() -> None:
    everything = (LIMIT, ALICE, ORDERS)

    for owned in ALL_OWNED, ():
        found = plan_entities([], wanted(*everything, owned=owned))
        assert found.changes == (
            EntityChange(None, ORDERS),
            EntityChange(None, ALICE),
            EntityChange(None, LIMIT),
        )


def test_owned_entities_are_changed() -> None:
    present: list[Entity] = [TopicEntity("orders", 3, 2, (("a", "1"),)), ALICE, LIMIT]
    goal = (
        TopicEntity("orders", 6, None, (("b", "2"),)),
        replace(ALICE, iterations=8192, password="${env:A}"),
        replace(LIMIT, value=11.0),
    )

    found = plan_entities(present, wanted(*goal))
    foreign = plan_entities(present, wanted(*goal, owned=()))

    assert [each.after for each in found.changes] == [
        goal[0]._replace(replication_factor=2),
        *goal[1:],
    ]
    assert (foreign.changes, len(foreign.foreign)) == ((), 3)


@pytest.mark.parametrize(
    "goal",
    [
        TopicEntity("orders"),
        TopicEntity("orders", 3),
        TopicEntity("orders", configs=(("x", "1.0"),)),
        replace(ALICE, iterations=None, password="${env:A}"),
        LIMIT,
    ],
)
def test_equal_entities_are_unchanged(goal: Entity) -> None:
    present: list[Entity] = [TopicEntity("orders", 3, 1, (("x", "1"),)), ALICE, LIMIT]

    found = plan_entities(
        present,
        wanted(goal, owned=()),
        normalize=lambda _name, text: text.removesuffix(".0"),
    )

    assert found == EntityPlan(unchanged=1)


def test_topic_is_deleted_only_on_request() -> None:
    others: list[Entity] = [TopicEntity("others", 1, 1), replace(ALICE, user="bob")]
    present: list[Entity] = [ORDERS, ALICE, LIMIT, *others]

    found = plan_entities(present, wanted())
    deleting = plan_entities(present, wanted(), delete_topics=True)

    assert found.removals == (EntityChange(ALICE, None), EntityChange(LIMIT, None))
    assert found.staying == (ORDERS,)
    assert deleting.removals == (EntityChange(ORDERS, None), *found.removals)
    assert deleting.staying == ()


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        (TopicEntity("orders", 2), "has 3 partitions, 2 are desired"),
        (TopicEntity("orders", 3, 2), "has replication factor 1, 2 is desired"),
    ],
)
def test_impossible_changes_are_rejected(goal: TopicEntity, reason: str) -> None:
    with pytest.raises(EntityPlanError, match=reason):
        plan_entities([ORDERS], wanted(goal))


def test_password_is_reset_on_request() -> None:
    goal = replace(ALICE, iterations=None, password="${env:A}")

    found = plan_entities([ALICE], wanted(goal), new_passwords=["alice"])

    assert found.changes == (EntityChange(ALICE, replace(ALICE, password="${env:A}")),)


def test_remaining_changes_of_an_interrupted_plan() -> None:
    plan = EntityPlan(
        (
            EntityChange(None, ORDERS),
            EntityChange(ALICE, replace(ALICE, password="${env:A}")),
            EntityChange(LIMIT, replace(LIMIT, value=11.0)),
        )
    )

    same = plan.changes[1:]
    assert rest_of(plan, [ORDERS, ALICE, LIMIT], lambda _, text: text).changes == same
    with pytest.raises(EntityPlanError, match="quotas of user 'alice' has changed since the plan"):
        rest_of(plan, [ALICE, replace(LIMIT, value=12.0)], lambda _, text: text)


def test_difference_ignores_ownership() -> None:
    found = difference([ORDERS, ALICE], [TopicEntity("orders", 1), LIMIT])

    assert found.changes == (
        EntityChange(ORDERS, TopicEntity("orders", 1, 1)),
        EntityChange(ALICE, None),
        EntityChange(None, LIMIT),
    )


def test_topics_that_stay_are_not_compared_with_each_other() -> None:
    """With 50,000 of them a plan would take minutes."""
    comparisons = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal comparisons
            comparisons += 1
            return str(self) == other

    present = [TopicEntity(Name(f"orders-{number}"), 1, 1) for number in range(100)]
    found = plan_entities(present, wanted(ALICE))

    assert len(found.staying) == 100
    assert comparisons < 1_000


def test_remaining_acls_of_removed_entities_are_listed() -> None:
    other = replace(ALICE, mechanism="SCRAM-SHA-256")
    gone = EntityPlan(tuple(EntityChange(each, None) for each in (ORDERS, ALICE, other, LIMIT)))
    on_topic, of_user = allow("x", READ, topic("orders")), allow("alice", READ, topic("t"))
    bindings = [
        on_topic,
        of_user,
        allow("x", READ, topic("ord", PREFIXED)),
        allow("x", READ, group("orders")),
    ]

    assert list(staying_acls(gone, bindings)) == [
        StayingAcls(ORDERS, (on_topic,)),
        StayingAcls(ALICE, (of_user,)),
    ]
    assert list(staying_acls(EntityPlan((EntityChange(None, ORDERS),)), bindings)) == []
