"""doorkeeper.dissector.packets."""

from __future__ import annotations

import pytest

from doorkeeper.dissector.capture_files import Packet
from doorkeeper.dissector.packets import Segment, TcpEndpoint, segment_of
from testkit.captures import (
    CLIENT,
    ETHERNET,
    LINUX_COOKED,
    LINUX_COOKED_2,
    LOOP,
    NULL,
    RAW,
    SERVER,
    ip,
    tcp,
    with_link_header,
)

SEGMENT = Segment(TcpEndpoint(*CLIENT), TcpEndpoint(*SERVER), 77, 16, b"data")
DATAGRAM = tcp(CLIENT, SERVER, 77, b"data")
SIX = tcp(("fe80::1", 50000), ("::1", 9092), 77, b"data")


@pytest.mark.parametrize("link", [NULL, LOOP, RAW, ETHERNET, LINUX_COOKED, LINUX_COOKED_2])
def test_link_layers(link: int) -> None:
    """Each is taken off, under IPv4 and IPv6."""
    assert segment_of(Packet(link, with_link_header(DATAGRAM, link))) == SEGMENT
    six = segment_of(Packet(link, with_link_header(SIX, link)))
    assert six is not None
    assert (str(six.source), str(six.destination)) == ("[fe80::1]:50000", "[::1]:9092")


def test_vlans_and_padding() -> None:
    """Tags of VLANs are skipped, and what Ethernet fills up a short frame with is no data."""
    frame = with_link_header(DATAGRAM, ETHERNET)
    tagged = frame[:12] + b"\x81\0\0\5" + frame[12:] + bytes(10)

    assert segment_of(Packet(ETHERNET, tagged)) == SEGMENT


def test_extension_headers() -> None:
    """IPv6 may have some before TCP."""
    options = b"\x06\0" + bytes(6)
    datagram = ip("fe80::1", "::1", options + SIX[40:], protocol=0)

    found = segment_of(Packet(RAW, datagram))

    assert found is not None
    assert found.data == b"data"


@pytest.mark.parametrize(
    "packet",
    [
        Packet(ETHERNET, bytes(12) + b"\x08\x06" + bytes(28)),
        Packet(LINUX_COOKED_2, b"\x08\x06" + bytes(40)),
        Packet(147, with_link_header(DATAGRAM, RAW)),
        Packet(RAW, ip("10.0.0.1", "10.0.0.2", bytes(30), protocol=17)),
        Packet(RAW, ip("::1", "::2", bytes(30), protocol=17)),
        Packet(RAW, DATAGRAM[:6] + b"\x20\0" + DATAGRAM[8:]),
        Packet(RAW, DATAGRAM[:32] + b"\x10" + DATAGRAM[33:]),
        Packet(RAW, b"\x10" * 60),
        Packet(RAW, b""),
    ],
    ids=["arp", "arp-sll2", "link", "udp", "udp6", "fragment", "offset", "version", "empty"],
)
def test_no_segment(packet: Packet) -> None:
    """Other protocols, fragments and nonsense are skipped."""
    assert segment_of(packet) is None


@pytest.mark.parametrize("datagram", [DATAGRAM, SIX])
@pytest.mark.parametrize("link", [NULL, ETHERNET, LINUX_COOKED, LINUX_COOKED_2])
def test_every_truncation(datagram: bytes, link: int) -> None:
    """A short capture is a segment with less data, or none."""
    whole = with_link_header(datagram, link)
    for cut in range(len(whole)):
        found = segment_of(Packet(link, whole[:cut]))
        assert found is None or b"data".startswith(found.data)
