"""Legal and illegal names of topics."""

from __future__ import annotations

import pytest

from doorkeeper.errors import ErrorCode
from doorkeeper.topics.names import (
    INTERNAL_TOPICS,
    NAME_LENGTH_MAX,
    collision_key,
    error_of_missing,
    reason_invalid,
)


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "...", "-", "x" * NAME_LENGTH_MAX])
def test_legal_names(name: str) -> None:
    """ASCII letters and digits, dots, underscores, hyphens; up to 249 of them."""
    assert reason_invalid(name) is None


def test_kafkas_own_topics_have_legal_names() -> None:
    """They can be created by hand."""
    assert [name for name in INTERNAL_TOPICS if reason_invalid(name)] == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        (
            "x" * 250,
            f"the length of '{'x' * 250}' is longer than the max allowed length 249",
        ),
    ],
)
def test_the_reason_is_the_brokers(name: str, reason: str) -> None:
    """Word for word, with the broker's beginning."""
    assert reason_invalid(name) == f"Topic name is invalid: {reason}"


@pytest.mark.parametrize("name", ["a b", "a/b", "ä", "a\n", "a:b", "*"])
def test_illegal_characters(name: str) -> None:
    """Also a line break at the end, which patterns like to overlook."""
    assert reason_invalid(name) == (
        f"Topic name is invalid: '{name}' contains one or more characters other than"
        " ASCII alphanumerics, '.', '_' and '-'"
    )


def test_dots_and_underscores_are_the_same_in_metrics() -> None:
    """Names without either cannot collide."""
    assert collision_key("a.b_c") == collision_key("a_b.c") == "a_b_c"
    assert collision_key("abc") is None


def test_a_topic_that_is_not_there_is_unknown_or_cannot_be() -> None:
    """A legal name is answered with 3, an illegal one with 17."""
    assert error_of_missing("a") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of_missing("a b") is ErrorCode.INVALID_TOPIC_EXCEPTION
