"""The standard authorizer's configuration."""

from __future__ import annotations

import re

import pytest

from doorkeeper.server.authorizer.authorizer_log import FORMS
from doorkeeper.server.authorizer.standard_keys import read_form, read_policy

FOUND = "doorkeeper.authorizer.log.format: found 3.0; allowed: 4.2, 3.3, 2.4, 2.0, 1.0"


def test_super_users_are_separated_by_semicolons() -> None:
    """Blanks around them and empty ones do not count; commas belong to names."""
    policy = read_policy({"super.users": " User:a;;User:CN=b,O=c ; User:*;"})

    assert policy.super_users == {"User:a", "User:CN=b,O=c", "User:*"}


def test_no_break_space_is_part_of_a_name() -> None:
    """Java's trim leaves it there: User:admin without it is no super user."""
    policy = read_policy({"super.users": "User:admin\u00a0;User:b\u0001"})

    assert policy.super_users == {"User:admin\u00a0", "User:b"}


def test_defaults_deny_everything() -> None:
    """As in Kafka."""
    policy = read_policy({})

    assert policy.super_users == frozenset()
    assert policy.allow_everyone is False


def test_super_user_without_colon_stops_the_start() -> None:
    text = "super.users: expected a string in format principalType:principalName but got alice"
    with pytest.raises(ValueError, match=f"^{text}$"):
        read_policy({"super.users": "User:a;alice"})


@pytest.mark.parametrize(
    ("value", "allowed"),
    [("true", True), (" TRUE ", True), ("false", False), ("yes", False), ("", False)],
)
def test_only_true_opens_to_everyone(value: str, *, allowed: bool) -> None:
    """Case and blanks do not matter; anything else means false."""
    assert read_policy({"allow.everyone.if.no.acl.found": value}).allow_everyone is allowed


def test_log_format_is_selected_by_release() -> None:
    assert read_form({}) is FORMS["4.2"]
    assert read_form({"doorkeeper.authorizer.log.format": " 2.4 "}) is FORMS["2.4"]
    with pytest.raises(ValueError, match=f"^{re.escape(FOUND)}$"):
        read_form({"doorkeeper.authorizer.log.format": "3.0"})
