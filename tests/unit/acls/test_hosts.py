"""Hosts as ACLs name them."""

from __future__ import annotations

import pytest

from doorkeeper.acls.hosts import is_somewhere, java_host


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:db8::AB", "2001:db8:0:0:0:0:0:ab"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1%2"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("broker.example", None),
        ("10.0.0.0/8", None),
        ("*", None),
    ],
)
def test_addresses_are_formatted_as_in_java(text: str, written: str | None) -> None:
    """No zeros in front, nothing left out, with the scope; IPv4 in IPv6 as IPv4; no names."""
    assert java_host(text) == written


@pytest.mark.parametrize(
    ("host", "somewhere"),
    [("10.0.0.7", True), ("0:0:0:0:0:0:0:1", True), ("::1", False), ("host.example", False)],
)
def test_where_a_client_can_be(host: str, somewhere: bool) -> None:
    """At an address that is written as a broker writes it."""
    assert is_somewhere(host) is somewhere
