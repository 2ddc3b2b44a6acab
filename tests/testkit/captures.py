"""Packet captures made in a test: pcap and pcapng around TCP segments."""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from doorkeeper.dissector.packets import ACK, SYN

if TYPE_CHECKING:
    from collections.abc import Iterable

CLIENT: Final = ("10.0.0.7", 50000)
SERVER: Final = ("10.0.0.1", 9092)

ETHERNET: Final = 1


def tcp(source: tuple[str, int], destination: tuple[str, int], sequence: int, data: bytes) -> bytes:
    """Return an IP packet with a TCP segment that has no options."""
    return tcp_with_flags(source, destination, sequence, data, ACK)


def tcp_with_flags(
    source: tuple[str, int], destination: tuple[str, int], sequence: int, data: bytes, flags: int
) -> bytes:
    """Return an IP packet with a TCP segment that has some flags."""
    segment = struct.pack(
        ">HHIIBBHHH", source[1], destination[1], sequence % 2**32, 0, 5 << 4, flags, 1024, 0, 0
    )
    return ip(source[0], destination[0], segment + data)


def ip(source: str, destination: str, payload: bytes, protocol: int = 6) -> bytes:
    """Return an IPv4 or IPv6 packet, as the addresses are."""
    addresses = ip_address(source).packed + ip_address(destination).packed
    if ":" in source:
        return struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + addresses + payload
    return (
        struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
        + addresses
        + payload
    )


def with_link_header(datagram: bytes) -> bytes:
    """Return an IP packet with an Ethernet header."""
    ether_type = b"\x08\x00" if datagram[0] >> 4 == 4 else b"\x86\xdd"
    return bytes(12) + ether_type + datagram


def pcap(datagrams: Iterable[bytes]) -> bytes:
    """Return a pcap file."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET)]
    for datagram in datagrams:
        data = with_link_header(datagram)
        out += [struct.pack("<IIII", 0, 0, len(data), len(data)), data]
    return b"".join(out)


def pcapng(datagrams: Iterable[bytes]) -> bytes:
    """Return a pcapng file of one section and one interface, and a block of statistics."""
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack("<HHI", ETHERNET, 0, 0)
    out = [block(0x0A0D0D0A, section), block(1, interface)]
    for datagram in datagrams:
        data = with_link_header(datagram)
        head = struct.pack("<IIIII", 0, 0, 0, len(data), len(data))
        out.append(block(6, head + data))
    out.append(block(5, bytes(12)))
    return b"".join(out)


def block(kind: int, body: bytes) -> bytes:
    """Return a block of pcapng, filled up to a multiple of four bytes."""
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def conversation(*turns: tuple[str, bytes]) -> list[bytes]:
    """Return the packets of a connection: each turn is "request" or "response" and its bytes."""
    packets = [
        tcp_with_flags(CLIENT, SERVER, 999, b"", SYN),
        tcp_with_flags(SERVER, CLIENT, 4999, b"", SYN | ACK),
    ]
    sequences = {"request": 1000, "response": 5000}
    for side, data in turns:
        ends = (CLIENT, SERVER) if side == "request" else (SERVER, CLIENT)
        packets.append(tcp(*ends, sequences[side], data))
        sequences[side] += len(data)
    return packets
