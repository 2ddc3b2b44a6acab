"""The text of kafka-acls.sh --list."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats import listing, records
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclOperation
from testkit.acl import PREFIXED, READ, allow, deny, group, topic


def test_read_listings_before_kafka_4() -> None:
    """Those before 4.0, and those before prefixes were invented."""
    text = (
        "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders,"
        " patternType=LITERAL)`: \n"
        " \t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW) \n\n"
        "Current ACLs for resource `Topic:PREFIXED:ord`: \n"
        " \tUser:alice has Allow permission for operations: Read from hosts: * \n\n"
        "Current ACLs for resource `Group:g`: \n"
        " \tUser:bob has Deny permission for operations: All from hosts: 10.0.0.1 \n"
    )

    assert listing.read(text).bindings == [
        allow("alice", READ, topic("orders")),
        allow("alice", READ, topic("ord", PREFIXED)),
        deny("bob", AclOperation.ALL, group("g"), "10.0.0.1"),
    ]


def test_names_that_contain_listing_syntax() -> None:
    binding = allow("x, host=*, operation=READ", READ, topic("a, patternType=PREFIXED)`: b"))

    assert listing.read(listing.write([binding])).bindings == [binding]


def test_host_with_commas_is_read_as_it_is_written() -> None:
    """Brokers before 4.4 store any text; a listing with one such ACL was not read at all."""
    binding = allow("a", READ, topic("t"), "10.0.0.1,10.0.0.2")

    assert listing.read(listing.write([binding])).bindings == [binding]
    with pytest.raises(FormatError, match="cannot represent this host"):
        listing.write([allow("a", READ, topic("t"), "1, host=2")])


def test_output_of_add_belongs_to_the_added_resource() -> None:
    """Its first ACLs were read as those of the resource before them: bob could read ``orders``."""
    orders = listing.write([allow("alice", READ, topic("orders"))])
    payments = listing.write([allow("bob", READ, topic("pay"))])
    added = payments.replace("Current", "Adding")

    assert listing.is_listing(added)
    assert listing.read(orders + added + payments).bindings == [
        allow("alice", READ, topic("orders")),
        allow("bob", READ, topic("pay")),
    ]


@pytest.mark.parametrize("text", ["", "\n \r\n", "ACLs for principal `User:alice`\n"])
def test_listing_without_acls_is_rejected(text: str) -> None:
    """What kafka-acls.sh leaves behind when it fails would otherwise ask for no ACLs at all."""
    with pytest.raises(FormatError, match="no ACLs; perhaps") as caught:
        listing.read(text)

    _, _, meant = str(caught.value).partition("JSON file with ")
    assert records.read_yaml(meant).bindings == records.read_json(meant).bindings == []
