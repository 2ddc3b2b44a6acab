"""Principals, and how bindings sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.model import (
    AclOperation,
    AclPermissionType,
    PatternType,
    Principal,
    ResourceType,
)
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic

if TYPE_CHECKING:
    from enum import IntEnum


def test_principal_splits_at_first_colon() -> None:
    assert Principal.parse("User:a:b") == Principal("User", "a:b")
    assert Principal.parse(":y") == Principal("", "y")
    assert str(Principal("User", "CN=a,O=b")) == "User:CN=a,O=b"


def test_principal_without_colon_is_rejected() -> None:
    """The text is the one that Kafka's start shows."""
    with pytest.raises(
        ValueError,
        match=r"^expected a string in format principalType:principalName but got alice$",
    ):
        Principal.parse("alice")


def test_bindings_sort_in_response_order() -> None:
    ordered = [
        allow("a", READ, topic("a")),
        deny("a", READ, topic("a", PREFIXED)),
        allow("a", READ, topic("a", PREFIXED)),
        allow("a", WRITE, topic("a", PREFIXED)),
        allow("a", READ, topic("a", PREFIXED), "10.0.0.1"),
        allow("b", READ, topic("a", PREFIXED)),
        allow("a", READ, topic("b")),
        allow("a", READ, group("a")),
    ]

    shuffled = ordered[::-1]
    assert sorted(shuffled) == ordered


@pytest.mark.parametrize("codes", [ResourceType, PatternType, AclOperation, AclPermissionType])
def test_unknown_codes_decode_as_unknown(codes: type[IntEnum]) -> None:
    """As fromCode of Java's enums (KIP-140); what is no number is refused."""
    assert [codes(code).name for code in (99, -1, 127)] == ["UNKNOWN"] * 3
    assert codes(2).name != "UNKNOWN"
    with pytest.raises(ValueError, match="is not a valid"):
        codes("READ")  # type: ignore[arg-type]
