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


def test_what_is_missing_is_created() -> None:
    """Owned or not; topics, then users, then quotas."""
    everything = (LIMIT, ALICE, ORDERS)

    for owned in ALL_OWNED, ():
        found = plan_entities([], wanted(*everything, owned=owned))
        assert found.changes == (
            EntityChange(None, ORDERS),
            EntityChange(None, ALICE),
            EntityChange(None, LIMIT),
        )


def test_what_differs_is_changed_where_it_is_owned() -> None:
    """What a file leaves open is as it is."""
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
def test_what_is_as_wanted_is_kept(goal: Entity) -> None:
    """Values of settings are compared as a cluster describes them; passwords never."""
    present: list[Entity] = [TopicEntity("orders", 3, 1, (("x", "1"),)), ALICE, LIMIT]

    found = plan_entities(
        present,
        wanted(goal, owned=()),
        normalize=lambda _name, text: text.removesuffix(".0"),
    )

    assert found == EntityPlan(unchanged=1)


def test_a_topic_is_deleted_only_where_that_is_asked_for() -> None:
    """Users and quotas are removed in any case, where they are owned."""
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
        (TopicEntity("orders", 2), "found 3 partitions, wanted are 2"),
        (TopicEntity("orders", 3, 2), "found replication factor 1, wanted is 2"),
    ],
)
def test_what_cannot_be_is_refused(goal: TopicEntity, reason: str) -> None:
    """Before anything is changed."""
    with pytest.raises(EntityPlanError, match=reason):
        plan_entities([ORDERS], wanted(goal))


def test_a_password_is_set_again_where_that_is_asked_for() -> None:
    """With the iterations that it has."""
    goal = replace(ALICE, iterations=None, password="${env:A}")

    found = plan_entities([ALICE], wanted(goal), new_passwords=["alice"])

    assert found.changes == (EntityChange(ALICE, replace(ALICE, password="${env:A}")),)


def test_the_rest_of_a_plan() -> None:
    """What is done is left out; what others have changed meanwhile is refused."""
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


def test_a_difference_has_no_owners() -> None:
    """And refuses nothing: it is only shown."""
    found = difference([ORDERS, ALICE], [TopicEntity("orders", 1), LIMIT])

    assert found.changes == (
        EntityChange(ORDERS, TopicEntity("orders", 1, 1)),
        EntityChange(ALICE, None),
        EntityChange(None, LIMIT),
    )


def test_acls_that_stay_of_what_goes() -> None:
    """Those on the very name, and those of the user once; a prefix covers other names too."""
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
