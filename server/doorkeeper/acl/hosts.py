"""Hosts as ACLs name them: the text of an address as Java writes it, since Kafka compares texts."""

from __future__ import annotations

import ipaddress


def java_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Return an address as Java's ``InetAddress.getHostAddress`` writes it."""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    pairs = (int(pair, 16) for pair in address.exploded.partition("%")[0].split(":"))
    return ":".join(f"{pair:x}" for pair in pairs)


def java_host(host: str) -> str | None:
    """Return the text of a client at this address; None where the text is no address."""
    try:
        return java_text(ipaddress.ip_address(host))
    except ValueError:
        return None


def is_somewhere(host: str) -> bool:
    """Say whether a client can be at this host: a name or a network never matches one."""
    return java_host(host) == host
