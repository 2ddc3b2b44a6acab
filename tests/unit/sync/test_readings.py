"""The filters that brokers are asked with."""

from __future__ import annotations

from doorkeeper.acls.model import exactly
from doorkeeper.sync.remote import look_ups
from testkit.acl import READ, allow, topic


def test_a_few_acls_are_asked_for_one_by_one() -> None:
    """The answers have these and no others."""
    few = frozenset(allow(f"user-{number}", READ, topic(f"t-{number}")) for number in range(8))

    assert set(look_ups(few)) == set(map(exactly, few))


def test_many_acls_of_one_topic_or_of_one_principal_take_one_filter() -> None:
    """Their number does not matter then."""
    of_topic = frozenset(allow(f"user-{number}", READ, topic("t")) for number in range(1_000))
    of_user = frozenset(allow("alice", READ, topic(f"t-{number}")) for number in range(1_000))

    (by_pattern,), (by_principal,) = look_ups(of_topic), look_ups(of_user)

    assert by_pattern.pattern.name == "t"
    assert by_pattern.entry.principal is None
    assert by_principal.entry.principal == "User:alice"
    assert by_principal.pattern.name is None


def test_all_acls_are_read_for_the_rest() -> None:
    """Nine topics with nine principals would take nine filters; nothing takes none."""
    many = frozenset(allow(f"user-{number}", READ, topic(f"t-{number}")) for number in range(9))

    assert look_ups(many) == []
    assert look_ups(frozenset()) == []
