"""ACLs as the commands print them."""

from __future__ import annotations

import json

from doorkeeper.acl.formats import records
from doorkeeper.cli.acls.printing import as_json, binding_text, listed, table
from testkit.acl import READ, WRITE, allow, deny, group, topic

BINDINGS = sorted(
    [
        allow("alice", READ, topic("t")),
        deny("eve", WRITE, topic("t"), "10.0.0.1"),
        allow("alice", READ, group("\u00fc")),
    ]
)


def test_kafkas_text_has_a_block_for_each_resource() -> None:
    """As kafka-acls.sh --list writes it."""
    first, second = listed(BINDINGS)

    assert first == (
        "Current ACLs for resource"
        " `ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)`:\n"
        "\t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)\n"
        "\t(principal=User:eve, host=10.0.0.1, operation=WRITE, permissionType=DENY)\n"
    )
    assert "name=\u00fc" in second
    assert list(listed([])) == []
    assert binding_text(BINDINGS[0]) == (
        "(pattern=ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL),"
        " entry=(principal=User:alice, host=*, operation=READ, permissionType=ALLOW))"
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


def test_json_is_a_set_of_acls() -> None:
    """Which other commands take."""
    found = json.loads(as_json(BINDINGS))

    assert records.read_json(as_json(BINDINGS)) == BINDINGS
    assert len(found["acls"]) == 3
    assert found["acls"][1] == {
        "resourceType": "TOPIC",
        "name": "t",
        "patternType": "LITERAL",
        "principal": "User:eve",
        "host": "10.0.0.1",
        "operation": "WRITE",
        "permissionType": "DENY",
    }
