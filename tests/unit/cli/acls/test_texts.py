"""Rows of ACLs."""

from __future__ import annotations

import pytest

from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import CLUSTER_NAME, AclBinding, AclOperation, ResourceType
from doorkeeper.cli.acls.texts import (
    binding_of_row,
    names_words,
    resource_words,
    row,
)
from testkit.acl import PREFIXED, READ, allow, deny, group, topic

ODD = [
    allow("a", READ, topic("t")),
    deny("User:CN=a,O=b c", AclOperation.ALL, topic("a b'\"$(x)", PREFIXED), "10.0.0.1"),
    allow("Group:g", AclOperation.DESCRIBE_CONFIGS, group("*")),
    allow("--x", READ, topic("--force")),
]


@pytest.mark.parametrize("binding", ODD)
def test_a_row_can_be_given_back(binding: AclBinding) -> None:
    """Commas and quotes too."""
    assert binding_of_row(row(binding)) == binding


def test_a_row_moves_no_cursor() -> None:
    """What does not print is escaped."""
    assert row(allow("a", READ, topic("\x1b[2J"))) == "User:a,TOPIC,LITERAL,\\x1b[2J,READ,ALLOW,*"


def test_what_is_no_row_is_told() -> None:
    """Not one, or not of seven cells."""
    with pytest.raises(FormatError, match="found 3 cells"):
        binding_of_row("a,b,c")
    with pytest.raises(FormatError, match="found 0 rows"):
        binding_of_row("")


def test_words() -> None:
    """As people read them."""
    assert resource_words(ResourceType.CLUSTER, CLUSTER_NAME) == "the cluster"
    assert resource_words(ResourceType.USER, "User:a") == "user User:a"
    assert names_words(allow("a", READ, topic("t"))) == "topic t"
    assert names_words(allow("a", READ, topic("*"))) == "every topic"
    assert names_words(allow("a", READ, group("g", PREFIXED))) == "every group that begins with 'g'"
