"""A persistent index of the networks that the hosts of ACLs name, for a whole snapshot.

It answers which hosts of ACLs a client matches: ``*``, its own address, and the networks around
it. A cell is then asked for these few hosts, so cells need not know networks. The answer for an
address is kept: a connection has one address, and most decisions find it there.

An address that is new costs one look-up for each prefix length that occurs. That 10,000 networks
rarely contain the same address is what keeps the answers short.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from immutables import Map

from doorkeeper.acls.index import Cell, mask_for
from doorkeeper.acls.model import WILDCARD
from doorkeeper.acls.networks import IPV4_BITS, IPV6_BITS, Network, address_of, network_of

Hosts = frozenset[str]
"""The hosts of ACLs that a client matches."""

KNOWN_MAX: Final = 262_144
"""How many hosts the answers that are kept have together at most."""

MASKS_MAX: Final = 16_384
"""How many masks of cells are kept at most."""


class _Length(NamedTuple):
    """The networks of one family and prefix length: their texts by the bits of the prefix."""

    shift: int
    texts: Map[int, Map[str, bool]]


Lengths = tuple[_Length, ...]


class Networks:
    """The networks that the hosts of bindings name, with the number of bindings; never changes."""

    __slots__ = ("_counts", "_known", "_known_size", "_lengths", "_masks")

    def __init__(
        self,
        counts: Map[str, int],
        lengths: Mapping[int, Lengths],
        known: dict[str, Hosts] | None = None,
    ) -> None:
        """Take the number of bindings by host, the networks by family, and answers that hold."""
        self._counts = counts
        self._lengths = lengths
        self._known: dict[str, Hosts] = {} if known is None else known
        self._known_size = sum(map(len, self._known.values()))
        self._masks: dict[tuple[int, str], tuple[Cell, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __iter__(self) -> Iterator[str]:
        """Return the hosts, in no order."""
        return iter(self._counts)

    def matching(self, host: str) -> Hosts:
        """Return the hosts of ACLs that a client at this address matches."""
        hosts = self._known.get(host)
        if hosts is None:
            address = address_of(host)
            networks = () if address is None else self.around(address)
            hosts = frozenset((WILDCARD, host)).union(*networks)
            self._known_size += len(hosts)
            if self._known_size > KNOWN_MAX:
                self._known.clear()
                self._known_size = len(hosts)
            self._known[host] = hosts
        return hosts

    def mask_for(self, cell: Cell, host: str) -> int:
        """Return what a cell holds for a client at this address."""
        if isinstance(cell, int):
            return cell
        # A cell that is kept keeps its identity. One that has changed is another object.
        key = (id(cell), host)
        cached = self._masks.get(key)
        if cached is not None and cached[0] is cell:
            return cached[1]
        mask = mask_for(cell, self.matching(host))
        if len(self._masks) >= MASKS_MAX:
            self._masks.clear()
        self._masks[key] = (cell, mask)
        return mask

    def around(self, address: Network) -> Iterator[Collection[str]]:
        """Yield the hosts of each network that holds an address, the smallest network first."""
        value = address.first
        for shift, texts in self._lengths[address.bits]:
            hosts = texts.get(value >> shift)
            if hosts is not None:
                yield hosts

    def changed(self, differences: Mapping[str, int]) -> Networks:
        """Return the index after so many bindings more, or less, name each of these hosts.

        The index without networks is always ``NO_NETWORKS``.
        Hosts that are no networks are skipped.
        """
        counts, lengths = self._counts, self._lengths
        for host, difference in differences.items():
            network = network_of(host)
            if network is None or not difference:
                continue
            before = counts.get(host, 0)
            after = before + difference
            counts = counts.set(host, after) if after else counts.delete(host)
            if not (before and after):
                of_family = _replaced(lengths[network.bits], network, host, adds=after > 0)
                lengths = {**lengths, network.bits: of_family}
        if counts is self._counts:
            return self
        if not counts:
            return NO_NETWORKS
        # The answers hold as long as the networks are the same.
        return Networks(counts, lengths, self._known if lengths is self._lengths else None)


NO_NETWORKS: Final = Networks(Map(), {IPV4_BITS: (), IPV6_BITS: ()})


def _replaced(lengths: Lengths, network: Network, host: str, *, adds: bool) -> Lengths:
    """Return the lengths of a family with one text of a network more, or less."""
    shift = network.bits - network.length
    key = network.first >> shift
    by_prefix: Map[int, Map[str, bool]] = next(
        (length.texts for length in lengths if length.shift == shift), Map()
    )
    texts: Map[str, bool] = by_prefix.get(key, Map())
    texts = texts.set(host, True) if adds else texts.delete(host)
    by_prefix = by_prefix.set(key, texts) if texts else by_prefix.delete(key)
    others = [length for length in lengths if length.shift != shift]
    return tuple(sorted([*others, _Length(shift, by_prefix)] if by_prefix else others))
