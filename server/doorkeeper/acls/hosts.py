"""Hosts as ACLs name them: the text of an address as Java writes it, since Kafka compares texts."""

from __future__ import annotations

import ipaddress
import struct
from functools import lru_cache


def java_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Return an address as Java's ``InetAddress.getHostAddress`` writes it, with its scope."""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    # Java's ``InetAddress`` converts a mapped address to IPv4.
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    # Java neither abbreviates zeros to "::" nor pads groups.
    text = ":".join(f"{pair:x}" for pair in struct.unpack("!8H", address.packed))
    return text if address.scope_id is None else f"{text}%{address.scope_id}"


# A set of ACLs names the same few addresses again and again.
@lru_cache(maxsize=1024)
def java_host(host: str) -> str | None:
    """Return the text of a client at this address; None where the text is no address."""
    try:
        return java_text(ipaddress.ip_address(host))
    except ValueError:
        return None


def is_somewhere(host: str) -> bool:
    """Say whether a client can be at this host: a name or a network never matches one."""
    return java_host(host) == host
