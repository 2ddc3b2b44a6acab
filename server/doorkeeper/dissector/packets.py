"""From a packet to the TCP segment in it: link layer, IPv4 or IPv6, TCP.

Source: RFC 791, RFC 8200, RFC 9293; https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.dissector.capture_files import Packet

_NULL, _ETHERNET, _LOOP, _LINUX_COOKED, _LINUX_COOKED_2 = 0, 1, 108, 113, 276
_RAW_IP: Final = {12, 14, 101, 228, 229}
_VLAN: Final = {0x8100, 0x88A8}
_IP: Final = {0x0800, 0x86DD}

_TCP: Final = 6
_IPV6_EXTENSIONS: Final = {0, 43, 60}
"""Hop-by-hop options, routing, destination options."""
_MORE_FRAGMENTS_OR_OFFSET: Final = 0x3FFF

SYN, ACK = 2, 16

_UINT16: Final = Struct(">H")
_TCP_HEADER: Final = Struct(">HHIIBB")
_TCP_HEADER_BYTES: Final = 20


class TcpEndpoint(NamedTuple):
    """A TCP address and port."""

    address: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}"


class Segment(NamedTuple):
    """A TCP segment: its position in the stream, and its bytes as far as captured."""

    source: TcpEndpoint
    destination: TcpEndpoint
    sequence: int
    flags: int
    data: bytes


class _Transport(NamedTuple):
    source: str
    destination: str
    data: bytes


def segment_of(packet: Packet) -> Segment | None:
    """Return the segment in a packet; None for another protocol or a fragment."""
    datagram = _datagram(packet)
    if not datagram:
        return None
    transport = _ipv4(datagram) if datagram[0] >> 4 == 4 else _ipv6(datagram)
    if transport is None or len(transport.data) < _TCP_HEADER_BYTES:
        return None
    source, destination, sequence, _, offset, flags = _TCP_HEADER.unpack_from(transport.data)
    # The upper half of the byte counts words of 32 bits; options may follow the fixed header.
    header_bytes = (offset >> 4) * 4
    if header_bytes < _TCP_HEADER_BYTES:
        return None
    return Segment(
        TcpEndpoint(transport.source, source),
        TcpEndpoint(transport.destination, destination),
        sequence,
        flags,
        transport.data[header_bytes:],
    )


def _datagram(packet: Packet) -> bytes | None:
    """Return the packet from its IP header on; None for another protocol."""
    link, data = packet
    if link in _RAW_IP:
        return data
    if link in {_NULL, _LOOP}:
        # The family's number and byte order are those of the system; IP says its version itself.
        return data[4:]
    if link == _ETHERNET:
        return _behind_ether_type(data, 12)
    if link == _LINUX_COOKED:
        return _behind_ether_type(data, 14)
    if link == _LINUX_COOKED_2:
        return data[20:] if _uint16(data, 0) in _IP else None
    return None


def _behind_ether_type(data: bytes, offset: int) -> bytes | None:
    while _uint16(data, offset) in _VLAN:
        offset += 4
    return data[offset + 2 :] if _uint16(data, offset) in _IP else None


def _uint16(data: bytes, offset: int) -> int:
    """Return a number, or -1 if the data is too short."""
    found: int = _UINT16.unpack_from(data, offset)[0] if len(data) >= offset + 2 else -1
    return found


def _ipv4(data: bytes) -> _Transport | None:
    header_bytes = (data[0] & 0x0F) * 4
    if len(data) < 20 or header_bytes < 20 or data[9] != _TCP:
        return None
    # TCP avoids fragments (path MTU discovery); reassembly is not worth its state.
    if _uint16(data, 6) & _MORE_FRAGMENTS_OR_OFFSET:
        return None
    # Ethernet fills short frames up, so the end is not that of the packet. With segmentation
    # offload the length may be 0.
    total = _uint16(data, 2) or len(data)
    source, destination = IPv4Address(data[12:16]), IPv4Address(data[16:20])
    return _Transport(str(source), str(destination), data[header_bytes:total])


def _ipv6(data: bytes) -> _Transport | None:
    if len(data) < 40 or data[0] >> 4 != 6:
        return None
    # Length 0: a jumbogram, or a packet captured before segmentation offload.
    end = 40 + _uint16(data, 4) if _uint16(data, 4) else len(data)
    following, offset = data[6], 40
    while following in _IPV6_EXTENSIONS:
        if len(data) < offset + 2:
            return None
        # Extension headers count words of 64 bits, the first one not included.
        following, offset = data[offset], offset + (data[offset + 1] + 1) * 8
    if following != _TCP:
        return None
    source, destination = IPv6Address(data[8:24]), IPv6Address(data[24:40])
    return _Transport(str(source), str(destination), data[offset:end])
