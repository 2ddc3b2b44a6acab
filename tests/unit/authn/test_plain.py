"""SASL PLAIN: what is accepted, what is refused and with which words."""

from __future__ import annotations

import pytest

from doorkeeper.authn.contract import Failure, Success
from doorkeeper.authn.plain import Plain, PlainUsers

USERS = PlainUsers({"alice": "alice-secret", "ä=,b": "pass wörd", "empty": ""})


def step(token: bytes) -> Success | Failure:
    outcome = Plain(USERS).step(token)
    assert isinstance(outcome, (Success, Failure))
    return outcome


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0alice-secret", "alice"),
        (b"alice\0alice\0alice-secret", "alice"),
        ("\0ä=,b\0pass wörd".encode(), "ä=,b"),
    ],
)
def test_the_right_password_is_accepted(token: bytes, name: str) -> None:
    """Name and password as configured give the user's principal and an empty token."""
    assert step(token) == Success(name)


OTHER_NAME = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
WRONG = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"\0alice\0wrong", WRONG),
        (b"\0mallory\0alice-secret", WRONG),
        (b"\0empty\0x", WRONG),
        (b"\0\xff\xfe\0\xff", WRONG),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0empty\0", "Authentication failed: password not specified"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"a\0b", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"a\0b\0c\0d\0e\0f", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (
            b"bob\0alice\0alice-secret",
            OTHER_NAME,
        ),
        (b"bob\0alice\0wrong", WRONG),
    ],
)
def test_a_refusal_has_the_words_of_kafka(token: bytes, text: str) -> None:
    """Each fault has Kafka's text, checked in Kafka's order; more than four parts count as four."""
    assert step(token) == Failure(text, text)


def test_no_secret_shows() -> None:
    """Neither users nor a mechanism show a password, or any trace of it, when printed."""
    shown = f"{USERS!r} {Plain(USERS)!r} {USERS!s}"

    assert "secret" not in shown
    assert "3 users" in shown


def test_passwords_are_not_kept() -> None:
    """The check keeps digests of one length, whatever the passwords are."""
    users = PlainUsers({"a": "x", "b": "y" * 1000})

    assert {len(digest) for digest in users._digests.values()} == {32}
    assert b"x" not in users._digests.values()
