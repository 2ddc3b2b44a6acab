"""The table of Kafka Security Manager and kafka-ui."""

from __future__ import annotations

import pytest

from doorkeeper.acl.formats import csv
from testkit.acl import READ, allow, topic

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
