"""What must change so that a set becomes another one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.model import CLUSTER_NAME, AclBinding, AclOperation, ResourceType
from doorkeeper.acls.plan import (
    EVERYTHING,
    NotOwned,
    Plan,
    Selector,
    SelectorUnion,
    plan,
    plan_additions,
    with_topic_prefix,
)
from doorkeeper.cli.acls.ownership import ownership_of
from testkit import acl_worlds
from testkit.acl import PREFIXED, READ, allow, cluster, group, topic
from testkit.counted import counted_calls

A, B, C = (
    allow("a", READ, topic("team-a.orders")),
    allow("b", READ, topic("team-b.", PREFIXED)),
    allow("a", READ, group("team-a")),
)


def test_existing_acls_are_unchanged() -> None:
    assert plan([A, B], [B, C]) == Plan((C,), (A,), unchanged=1, foreign=0)
    assert plan([B, A], [A, B, A]) == Plan((), (), unchanged=2, foreign=0)
    assert not plan([B, A], [A, B, A])


@pytest.mark.parametrize(
    ("owned", "removed"),
    [
        (Selector(), (A, B, C)),
        (Selector(prefixes=("team-a", "x")), (A, C)),
        (Selector(principals=frozenset({"User:b"})), (B,)),
        (Selector(resource_types=frozenset({ResourceType.GROUP})), (C,)),
        (Selector(prefixes=("team-b.",), principals=frozenset({"User:a"})), ()),
    ],
)
def test_unowned_acls_are_unchanged(owned: Selector, removed: tuple[AclBinding, ...]) -> None:
    assert plan([A, B, C], [], owned) == Plan((), removed, 0, 3 - len(removed))


def test_desired_acls_must_be_owned() -> None:
    with pytest.raises(NotOwned, match=r"not owned: TOPIC 'team-b\.' for User:b;"):
        plan([], [A, B], Selector(prefixes=("team-a",)))


def test_without_ownership_acls_are_only_added() -> None:
    assert plan_additions([A, B], [B, C]) == Plan((C,), (), unchanged=1, foreign=1)


@settings(max_examples=40)
@given(st.lists(acl_worlds.bindings, max_size=8), st.lists(acl_worlds.bindings, max_size=8))
def test_plan_produces_the_desired_acls(
    present: list[AclBinding], wanted: list[AclBinding]
) -> None:
    made = plan(present, wanted)

    assert (set(present) | set(made.added)) - set(made.removed) == set(wanted)
    assert set(made.added).isdisjoint(present)
    assert set(made.removed).isdisjoint(wanted)
    assert list(made.added) == sorted(made.added)


def test_wildcard_literal_has_no_owned_prefix() -> None:
    every, asterisks = allow("a", READ, topic("*")), allow("a", READ, topic("*", PREFIXED))
    owned = Selector(prefixes=("*",))

    assert not owned.selects(every)
    assert owned.selects(asterisks)
    assert Selector().selects(every)


ADMIN = allow("admin", AclOperation.ALTER, cluster(CLUSTER_NAME))


@pytest.mark.parametrize("prefix", ["kafka-", "k", "kafka-cluster"])
def test_prefix_selects_the_cluster_only_with_its_type(prefix: str) -> None:
    """A team whose topics begin with ``kafka-`` does not own the ACLs of brokers."""
    named = frozenset({ResourceType.CLUSTER, ResourceType.TOPIC})
    wild = allow("admin", AclOperation.ALTER, cluster(prefix, PREFIXED))

    assert not Selector(prefixes=(prefix,)).selects(ADMIN)
    assert not Selector(prefixes=(prefix,)).selects(wild)
    assert not Selector(prefixes=(prefix,), resource_types=frozenset({ResourceType.TOPIC})).selects(
        ADMIN
    )
    assert Selector(prefixes=(prefix,), resource_types=named).selects(ADMIN)
    assert Selector(principals=frozenset({"User:admin"})).selects(ADMIN)
    assert plan([ADMIN, A], [], Selector(prefixes=(prefix,))) == Plan((), (), 0, 2)


_SELECTORS = st.builds(
    lambda prefixes, principals, types: Selector(
        prefixes=tuple(prefixes), principals=principals, resource_types=types
    ),
    st.lists(st.sampled_from(["k", "kafka-", "kafka-c", "t"]), max_size=2),
    st.frozensets(st.sampled_from(["User:a", "User:b"]), max_size=2),
    st.frozensets(st.sampled_from([ResourceType.CLUSTER, ResourceType.TOPIC]), max_size=2),
)


_SELECTED = [
    allow(name, READ, pattern)
    for name in ("a", "b", "c")
    for pattern in (
        cluster(CLUSTER_NAME),
        topic("kafka-cluster"),
        topic("t"),
        topic("*"),
        topic("x"),
    )
]


@given(_SELECTORS, _SELECTORS)
def test_overlap_selects_what_both_select(left: Selector, right: Selector) -> None:
    both = left.overlap(right)

    for binding in _SELECTED:
        is_in_both = left.selects(binding) and right.selects(binding)
        assert (both is not None and both.selects(binding)) is is_in_both


@given(st.lists(_SELECTORS, max_size=6))
def test_union_selects_what_one_selects(selectors: list[Selector]) -> None:
    union = SelectorUnion.of(selectors)

    for binding in _SELECTED:
        assert union.selects(binding) is any(one.selects(binding) for one in selectors)


def test_owners_of_many_prefixes_are_not_asked_one_by_one() -> None:
    """With 1,000 teams and 100,000 ACLs a plan took minutes."""
    declared = [
        part
        for number in range(200)
        for part in (
            Selector(prefixes=(f"team-{number}.",)),
            Selector(principals=frozenset({f"User:{number}"})),
        )
    ]
    acls = [allow("a", READ, topic(f"team-{number}.t")) for number in range(200)]
    owned = ownership_of(EVERYTHING, declared, whole=False)

    with counted_calls() as calls:
        found = owned.plan(acls, acls)

    assert found.unchanged == 200
    assert calls.count < 20_000


def test_topic_prefix_of_mirrored_cluster() -> None:
    every, asterisks = allow("a", READ, topic("*")), allow("a", READ, topic("*", PREFIXED))

    assert with_topic_prefix([A, B, C, every, asterisks], "src.") == [
        allow("a", READ, topic("src.team-a.orders")),
        allow("b", READ, topic("src.team-b.", PREFIXED)),
        C,
        allow("a", READ, topic("src.", PREFIXED)),
        allow("a", READ, topic("src.*", PREFIXED)),
    ]
    assert with_topic_prefix([every], "") == [every]
