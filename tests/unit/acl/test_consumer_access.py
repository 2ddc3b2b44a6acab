"""Who may read topics but join no group."""

from __future__ import annotations

import pytest

from doorkeeper.acl.consumer_access import ReaderWithoutGroup, readers_without_group
from doorkeeper.acl.decision import Policy
from doorkeeper.acl.model import AclBinding, AclOperation
from testkit.acl import DESCRIBE, PREFIXED, READ, allow, deny, group, topic
from testkit.acl_worlds import loaded

ALL = AclOperation.ALL
PLAIN, OPEN = Policy(), Policy(allow_everyone=True)
T = allow("b", READ, topic("t"))


def found(*world: AclBinding, policy: Policy = PLAIN) -> list[ReaderWithoutGroup]:
    return list(readers_without_group(policy, loaded(*world), sorted(world)))


@pytest.mark.parametrize(
    ("policy", "world"),
    [
        (PLAIN, [deny("b", ALL, topic("t"))]),
        (PLAIN, [deny("User:*", READ, topic("*"))]),
        (PLAIN, [allow("User:*", READ, group("*"))]),
        (PLAIN, [allow("b", ALL, group("*"))]),
        (PLAIN, [allow("b", READ, group("g", PREFIXED)), deny("b", READ, group("g"))]),
        (PLAIN, [allow("b", READ, group("g"), "10.0.0.1")]),
        (OPEN, []),
        (OPEN, [allow("c", READ, group("g"))]),
        (Policy(super_users=frozenset({"User:b"})), []),
    ],
)
def test_nobody_is_stranded(policy: Policy, world: list[AclBinding]) -> None:
    """Where the topic is denied, a group may be read, or anybody may read any."""
    principals = {each.principal for each in found(T, *world, policy=policy)}

    assert "User:b" not in principals


@pytest.mark.parametrize(
    ("policy", "world", "elsewhere"),
    [
        (PLAIN, [], False),
        (PLAIN, [allow("b", READ, group("g")), deny("b", READ, group("g"))], False),
        (PLAIN, [allow("b", READ, group("*")), deny("User:*", ALL, group("", PREFIXED))], False),
        (PLAIN, [allow("b", DESCRIBE, group("*"))], False),
        (PLAIN, [allow("b", READ, group("*"), "host.example")], False),
        (PLAIN, [allow("b", READ, group("g"), "10.0.0.1"),
                 deny("b", READ, topic("t"), "10.0.0.1")], True),
        (OPEN, [allow("c", READ, group("", PREFIXED))], False),
    ],
)  # fmt: skip
def test_one_who_is_stranded(policy: Policy, world: list[AclBinding], *, elsewhere: bool) -> None:
    """Where a DENY, an operation, a host or others' ACLs leave no group."""
    assert found(T, *world, policy=policy) == [ReaderWithoutGroup("User:b", T, elsewhere)]


def test_the_first_that_lets_it_read_is_named() -> None:
    """Not one that a DENY takes back, nor one for a host where nobody is."""
    world = [
        *(allow("b", READ, topic("a")), deny("b", READ, topic("a"))),
        allow("b", READ, topic("b"), "host.example"),
        T,
    ]

    assert found(*world) == [ReaderWithoutGroup("User:b", T, elsewhere=False)]


def test_a_host_where_nobody_is_reads_nothing() -> None:
    """And no principal is called by a text without a colon."""
    assert found(allow("b", READ, topic("t"), "host.example")) == []
    bare = T._replace(entry=T.entry._replace(principal="alice"))
    assert found(bare) == []


def test_everybody_is_somebody_whom_no_binding_names() -> None:
    """Grants to one of them help the others not."""
    everybody = allow("User:*", READ, topic("t"))

    one = allow("b", READ, group("g"))

    assert found(everybody, one) == [ReaderWithoutGroup("User:*", everybody, elsewhere=False)]
