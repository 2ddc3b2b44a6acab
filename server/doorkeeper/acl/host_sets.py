"""Hosts of ACLs as sets of clients: which lie within which, and what several cover together.

Two hosts are nested or have nothing in common: networks are, an address is in a network or not, and
every other text is a set of its own. Without networks each host but ``*`` stands for itself alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.hosts import is_somewhere
from doorkeeper.acl.model import WILDCARD
from doorkeeper.acl.networks import IPV4_BITS, Network, address_of, address_text, network_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence


class HostNode(NamedTuple):
    """A host, and the hosts within it.

    ``client`` is a client of this host that matches no host within it; None where there is none.
    """

    host: str
    client: str | None
    within: tuple[HostNode, ...] = ()


def contains(outer: str, inner: str, *, networks: bool) -> bool:
    """Say whether every client of one host is a client of the other."""
    if outer in (WILDCARD, inner):
        return True
    network = network_of(outer) if networks else None
    if network is None:
        return False
    other = network_of(inner)
    if other is not None:
        return network.contains(other)
    address = address_of(inner) if is_somewhere(inner) else None
    return address is not None and network.holds(address)


def narrower(one: str, other: str, *, networks: bool) -> str | None:
    """Return the clients that two hosts have in common, as a host; None where there is none."""
    if contains(other, one, networks=networks):
        return one
    return other if contains(one, other, networks=networks) else None


def cover_of(host: str, parts: Collection[str]) -> list[str] | None:
    """Return those of the parts of a network that cover it together; None where they do not.

    Addresses of IPv6 cover nothing: clients that differ in their zone have the same address.
    """
    network = network_of(host)
    if network is None:
        return None
    wanted = _first_of(network)
    used = []
    for first, last, part in sorted(_ranges(network, parts), key=_widest_first):
        # A gap: no part covers the address ``wanted``.
        if first > wanted:
            return None
        # A part that lies within the parts before it adds nothing.
        if last >= wanted:
            used.append(part)
            wanted = last + 1
        if wanted > network.last:
            return used
    return None


def _ranges(network: Network, hosts: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    for host in hosts:
        part = network_of(host)
        if part is not None:
            if network.contains(part):
                yield _first_of(part), part.last, host
            continue
        address = address_of(host) if is_somewhere(host) else None
        if address is not None and address.bits == IPV4_BITS and network.holds(address):
            yield address.value, address.value, host


def _widest_first(found: tuple[int, int, str]) -> tuple[int, int, str]:
    first, last, host = found
    return first, -last, host


def _first_of(network: Network) -> int:
    # No network matches 0.0.0.0.
    return max(network.first, 1) if network.bits == IPV4_BITS else network.first


def tree_of(hosts: Iterable[str], *, networks: bool) -> tuple[HostNode, ...]:
    """Return hosts, without ``*``, nested as they lie within each other; sorted at each level.

    Of several texts of one network the first stands for all.
    """
    by_network: dict[Network, str] = {}
    others = []
    for host in sorted(set(hosts) - {WILDCARD}):
        network = network_of(host) if networks else None
        if network is None:
            others.append(host)
        else:
            by_network.setdefault(network, host)
    inside: dict[Network | None, list[Network]] = {}
    open_networks: list[Network] = []
    for network in sorted(by_network):
        while open_networks and not open_networks[-1].contains(network):
            open_networks.pop()
        inside.setdefault(open_networks[-1] if open_networks else None, []).append(network)
        open_networks.append(network)
    alone: dict[Network | None, list[str]] = {}
    for host in others:
        alone.setdefault(_innermost(host, by_network), []).append(host)

    def nodes(around: Network | None) -> tuple[HostNode, ...]:
        found = [HostNode(host, host) for host in alone.get(around, ())]
        for network in inside.get(around, ()):
            client = _client_of(network, inside.get(network, ()), alone.get(network, ()))
            found.append(HostNode(by_network[network], client, nodes(network)))
        return tuple(sorted(found))

    return nodes(None)


def _innermost(host: str, networks: Collection[Network]) -> Network | None:
    address = address_of(host) if networks and is_somewhere(host) else None
    if address is None:
        return None
    around = [each for each in networks if each.holds(address)]
    return max(around, key=lambda each: each.length, default=None)


def _client_of(network: Network, inner: Sequence[Network], addresses: Sequence[str]) -> str | None:
    """Return the first address of a network that is in none of these."""
    taken = [(_first_of(each), each.last) for each in inner]
    found = [address for host in addresses if (address := address_of(host)) is not None]
    taken += [(address.value, address.value) for address in found]
    free = _first_of(network)
    for first, last in sorted(taken):
        if first > free:
            break
        # Ranges may lie within each other: their ends do not ascend.
        free = max(free, last + 1)
    return address_text(network.bits, free) if free <= network.last else None


def clients_of(nodes: Iterable[HostNode]) -> Iterator[str]:
    """Yield a client for each host of a tree that clients can have, alike to all others of it."""
    for node in nodes:
        if node.client is not None and is_somewhere(node.client):
            yield node.client
        yield from clients_of(node.within)
