"""Who may do a thing, and what one may do."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.access import Access, Power, what_can, who_can
from doorkeeper.acls.decision import Policy, Question, allows
from doorkeeper.acls.host_sets import contains
from doorkeeper.acls.model import AclOperation, ResourceType
from testkit import acl_worlds
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, topic
from testkit.acl_worlds import loaded

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding

TOPIC = ResourceType.TOPIC
PLAIN = Policy()


def test_who_can() -> None:
    """Everybody else first; then the named ones, with the addresses that make a difference."""
    world = loaded(
        allow("User:*", READ, topic("t")),
        deny("bad", READ, topic("*")),
        deny("half", READ, topic("t"), "10.0.0.1"),
        allow("far", READ, topic("u")),
    )

    assert who_can(PLAIN, world, READ, TOPIC, "t") == [
        Access("User:*", everywhere=True, not_from=()),
        Access("User:far", everywhere=True),
        Access("User:half", everywhere=True, not_from=("10.0.0.1",)),
    ]
    assert who_can(Policy(super_users=frozenset({"User:root"})), loaded(), READ, TOPIC, "t") == [
        Access("User:root", everywhere=True)
    ]


NETWORK_HOSTS = (
    *("*", "10.0.0.0/29", "10.0.0.0/30", "10.0.0.4/30", "10.0.0.0/31", "10.0.0.1", "10.0.0.5"),
    *("0.0.0.0/0", "::/0", "10.0.0.2/32", "10.0.0.0/33"),
)


@settings(max_examples=40)
@given(
    world=st.lists(
        st.builds(
            lambda make, host: make("a", READ, topic("t"), host),
            st.sampled_from((allow, deny)),
            st.sampled_from(NETWORK_HOSTS),
        ),
        max_size=8,
    )
)
def test_who_can_with_overlapping_networks(world: list[AclBinding]) -> None:
    snapshot = loaded(*world).with_network_matching(enabled=True)
    rows = {each.principal: each for each in who_can(PLAIN, snapshot, READ, TOPIC, "t")}
    row = rows.get("User:a")

    def is_listed(host: str, listed: tuple[str, ...]) -> bool:
        for text in listed:
            around, _, exceptions = text.partition(" except ")
            if contains(around, host, networks=True) and not any(
                contains(each, host, networks=True) for each in exceptions.split(" and ") if each
            ):
                return True
        return False

    for number in range(1, 10):
        host = f"10.0.0.{number}"
        told = row is not None and (
            not is_listed(host, row.not_from) if row.everywhere else is_listed(host, row.hosts)
        )
        assert told is allows(PLAIN, snapshot, Question("User:a", host, READ, TOPIC, "t"))


def test_what_can() -> None:
    """A row for each pattern that says something of this principal, narrower ones by themselves."""
    world = loaded(
        allow("a", READ, topic("ord", PREFIXED)),
        deny("a", READ, topic("orders")),
        allow("b", WRITE, topic("orders")),
    )

    assert what_can(PLAIN, world, "User:a", resource_type=TOPIC) == [
        Power(topic("ord", PREFIXED), (READ, DESCRIBE)),
        Power(topic("orders"), (DESCRIBE,), denied=(READ,)),
    ]


def test_what_can_says_what_depends_on_the_host() -> None:
    """A DENY for one host, and an ALLOW for one, are not lost among those of all hosts."""
    world = loaded(
        allow("a", READ, topic("ord", PREFIXED)),
        deny("a", READ, topic("orders"), host="10.9.9.9"),
        allow("a", WRITE, topic("*"), host="10.0.0.50"),
    )

    powers = {power.pattern: power for power in what_can(PLAIN, world, "User:a")}

    assert powers[topic("orders")] == Power(topic("orders"), (DESCRIBE,), (READ, WRITE), (READ,))
    assert powers[topic("*")] == Power(topic("*"), (), (WRITE, DESCRIBE))


@settings(max_examples=30)
@given(acl_worlds.policies, acl_worlds.worlds)
def test_who_can_and_what_can_match_the_authorizer(policy: Policy, world: list[AclBinding]) -> None:
    snapshot = loaded(*world)
    for operation, name in product((READ, DESCRIBE), ("a", "*", "zz")):
        rows = {each.principal: each for each in who_can(policy, snapshot, operation, TOPIC, name)}
        for principal in (*acl_worlds.PRINCIPALS, "User:stranger"):
            if principal == "User:*":
                continue
            named = any(
                (each.pattern.resource_type, each.entry.principal) == (TOPIC, principal)
                for each in world
            )
            row = rows.get(principal if named or principal in policy.super_users else "User:*")
            for host in (*acl_worlds.HOSTS[1:], "10.9.9.9"):
                told = row is not None and (
                    host not in row.not_from if row.everywhere else host in row.hosts
                )
                question = Question(principal, host, operation, TOPIC, name)
                assert told is allows(policy, snapshot, question)
    for power in what_can(policy, snapshot, "User:a", "10.0.0.1", TOPIC):
        if power.pattern in (topic("a"), topic("b"), topic("abc")):
            assert power.operations == tuple(
                operation
                for operation in AclOperation
                if AclOperation.ALL < operation < AclOperation.CLUSTER_ACTION
                or operation in (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
                if allows(
                    policy,
                    snapshot,
                    Question("User:a", "10.0.0.1", operation, TOPIC, power.pattern.name),
                )
            )
