"""Hosts of ACLs as sets of clients: their classes, nested, and what several cover together.

Two hosts are nested or have nothing in common: networks are, an address is in a network or not, and
every other text is a set of its own. Without networks each host but ``*`` stands for itself alone.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from doorkeeper.acls.hosts import is_somewhere, range_of
from doorkeeper.acls.model import WILDCARD
from doorkeeper.acls.networks import (
    IPV4_BITS,
    IPV6_BITS,
    Network,
    address_of,
    address_text,
    network_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from doorkeeper.acls.network_index import Networks

V = TypeVar("V")

_EXAMPLES: Final = ("192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8:0:0:0:0:0:1")
"""Addresses for documentation (RFC 5737 and 3849)."""

_NO_RANGE: Final = Network(IPV4_BITS, 0, IPV4_BITS)
"""Stands where a host, 0.0.0.0, is in no network."""

_NOWHERE: Final = "0.0.0.0"  # noqa: S104  no socket is bound: no network holds this address


class HostClass(Struct, frozen=True):
    """Clients with one decision: those of a host that match none of the hosts within it.

    ``client`` is one of them; None where there is none. ``parent`` is the index of the class that
    it lies within, -1 for the outermost one.
    """

    host: str
    client: str | None
    parent: int


def contains(outer: str, inner: str, *, networks: bool) -> bool:
    """Say whether every client of one host is a client of the other."""
    if outer in (WILDCARD, inner):
        return True
    network = network_of(outer) if networks else None
    within = None if network is None else range_of(inner)
    return network is not None and within is not None and network.contains(within)


def narrower(one: str, other: str, *, networks: bool) -> str | None:
    """Return the clients that two hosts have in common, as a host; None where there is none."""
    if contains(other, one, networks=networks):
        return one
    return other if contains(one, other, networks=networks) else None


def cover_of(
    host: str, networks: Networks | None, held: Callable[[str], V | None]
) -> list[V] | None:
    """Return what is held for hosts that cover a host together; None where they do not.

    One host, or several networks and addresses that cover a network, from its first address on.
    ``held`` returns None for a host that does not count. ``networks`` holds all networks that may
    count; None compares hosts as texts. O(prefix lengths) for each part of the cover.
    """
    network = network_of(host) if networks is not None else None
    if networks is None or network is None:
        for enclosing in _around(host, networks):
            if (value := held(enclosing)) is not None:
                return [value]
        return None
    cover: list[V] = []
    # A network of the address 0.0.0.0 alone holds no client.
    next_address = min(_first_of(network), network.last)
    while next_address <= network.last:
        for part in _at(Network(network.bits, next_address, network.bits), networks):
            if (value := held(part)) is not None:
                break
        else:
            return None
        if contains(part, host, networks=True):
            return [value]
        cover.append(value)
        # The widest part comes first, so that the next one begins behind it.
        covered = network_of(part)
        next_address = (next_address if covered is None else covered.last) + 1
    return cover


def _around(host: str, networks: Networks | None) -> Iterator[str]:
    """Yield the hosts that contain a host, which is no network, the widest first."""
    yield WILDCARD
    address = None if networks is None else range_of(host)
    if networks is not None and address is not None:
        yield from _networks_around(address, networks)
    if host != WILDCARD:
        yield host


def _at(address: Network, networks: Networks) -> Iterator[str]:
    """Yield the hosts that hold every client at an address, the widest first.

    Clients that differ in their zone have the same IPv6 address: its text holds one of them.
    """
    yield WILDCARD
    yield from _networks_around(address, networks)
    if address.bits == IPV4_BITS:
        yield address_text(address.bits, address.first)


def _networks_around(address: Network, networks: Networks) -> Iterator[str]:
    # Sorted: the texts of one network have no order of their own.
    for texts in reversed(tuple(networks.around(address))):
        yield from sorted(texts)


class HostTable(Generic[V]):
    """Values by host, found by the clients that their hosts share with another one. Static."""

    def __init__(self, values: Iterable[tuple[str, V]], networks: Networks | None) -> None:
        """Take values with their hosts; ``networks`` as in ``cover_of``."""
        self._values: dict[str, list[V]] = {}
        for host, value in values:
            self._values.setdefault(host, []).append(value)
        self._networks = networks
        self._ranges: list[tuple[int, int, int, str]] = []
        """Family, first and last address of each host that lies in networks, in order."""
        if networks is not None:
            self._ranges = sorted(
                (within.bits, within.first, within.last, host)
                for host in self._values
                if (within := range_of(host)) is not None
            )

    def overlapping(self, host: str) -> Iterator[V]:
        """Yield the values whose hosts have a client in common with a host."""
        hosts = self._values if host == WILDCARD else dict.fromkeys(self._overlapping(host))
        for other in hosts:
            yield from self._values.get(other, ())

    def _overlapping(self, host: str) -> Iterator[str]:
        """Yield the hosts; some are not in the table, and some come twice."""
        network = network_of(host) if self._networks is not None else None
        if self._networks is None or network is None:
            yield from _around(host, self._networks)
            return
        yield WILDCARD
        for enclosing in _networks_around(network, self._networks):
            if contains(enclosing, host, networks=True):
                yield enclosing
        for at in range(bisect_left(self._ranges, network[:2]), len(self._ranges)):
            bits, first, last, within = self._ranges[at]
            if (bits, first) > (network.bits, network.last):
                break
            # A wider network may begin at the same address.
            if last <= network.last:
                yield within


def _first_of(network: Network) -> int:
    # No network matches 0.0.0.0.
    return max(network.first, 1) if network.bits == IPV4_BITS else network.first


def host_classes(
    hosts: Iterable[str], *, networks: bool, within: str = WILDCARD
) -> list[HostClass]:
    """Return the classes of the clients of a host, ``*`` or a network, each before those within it.

    ``hosts`` are those that ACLs name; ``networks`` says whether networks match the clients in
    them. Hosts that no client can have are left out; of several texts of one network the first
    stands for all.
    """
    scope = network_of(within)
    if scope is None and within != WILDCARD:
        return [HostClass(within, within, -1)]
    named = {} if scope is None else {scope: within}
    addresses: list[tuple[Network, bool, str]] = []
    nowhere = []
    for host in sorted(set(hosts) - {WILDCARD}):
        network = network_of(host) if networks else None
        if network is not None:
            named.setdefault(network, host)
        elif is_somewhere(host):
            address = address_of(host)
            if address is None:
                nowhere.append((host, _NO_RANGE, True))
            else:
                addresses.append((address, True, host))
    inner = _nested([*addresses, *((network, False, host) for network, host in named.items())])
    inner[None] = [*inner.get(None, ()), *nowhere]
    classes: list[HostClass] = []

    def add(outer: Network | None, client: str | None, host: str, parent: int) -> None:
        index = len(classes)
        classes.append(HostClass(host, client, parent))
        for inner_host, network, is_address in sorted(inner.get(outer, ())):
            if is_address:
                classes.append(HostClass(inner_host, inner_host, index))
            else:
                add(network, client_in(network), inner_host, index)

    def client_in(network: Network) -> str | None:
        return _client_of(network, [range_ for _, range_, _ in inner.get(network, ())])

    outermost = [host for host, *_ in inner[None]]
    add(scope, _client_outside(outermost) if scope is None else client_in(scope), within, -1)
    return classes


def _nested(
    parts: Iterable[tuple[Network, bool, str]],
) -> dict[Network | None, list[tuple[str, Network, bool]]]:
    """Return networks and addresses by the smallest network around them; None where there is none.

    Each part says whether it is an address, and has its host.
    """
    inner: dict[Network | None, list[tuple[str, Network, bool]]] = {}
    around: list[Network] = []
    # Sorted, each part comes behind the networks around it.
    for network, is_address, host in sorted(parts):
        while around and not around[-1].contains(network):
            around.pop()
        inner.setdefault(around[-1] if around else None, []).append((host, network, is_address))
        if not is_address:
            around.append(network)
    return inner


def _client_of(network: Network, ranges: Iterable[Network]) -> str | None:
    """Return the first address of a network that is in none of these."""
    free = _first_of(network)
    for inner in sorted(ranges):
        if _first_of(inner) > free:
            break
        # Ranges may lie within each other: their ends do not ascend.
        free = max(free, inner.last + 1)
    return address_text(network.bits, free) if free <= network.last else None


def _client_outside(hosts: Sequence[str]) -> str | None:
    """Return a client that matches none of some hosts; None where there is none."""
    ranges = [within for host in hosts if (within := range_of(host)) is not None]
    for example in _EXAMPLES:
        address = address_of(example)
        assert address is not None
        if not any(within.contains(address) for within in ranges):
            return example
    for bits in (IPV4_BITS, IPV6_BITS):
        family = [within for within in ranges if within.bits == bits]
        if (client := _client_of(Network(bits, 0, 0), family)) is not None:
            return client
    return None if _NOWHERE in hosts else _NOWHERE
