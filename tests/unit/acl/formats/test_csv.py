"""The table of Kafka Security Manager and kafka-ui."""

from __future__ import annotations

import csv as rows_of_csv
import io

import pytest

from doorkeeper.acl.formats import csv
from testkit.acl import READ, allow, group, topic

BINDING = allow('a "b", c', READ, topic("orders"))


@pytest.mark.parametrize("header", [csv.SECURITY_MANAGER, csv.KAFKA_UI])
def test_both_headers(header: tuple[str, ...]) -> None:
    """The first column's name differs; columns are found by their names, in either spelling."""
    text = csv.write([BINDING], header)
    reordered = (
        "\ufeffHost,Principal,ResourceType,PatternType,ResourceName,Operation,PermissionType\n"
        "*,User:alice,Topic,Literal,orders,Read,Allow\n\n"
    )

    assert text == (
        f"{header[0]},ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\r\n"
        '"User:a ""b"", c",TOPIC,LITERAL,orders,READ,ALLOW,*\r\n'
    )
    assert csv.read(text) == [BINDING]
    assert csv.read(reordered) == [allow("alice", READ, topic("orders"))]


@pytest.mark.parametrize(
    "name", ["=HYPERLINK(1)", "+1", "-1", "@a", "\t=1", "\r=1", "'=1", "''-", "'a"]
)
def test_no_name_is_a_formula_of_a_spreadsheet(name: str) -> None:
    """Such a cell begins with an apostrophe; it is read back as the same name."""
    binding = allow("alice", READ, group(name))

    text = csv.write([binding])

    _, row = rows_of_csv.reader(io.StringIO(text, newline=""))
    assert row[3] == (name if name == "'a" else f"'{name}")
    assert csv.read(text) == [binding]
