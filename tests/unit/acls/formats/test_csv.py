"""The table of Kafka Security Manager and kafka-ui."""

from __future__ import annotations

import csv as rows_of_csv
import io

import pytest

from doorkeeper.acls.formats import csv
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclBinding, AclOperation
from testkit.acl import PREFIXED, READ, allow, deny, group, topic

BINDING = allow('a "b", c', READ, topic("orders"))


@pytest.mark.parametrize("header", [csv.SECURITY_MANAGER, csv.KAFKA_UI])
def test_both_csv_headers_are_read(header: tuple[str, ...]) -> None:
    text = csv.write([BINDING], header)
    reordered = (
        "\ufeffHost,Principal,ResourceType,PatternType,ResourceName,Operation,PermissionType\n"
        "*,User:alice,Topic,Literal,orders,Read,Allow\n\n"
    )

    assert text == (
        f"{header[0]},ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\r\n"
        '"User:a ""b"", c",TOPIC,LITERAL,orders,READ,ALLOW,*\r\n'
    )
    assert csv.read(text).bindings == [BINDING]
    assert csv.read(reordered).bindings == [allow("alice", READ, topic("orders"))]


@pytest.mark.parametrize(
    "name", ["=HYPERLINK(1)", "+1", "-1", "@a", "\t=1", "\r=1", "'=1", "''-", "'a"]
)
def test_csv_cells_are_never_formulas(name: str) -> None:
    binding = allow("alice", READ, group(name))

    text = csv.write([binding])

    _, row = rows_of_csv.reader(io.StringIO(text, newline=""))
    assert row[3] == (name if name == "'a" else f"'{name}")
    assert csv.read(text).bindings == [binding]


ODD = [
    allow("a", READ, topic("t")),
    deny("User:CN=a,O=b c", AclOperation.ALL, topic("a b'\"$(x)", PREFIXED), "10.0.0.1"),
    allow("Group:g", AclOperation.DESCRIBE_CONFIGS, group("*")),
    allow("--x", READ, topic("--force")),
]


@pytest.mark.parametrize("binding", ODD)
def test_row_round_trips(binding: AclBinding) -> None:
    assert csv.binding_of_row(csv.row_of(binding)) == binding


def test_invalid_row_is_rejected() -> None:
    with pytest.raises(FormatError, match="found 3 fields"):
        csv.binding_of_row("a,b,c")
    with pytest.raises(FormatError, match="found 0 rows"):
        csv.binding_of_row("")
