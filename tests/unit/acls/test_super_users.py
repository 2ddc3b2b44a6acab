"""What looks like several super users, or like a pattern."""

from __future__ import annotations

import pytest

from doorkeeper.acls.super_users import remark_on


@pytest.mark.parametrize(
    ("user", "right"),
    [
        ("User:admin,User:ops", "User:admin;User:ops"),
        ("User:admin, User:ops", "User:admin;User:ops"),
        ("User:admin,ops", "User:admin;User:ops"),
        ("User:CN=a,OU=b,User:ops", "User:CN=a,OU=b;User:ops"),
        ("User:*", "no patterns"),
        ("user:admin", "User:admin"),
        ("USER:admin", "User:admin"),
    ],
)
def test_remarks(user: str, right: str) -> None:
    """Each says what to write."""
    assert right in remark_on(user)


@pytest.mark.parametrize(
    "user",
    [
        "User:admin",
        "User:CN=a,OU=b,O=Example\\, Inc",
        "User:CN=a, OU=b",
        "Group:ops",
        "User:a*b",
        "x",
    ],
)
def test_one_name(user: str) -> None:
    """The commas of a distinguished name belong to it."""
    assert remark_on(user) == ""
