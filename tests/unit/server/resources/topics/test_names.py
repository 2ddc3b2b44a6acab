"""Legal and illegal names of topics."""

from __future__ import annotations

import pytest

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.resources.topics.names import (
    INTERNAL_TOPICS,
    collision_key,
    error_of_missing,
    reason_invalid,
)

OTHER_CHARACTERS = (
    "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
)


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "...", "-", "x" * 249, *INTERNAL_TOPICS])
def test_legal_names(name: str) -> None:
    """ASCII letters and digits, dots, underscores, hyphens; up to 249 of them."""
    assert reason_invalid(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
        *((name, f"'{name}' {OTHER_CHARACTERS}") for name in ("a b", "ä", "a\n", "a:b")),
    ],
)
def test_illegal_names(name: str, reason: str) -> None:
    """Each has the broker's reason; a line break at the end counts as well."""
    assert reason_invalid(name) == f"Topic name is invalid: {reason}"


def test_dots_and_underscores_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") == "a_b_c"
    assert collision_key("abc") is None


def test_missing_topic_error_codes() -> None:
    """A legal name is answered with 3, an illegal one with 17."""
    assert error_of_missing("a") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert error_of_missing("a b") is ErrorCode.INVALID_TOPIC_EXCEPTION
