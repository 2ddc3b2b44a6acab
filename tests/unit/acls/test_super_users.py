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
        ("User:*", "do not support patterns"),
        ("user:admin", "User:admin"),
        ("USER:admin", "User:admin"),
    ],
)
def test_suspicious_super_users(user: str, right: str) -> None:
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
def test_super_user_with_commas_is_one_name(user: str) -> None:
    assert remark_on(user) == ""
