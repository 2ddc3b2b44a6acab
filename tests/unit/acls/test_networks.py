"""Hosts that are networks, read as Kafka 4.4 reads them; tests/conformance compares with Kafka."""

from __future__ import annotations

import pytest

from doorkeeper.acls.networks import (
    InvalidNetwork,
    Network,
    address_of,
    address_text,
    network_of,
    parse_network,
)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.2.3/8", "10.0.0.0/8"),
        ("010.0.0.0/08", "10.0.0.0/8"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("10.1.2.3/32", "10.1.2.3/32"),
        ("2001:DB8::1/32", "2001:db8:0:0:0:0:0:0/32"),
        ("[::]/+0", "0:0:0:0:0:0:0:0/0"),
        ("::1/128", "0:0:0:0:0:0:0:1/128"),
        ("fe80::1%3/64", "fe80:0:0:0:0:0:0:0/64"),
        ("64:ff9b::10.0.0.1/96", "64:ff9b:0:0:0:0:0:0/96"),
        ("::/\u0663\u0662", "0:0:0:0:0:0:0:0/32"),
    ],
)
def test_networks_are_parsed_as_in_kafka(host: str, network: str) -> None:
    assert str(parse_network(host)) == network
    assert network_of(host) == parse_network(host)


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("10.0.0.0/33", "Value [33] not in range [0,32]"),
        ("256.0.0.0/8", "Value [256] not in range [0,255]"),
        ("10.0.0/8", "Could not parse [10.0.0/8]"),
        ("host/24", "Could not parse [host/24]"),
        ("::/129", "Could not parse [::/129] - prefix length must be between 0 and 128"),
        ("::/x", "Could not parse [::/x] - invalid prefix length"),
        (
            "::/99999999999999999999",
            "Could not parse [::/99999999999999999999] - invalid prefix length",
        ),
        ("::ffff:10.0.0.0/104", "Could not parse [::ffff:10.0.0.0] - not an IPv6 address"),
        ("::ffff:10.0.0.0%1/104", "Could not parse [::ffff:10.0.0.0%1]"),
        ("1:2:::/16", "Could not parse [1:2:::]"),
        ("12345::/16", "Could not parse [12345::]"),
        ("[::1/16", "Could not parse [[::1]"),
        ("fe80::1%eth9/64", "Could not parse [fe80::1%eth9]"),
        ("1:2:3:4:5:6:7:1.2.3.4/64", "Could not parse [1:2:3:4:5:6:7:1.2.3.4]"),
        ("::1.2.3/64", "Could not parse [::1.2.3]"),
        ("::1.2.3.256/64", "Could not parse [::1.2.3.256]"),
    ],
)
def test_invalid_networks_are_rejected_with_kafkas_text(host: str, reason: str) -> None:
    """Each has Kafka's reason."""
    with pytest.raises(InvalidNetwork) as refused:
        parse_network(host)

    assert str(refused.value) == reason
    assert network_of(host) is None


@pytest.mark.parametrize(
    ("network", "client", "inside"),
    [
        ("10.0.0.0/8", "10.255.255.255", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("0.0.0.0/0", "0.0.0.1", True),
        ("0.0.0.0/0", "2001:db8:0:0:0:0:0:5", False),
        ("::/0", "10.0.0.1", False),
        ("::/0", "0:0:0:0:0:0:0:0", True),
        ("fe80::/10", "fe80:0:0:0:0:0:0:1%2", True),
        ("2001:db8::/127", "2001:db8:0:0:0:0:0:2", False),
    ],
)
def test_network_membership(network: str, client: str, inside: bool) -> None:
    address = address_of(client)

    assert address is not None
    assert parse_network(network).contains(address) is inside
    assert address_text(address.bits, address.first) == client.partition("%")[0]


@pytest.mark.parametrize("host", ["0.0.0.0", "host", "*", "10.0.0.256", "1:2", "fe80::1%eth9"])
def test_non_addresses_are_in_no_network(host: str) -> None:
    """The address 0.0.0.0 and what is no address; without a slash no host is a network."""
    assert address_of(host) is None
    assert network_of(host) is None


def test_network_containment() -> None:
    ten = parse_network("10.0.0.0/8")

    assert ten.contains(ten)
    assert ten.contains(parse_network("10.3.0.0/16"))
    assert not ten.contains(parse_network("0.0.0.0/0"))
    assert not ten.contains(parse_network("11.0.0.0/16"))
    assert not Network(128, 0, 0).contains(ten)
    assert ten.last == ten.first + (1 << 24) - 1
