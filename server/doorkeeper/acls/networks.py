"""Networks as Kafka 4.4 reads them in the host of an ACL (KIP-1276): ``address/prefix length``.

A host without a slash is an address, compared as text. Kafka reads the others with Java's classes,
which differ from ``ipaddress``: host bits may be set (``10.1.2.3/8``), octets and IPv4 prefix
lengths may have leading zeros, an IPv6 prefix length may have a sign and Unicode digits, an IPv6
address may stand in brackets, and an IPv4-mapped one is refused.

The families do not mix: ``::/0`` contains no IPv4 address, and ``0.0.0.0/0`` no IPv6 address. The
address 0.0.0.0 is in no network.

Sources: ``CidrUtils``, commons-net ``SubnetUtils`` and ``SubnetUtils6`` (4.4.0);
``InetAddress.getByName`` and ``IPAddressUtil`` (Java 17).
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final, NamedTuple

IPV4_BITS: Final = 32
IPV6_BITS: Final = 128

_IPV4: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})")
_IPV4_NETWORK: Final = re.compile(_IPV4.pattern + r"/([0-9]{1,2})")
_IPV4_TEXT_MAX: Final = 15
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
# Python refuses to read numbers of very many digits.
_INTEGER: Final = re.compile(r"[+-]?\d{1,4000}")
_ZONE: Final = re.compile(r"0*([0-9]{1,10})")
_OCTET_MAX: Final = 255
_MAPPED: Final = 0xFFFF
_INT_MAX: Final = 2**31 - 1


class Network(NamedTuple):
    """A range of addresses, or a single one; two texts of one range are equal networks."""

    bits: int
    """How many bits an address of the family has: 32 or 128."""

    first: int
    """The first address, with all host bits 0."""

    length: int
    """The prefix length."""

    @property
    def last(self) -> int:
        """Return the last address."""
        return self.first | (1 << self.bits - self.length) - 1

    def contains(self, other: Network) -> bool:
        """Say whether every address of the other network is in this one."""
        return (
            self.bits == other.bits
            and self.length <= other.length
            and other.first >> self.bits - self.length == self.first >> self.bits - self.length
        )

    def __str__(self) -> str:
        """Return ``address/length`` with the address as Java writes it."""
        return f"{address_text(self.bits, self.first)}/{self.length}"


class InvalidNetwork(ValueError):
    """A host with a slash that is no network; the text is Kafka's reason."""


@lru_cache(maxsize=4096)
def network_of(host: str) -> Network | None:
    """Return the network that the host of an ACL names; None where it names none."""
    if "/" not in host:
        return None
    try:
        return parse_network(host)
    except InvalidNetwork:
        return None


def parse_network(host: str) -> Network:
    """Read a host that has a slash.

    Raises:
        InvalidNetwork: Kafka refuses it.
    """
    return _ipv6_network(host) if ":" in host else _ipv4_network(host)


def address_of(host: str) -> Network | None:
    """Return the address of a client, as networks see it; None where it can be in no network."""
    match = _IPV4.fullmatch(host)
    if match is not None:
        octets = list(map(int, match.groups()))
        value = 0 if max(octets) > _OCTET_MAX else int.from_bytes(bytes(octets), "big")
        return Network(IPV4_BITS, value, IPV4_BITS) if value else None
    if ":" not in host:
        return None
    try:
        return Network(IPV6_BITS, _ipv6_address(host), IPV6_BITS)
    except InvalidNetwork:
        return None


def address_text(bits: int, value: int) -> str:
    """Return an address as Java's ``InetAddress.getHostAddress`` writes it."""
    if bits == IPV4_BITS:
        return ".".join(map(str, value.to_bytes(4, "big")))
    return ":".join(f"{value >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))


def _ipv4_network(host: str) -> Network:
    match = _IPV4_NETWORK.fullmatch(host)
    if match is None:
        raise InvalidNetwork(f"Could not parse [{host}]")
    *octets, length = map(int, match.groups())
    for octet in octets:
        _check_range(octet, _OCTET_MAX)
    _check_range(length, IPV4_BITS)
    return _network(IPV4_BITS, int.from_bytes(bytes(octets), "big"), length)


def _check_range(value: int, maximum: int) -> None:
    if value > maximum:
        raise InvalidNetwork(f"Value [{value}] not in range [0,{maximum}]")


def _network(bits: int, address: int, length: int) -> Network:
    return Network(bits, address >> bits - length << bits - length, length)


def _ipv6_network(host: str) -> Network:
    address, _, prefix = host.partition("/")
    length = _java_int(prefix)
    if length is None:
        raise InvalidNetwork(f"Could not parse [{host}] - invalid prefix length")
    if not 0 <= length <= IPV6_BITS:
        raise InvalidNetwork(
            f"Could not parse [{host}] - prefix length must be between 0 and {IPV6_BITS}"
        )
    return _network(IPV6_BITS, _ipv6_address(address), length)


def _java_int(text: str) -> int | None:
    """Read a number as ``Integer.parseInt`` does; None where it refuses."""
    # Java sees no digits beyond the basic plane.
    if _INTEGER.fullmatch(text) is None or max(text) > "\uffff":
        return None
    value = int(text)
    return value if -_INT_MAX - 1 <= value <= _INT_MAX else None


def _ipv6_address(text: str) -> int:
    """Read an IPv6 address as ``InetAddress.getByName`` does; its zone is not part of the number.

    A zone has to be a number: names of interfaces belong to the machine of a broker, not to ACLs.
    """
    refused = InvalidNetwork(f"Could not parse [{text}]")
    literal = text[1:-1] if (text[:1], text[-1:]) == ("[", "]") else text
    address, percent, zone = literal.partition("%")
    if percent:
        number = _ZONE.fullmatch(zone)
        if number is None or int(number[1]) > _INT_MAX:
            raise refused
    last = address.rpartition(":")[2]
    if "." in last and len(last) > _IPV4_TEXT_MAX:
        raise refused
    try:
        # Java takes any number of zeros at the begin of a group.
        value = int(IPv6Address(_LEADING_ZEROS.sub("", address)))
    except ValueError:
        raise refused from None
    # Java makes an IPv4 address of it.
    if value >> IPV4_BITS == _MAPPED:
        raise refused if percent else InvalidNetwork(f"{refused} - not an IPv6 address")
    return value
