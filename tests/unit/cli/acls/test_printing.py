"""ACLs as the commands print them."""

from __future__ import annotations

from doorkeeper.cli.acls.printing import table
from testkit.acl import READ, WRITE, allow, deny, group, topic

BINDINGS = sorted(
    [
        allow("alice", READ, topic("t")),
        deny("eve", WRITE, topic("t"), "10.0.0.1"),
        allow("alice", READ, group("\u00fc")),
    ]
)


def test_table_has_a_heading() -> None:
    assert list(table(BINDINGS)) == [
        "PRINCIPAL   HOST      OPERATION  PERMISSION  RESOURCE  PATTERN  NAME",
        "User:alice  *         READ       ALLOW       TOPIC     LITERAL  t",
        "User:eve    10.0.0.1  WRITE      DENY        TOPIC     LITERAL  t",
        "User:alice  *         READ       ALLOW       GROUP     LITERAL  \u00fc",
    ]
    assert len(list(table([]))) == 1
    odd = list(table([allow("a\nb", READ, topic("\x1b[2J"))]))
    assert odd[1].split() == ["User:a\\nb", "*", "READ", "ALLOW", "TOPIC", "LITERAL", "\\x1b[2J"]
