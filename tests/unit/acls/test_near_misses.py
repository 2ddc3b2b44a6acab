"""Principals that are nearly the same, and what Kafka takes for two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.near_misses import (
    Difference,
    differences_between,
    near_misses,
    principals_of,
)
from testkit.acl import READ, allow, topic
from testkit.acl_worlds import loaded

SUBJECT = r"User:CN=alice,OU=Sales,O=Example\, Inc,C=DE"
MAILED = "User:CN=a,1.2.840.113549.1.9.1=#1607614062632e6465"


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        ("User:alice", "User:Alice", "CASE"),
        ("User:alice", "user:alice", "CASE"),
        ("User:alice", "USER:ALICE", "CASE"),
        ("User:alice", "User:alice ", "BLANKS"),
        ("User:alice", "User: alice", "BLANKS"),
        ("User:alice", "User :alice", "BLANKS"),
        ("User:alice", "User:ali\u200bce", "BLANKS"),
        ("User:alice", "User:Alice\xa0", "CASE BLANKS"),
        ("User:jos\u00e9", "User:jose\u0301", "UNICODE"),
        ("User:alice", 'User:"alice"', "QUOTES"),
        ("User:alice", "'User:alice'", "QUOTES"),
        ("User:alice", "Group:alice", "TYPE"),
        ("User:alice", "User:User:alice", "TYPE"),
        ("User:alice", "alice", "TYPE"),
        ("User:alice", "User:alice,User:bob", "LIST"),
        ("User:alice", "User:bob; User:alice", "LIST"),
        (SUBJECT, r"User:C=DE,O=Example\, Inc,OU=Sales,CN=alice", "ORDER"),
        (SUBJECT, r"User:CN=alice, OU=Sales, O=Example\, Inc, C=DE", "BLANKS"),
        (SUBJECT, 'User:CN=alice,OU=Sales,O="Example, Inc",C=DE', "SEPARATORS"),
        (SUBJECT, "User:CN=alice,OU=Sales,O=Example, Inc,C=DE", "SEPARATORS"),
        (SUBJECT, "User:/C=DE/O=Example, Inc/OU=Sales/CN=alice", "ORDER"),
        (SUBJECT, r"User:cn=alice,ou=sales,o=Example\2c Inc,c=DE", "CASE"),
        (SUBJECT, "User:CN=alice,OU=Sales", "PARTS"),
        (SUBJECT, "User:CN=alice", "PARTS"),
        (SUBJECT, "User:alice", "WHOLE_NAME"),
        (SUBJECT, "User:Alice", "WHOLE_NAME CASE"),
        ("User:CN=x", "User:x", "WHOLE_NAME"),
        (MAILED, "User:CN=a,EMAILADDRESS=a@bc.de", "KEYWORDS"),
        (MAILED, "User:E=a@bc.de,CN=a", "ORDER KEYWORDS"),
        (MAILED, "User:emailAddress=A@bc.de, CN=a", "ORDER KEYWORDS CASE"),
        ("User:CN=a,ST=Bavaria", "User:CN=a,S=Bavaria", "KEYWORDS"),
        ("User:alice", "User:alice@EXAMPLE.COM", "REALM"),
        ("User:alice", "User:alice/admin@EXAMPLE.COM", "REALM"),
        ("User:alice", "User:Alice@EXAMPLE.COM", "REALM CASE"),
        ("User:alice@EXAMPLE.COM", "User:alice@example.com", "CASE"),
    ],
)
def test_near_miss_differences(one: str, other: str, names: str) -> None:
    expected = {Difference[name] for name in names.split()}

    assert set(differences_between(one, other)) == expected
    assert set(differences_between(other, one)) == expected
    assert [miss.principal for miss in near_misses(one, [other])] == [other]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User:alice", "User:alice"),
        ("User:alice", "User:bob"),
        ("User:alice", "User:alice2"),
        ("User:alice@A", "User:alice@B"),
        ("User:kafka/a@R", "User:kafka/b@R"),
        ("User:CN=alice,O=A", "User:CN=alice,O=B"),
        ("User:CN=alice,O=A", "User:CN=bob,O=A"),
        ("User:CN=alice,O=A", "User:A"),
        ("User:alice", "User:*"),
        ("User:user", "User:alice"),
        ("User:", "User:alice"),
        ("User:=", "User:CN="),
    ],
)
def test_different_names_are_not_near_misses(one: str, other: str) -> None:
    assert near_misses(one, [other]) == []
    assert near_misses(other, [one]) == []


TEXTS = st.text(st.sampled_from("aA=,;+/@:\\\"'# C\u200b\u00e9"), max_size=12)


@given(one=TEXTS, other=TEXTS)
def test_near_misses_are_symmetric(one: str, other: str) -> None:
    differences = set(differences_between(one, other))

    assert differences == set(differences_between(other, one))
    assert not (differences and one == other)


def test_near_misses_are_sorted_by_similarity() -> None:
    world = loaded(
        allow("user:alice", READ, topic("a")),
        allow("User:CN=Alice,O=B", READ, topic("b")),
        allow("User:alice", READ, topic("c")),
        allow("User:bob", READ, topic("c")),
    )
    named = principals_of(world, Policy(super_users=frozenset({"User:Alice"})))

    misses = near_misses("User:alice", named)

    assert [miss.principal for miss in misses] == [
        "User:Alice",
        "user:alice",
        "User:CN=Alice,O=B",
    ]
