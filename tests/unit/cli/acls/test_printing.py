"""ACLs as the commands print them."""

from __future__ import annotations

import pytest

from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import AclBinding, AclOperation
from doorkeeper.cli.acls.printing import (
    binding_of_row,
    row,
    table,
)
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic

BINDINGS = sorted(
    [
        allow("alice", READ, topic("t")),
        deny("eve", WRITE, topic("t"), "10.0.0.1"),
        allow("alice", READ, group("\u00fc")),
    ]
)


def test_a_table_has_columns() -> None:
    """A heading, also where there is nothing under it."""
    assert list(table(BINDINGS)) == [
        "PRINCIPAL   HOST      OPERATION  PERMISSION  RESOURCE  PATTERN  NAME",
        "User:alice  *         READ       ALLOW       TOPIC     LITERAL  t",
        "User:eve    10.0.0.1  WRITE      DENY        TOPIC     LITERAL  t",
        "User:alice  *         READ       ALLOW       GROUP     LITERAL  \u00fc",
    ]
    assert len(list(table([]))) == 1
    odd = list(table([allow("a\nb", READ, topic("\x1b[2J"))]))
    assert odd[1].split() == ["User:a\\nb", "*", "READ", "ALLOW", "TOPIC", "LITERAL", "\\x1b[2J"]


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


def test_what_is_no_row_is_told() -> None:
    """Not one, or not of seven cells."""
    with pytest.raises(FormatError, match="found 3 cells"):
        binding_of_row("a,b,c")
    with pytest.raises(FormatError, match="found 0 rows"):
        binding_of_row("")
