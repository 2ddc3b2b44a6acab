"""doorkeeper.dissector.capture_files."""

from __future__ import annotations

import struct
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from doorkeeper.dissector.capture_files import PACKET_BYTES_MAX, Packet, is_capture, packets
from doorkeeper.dissector.errors import UnreadableInput
from testkit.captures import RAW, block, pcap, pcapng

if TYPE_CHECKING:
    from collections.abc import Callable

DATAGRAMS = [b"\x45abc", b"\x60defgh", b"\x45"]


def read(data: bytes) -> list[Packet]:
    return list(packets(BytesIO(data)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("make", [pcap, pcapng])
def test_packets(make: Callable[..., bytes], order: str) -> None:
    """Both formats, in both byte orders."""
    data = make(DATAGRAMS, RAW, order)

    assert is_capture(data)
    assert read(data) == [Packet(RAW, each) for each in DATAGRAMS]


def test_simple_packets() -> None:
    """They are of the first interface, cut at its snapshot length."""
    interface = block(1, struct.pack("<HHI", RAW, 0, 4))
    simple = block(3, struct.pack("<I", 9) + b"\x45abc")

    section = pcapng([])[:28]
    assert read(section + interface + simple) == [Packet(RAW, b"\x45abc")]


def test_sections() -> None:
    """A new one has its own byte order and interfaces."""
    data = pcapng(DATAGRAMS[:1], RAW, "<") + pcapng(DATAGRAMS[1:], RAW, ">")

    assert [each.data for each in read(data)] == DATAGRAMS


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_every_truncation(make: Callable[..., bytes]) -> None:
    """A capture that is cut off gives its first packets, then an error, or ends between two."""
    whole = make(DATAGRAMS, RAW)
    for cut in range(len(whole)):
        found: list[bytes] = []
        with suppress(UnreadableInput):
            found.extend(packet.data for packet in packets(BytesIO(whole[:cut])))
        assert found == DATAGRAMS[: len(found)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"none", "no capture: it begins with 6e6f6e65"),
        (pcap([])[:20], "cut off in the file header"),
        (pcap([]) + bytes(5), "cut off in packet 1"),
        (
            pcap([]) + struct.pack("<IIII", 0, 0, PACKET_BYTES_MAX + 1, 0),
            "packet 1 has 1048577 bytes; at most 1048576",
        ),
        (b"\x0a\x0d\x0d\x0a\0\0\0\x1cabcd", "61626364 is no byte order of pcapng"),
        (pcapng([])[:28] + struct.pack("<II", 6, 2**31), "block 2 has 2147483648 bytes"),
        (pcapng([])[:28] + struct.pack("<II", 6, 4), "block 2 has 4 bytes"),
        (pcapng([])[:28] + block(6, bytes(20)), "block 2: interface 0 is not described"),
        (pcapng([]) + block(6, bytes(12) + b"\xff" * 8), "4294967295 bytes announced, 0 are"),
        (pcapng([]) + block(6, b""), "cut off in block 4"),
    ],
)
def test_damage(data: bytes, reason: str) -> None:
    """The error names the packet or block."""
    with pytest.raises(UnreadableInput, match=reason):
        read(data)
