"""Addresses as Java writes them, and binding."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.net.addresses import (
    BindError,
    bound_socket,
    connection_id,
    java_host_address,
)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("10.0.0.7", 1), "10.0.0.7"),
        (("::1", 1, 0, 0), "0:0:0:0:0:0:0:1"),
        (("::", 1, 0, 0), "0:0:0:0:0:0:0:0"),
        (("::ffff:10.0.0.7", 1, 0, 0), "10.0.0.7"),
        (("::ffff:a00:7", 1, 0, 0), "10.0.0.7"),
        (("2001:DB8::00AB:0", 1, 0, 0), "2001:db8:0:0:0:0:ab:0"),
        (("fe80::1%eth0", 1, 0, 2), "fe80:0:0:0:0:0:0:1%2"),
        (("fe80::1", 1, 0, 3), "fe80:0:0:0:0:0:0:1%3"),
    ],
)
def test_hosts_are_written_as_java_does(address: tuple[Any, ...], text: str) -> None:
    """Mapped IPv4 as four numbers, IPv6 as eight groups in lower case, then the interface."""
    assert java_host_address(address) == text


def test_a_connection_id_names_both_ends() -> None:
    """Local, remote, processor, number: the form of brokers since 3.9."""
    found = connection_id(("::ffff:127.0.0.1", 9092, 0, 0), ("::1", 5000, 0, 0), 0, 12)

    assert found == "127.0.0.1:9092-0:0:0:0:0:0:0:1:5000-0-12"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("198.51.100.1", "this machine has no such address"),
        ("no-such-host.invalid", "the host is unknown"),
    ],
)
def test_an_address_of_others_is_one_clear_line(host: str, reason: str) -> None:
    """An address that this machine does not have, and a host that nobody knows."""
    with pytest.raises(BindError, match=f"listener A: cannot bind {host}:0: {reason}"):
        bound_socket("A", host, 0)
