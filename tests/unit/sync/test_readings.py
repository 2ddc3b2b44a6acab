"""The filters that brokers are asked with."""

from __future__ import annotations

from doorkeeper.acls.model import exactly
from doorkeeper.sync.remote import look_ups
from testkit.acl import READ, allow, topic


def test_few_acls_are_read_individually() -> None:
    few = frozenset(allow(f"user-{number}", READ, topic(f"t-{number}")) for number in range(8))

    assert set(look_ups(few)) == set(map(exactly, few))


def test_acls_of_one_topic_or_principal_share_a_filter() -> None:
    of_topic = frozenset(allow(f"user-{number}", READ, topic("t")) for number in range(1_000))
    of_user = frozenset(allow("alice", READ, topic(f"t-{number}")) for number in range(1_000))

    (by_pattern,), (by_principal,) = look_ups(of_topic), look_ups(of_user)

    assert by_pattern.pattern.name == "t"
    assert by_pattern.entry.principal is None
    assert by_principal.entry.principal == "User:alice"
    assert by_principal.pattern.name is None


def test_other_acls_are_read_completely() -> None:
    many = frozenset(allow(f"user-{number}", READ, topic(f"t-{number}")) for number in range(9))

    assert look_ups(many) == []
    assert look_ups(frozenset()) == []
