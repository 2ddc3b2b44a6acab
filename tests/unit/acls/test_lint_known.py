"""Findings about users and topics that are not there, and about administrators."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.lint import KnownNames, lint
from doorkeeper.acls.model import AclBinding, AclOperation
from testkit.acl import PREFIXED, READ, WRITE, allow, cluster, deny, group, topic
from testkit.acl_worlds import loaded

ROOT = Policy(super_users=frozenset({"User:root"}))
CLUSTER = cluster("kafka-cluster")
CODES = ("W008", "W009", "W010")


def codes(*world: AclBinding, users: str | None = None, topics: str | None = None) -> list[str]:
    known = KnownNames(
        None if users is None else frozenset(users.split()),
        None if topics is None else frozenset(topics.split()),
    )
    return [each.code for each in lint(ROOT, loaded(*world), CODES, known=known)]


@pytest.mark.parametrize(
    ("binding", "found"),
    [
        (allow("a", READ, group("g")), []),
        (allow("b", READ, group("g")), ["W008"]),
        (deny("b", READ, group("g")), []),
        (allow("root", READ, group("g")), []),
        (allow("User:*", READ, group("g")), []),
        (allow("User:ANONYMOUS", READ, group("g")), []),
        (allow("Group:b", READ, group("g")), []),
    ],
)
def test_users_without_credentials(binding: AclBinding, found: list[str]) -> None:
    """Their grants are found where users are known, and only there."""
    assert codes(binding, users="a") == found
    assert codes(binding) == []


@pytest.mark.parametrize(
    ("world", "found"),
    [
        ([allow("a", READ, topic("orders"))], []),
        ([allow("a", READ, topic("ord"))], ["W009"]),
        ([allow("a", READ, topic("ord", PREFIXED))], []),
        ([allow("a", READ, topic("pay", PREFIXED))], ["W009"]),
        ([allow("a", READ, topic("*"))], []),
        ([allow("a", READ, topic("", PREFIXED))], []),
        ([deny("a", READ, topic("gone"))], []),
        ([allow("a", READ, group("gone"))], []),
        # What kafka-acls.sh --producer creates lets the producer create its topic.
        ([allow("a", WRITE, topic("new")), allow("a", AclOperation.CREATE, topic("new"))], []),
    ],
)
def test_topics_that_do_not_exist(world: list[AclBinding], found: list[str]) -> None:
    """Grants for them are found where topics are known, and only there."""
    assert codes(*world, topics="orders") == found
    assert codes(*world) == []


@pytest.mark.parametrize(
    ("binding", "found"),
    [
        (allow("a", AclOperation.ALTER, CLUSTER), ["W010"]),
        (allow("a", AclOperation.ALL, cluster("*")), ["W010"]),
        (allow("a", AclOperation.CLUSTER_ACTION, CLUSTER), ["W010"]),
        (allow("a", AclOperation.DESCRIBE, CLUSTER), []),
        (allow("a", AclOperation.IDEMPOTENT_WRITE, CLUSTER), []),
        (allow("a", AclOperation.ALTER, cluster("other")), []),
        (deny("a", AclOperation.ALTER, CLUSTER), []),
        (allow("a", AclOperation.ALTER, topic("t")), []),
    ],
)
def test_administrators(binding: AclBinding, found: list[str]) -> None:
    """A principal that may change ACLs may do everything."""
    assert codes(binding) == found
