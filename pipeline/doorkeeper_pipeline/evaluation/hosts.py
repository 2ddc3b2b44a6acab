"""Hosts of ACLs that no client has: Kafka compares them as texts with the address of the client.

Source: ``StandardAuthorizerData.findResult``; KIP-1276 for networks, from Kafka 4.4 on.
"""

from __future__ import annotations

from doorkeeper.acls.hosts import java_host
from doorkeeper.acls.model import WILDCARD
from doorkeeper.acls.networks import network_of


def never_matches(host: str, *, networks: bool) -> str:
    """Return why the host of an ACL matches no client; empty where it may.

    ``networks``: whether hosts may be networks. The scope of an address is left to the broker.
    """
    if host == WILDCARD or "%" in host:
        return ""
    if "/" in host:
        if not networks:
            return f"{host} is a network; before Kafka 4.4 hosts are compared as strings"
        return "" if network_of(host) else f"{host} is not a valid network in Kafka"
    written = java_host(host)
    if written is None:
        return f"{host} is not an IP address, with which Kafka compares the client's address"
    return "" if written == host else f"Kafka writes the address {host} as {written}"
