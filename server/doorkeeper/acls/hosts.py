"""Hosts as ACLs name them: the text of an address as Java writes it, since Kafka compares texts."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from doorkeeper.acls.networks import IPV6_BITS, Network, address_of, address_text, network_of


def java_text(address: IPv4Address | IPv6Address) -> str:
    """Return an address as Java's ``InetAddress.getHostAddress`` writes it, with its scope."""
    if isinstance(address, IPv4Address):
        return str(address)
    # Java's ``InetAddress`` converts a mapped address to IPv4.
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    text = address_text(IPV6_BITS, int(address))
    return text if address.scope_id is None else f"{text}%{address.scope_id}"


# A set of ACLs names the same few addresses again and again.
@lru_cache(maxsize=1024)
def java_host(host: str) -> str | None:
    """Return the text of a client at this address; None where the text is no address."""
    try:
        return java_text(ip_address(host))
    except ValueError:
        return None


def is_somewhere(host: str) -> bool:
    """Say whether a client can be at this host: a name or a network never matches one."""
    return java_host(host) == host


def range_of(host: str) -> Network | None:
    """Return the addresses of the clients that are at a host; None if it names none.

    Clients that differ in their zone have the same IPv6 address.
    """
    return network_of(host) or (address_of(host) if is_somewhere(host) else None)
