"""Descriptions of brokers, of which only what is new is decoded."""

from __future__ import annotations

from random import Random

import pytest

from doorkeeper.client.errors import ApiFailure
from doorkeeper.sync.descriptions import Descriptions
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from testkit.acl import READ, WRITE, allow, deny, group, topic
from testkit.descriptions import answer

ALL = [
    each(user, operation, pattern)
    for each in (allow, deny)
    for user in ("alice", "bob", "x" * 200, "Grüße")
    for operation in (READ, WRITE)
    for pattern in (topic("a"), topic("a" * 300), group("a"), topic("b"))
]
VERSIONS = (1, 2, 3)


def read(descriptions: Descriptions, body: bytes, broker: int = 1, version: int = 3) -> set[object]:
    """Return what a broker's answer says."""
    found, end = descriptions.reader(broker).decode(b"head" + body, 4, version)
    assert end == 4 + len(body)
    return set(found)


@pytest.mark.parametrize("version", VERSIONS)
def test_any_change_is_read(version: int) -> None:
    """Whatever was described before, by this broker or another one, in whichever order."""
    chance = Random(24)
    descriptions = Descriptions()
    for _ in range(60):
        bindings = chance.sample(ALL, chance.randint(0, len(ALL)))

        body = answer(bindings, version)

        assert read(descriptions, body, chance.choice((1, 2)), version) == set(bindings)


def test_a_cut_answer_is_refused_and_changes_nothing() -> None:
    """At each byte, before and after a whole one."""
    body = answer(ALL[:12])
    descriptions = Descriptions()
    for _ in range(2):
        for size in range(len(body)):
            with pytest.raises(Malformed):
                read(descriptions, body[:size])
        assert read(descriptions, body) == set(ALL[:12])


def test_an_error_is_raised() -> None:
    """It is no description of nothing."""
    refused = DescribeAclsResponse(error_code=31, error_message="no").encode(3)

    with pytest.raises(ApiFailure, match="no"):
        read(Descriptions(), refused)


def test_codes_that_are_not_known_are_left_out() -> None:
    """No desired set can have them."""
    row = AclDescription(principal="User:a", host="*", operation=99, permission_type=3)
    resource = DescribeAclsResource(resource_type=2, resource_name="t", acls=(row,))

    body = DescribeAclsResponse(resources=(resource,)).encode(3)

    assert read(Descriptions(), body) == set()


def test_a_pattern_that_comes_twice_is_refused() -> None:
    """One description would hide the other."""
    row = AclDescription(principal="User:a", host="*", operation=3, permission_type=3)
    resource = DescribeAclsResource(resource_type=2, resource_name="t", acls=(row,))

    body = DescribeAclsResponse(resources=(resource, resource)).encode(3)

    with pytest.raises(Malformed):
        read(Descriptions(), body)


def test_a_change_is_known_from_one_set_to_the_next() -> None:
    """From none to another one, and not after a cut answer either."""
    descriptions = Descriptions()
    reader = descriptions.reader(1)
    one, _ = reader.decode(answer(ALL[:3]), 0, 3)
    two, _ = reader.decode(answer(ALL[2:5]), 0, 3)

    assert descriptions.change(one, one) == (frozenset(), frozenset())
    assert descriptions.change(one, two) == (frozenset(ALL[3:5]), frozenset(ALL[:2]))
    assert descriptions.change(two, one) is None
    with pytest.raises(Malformed):
        reader.decode(answer(ALL[:9])[:-1], 0, 3)
    three, _ = reader.decode(answer(ALL[:1]), 0, 3)
    assert descriptions.change(one, three) is None
    assert descriptions.change(two, three) == (frozenset(ALL[:1]), frozenset(ALL[2:5]))
