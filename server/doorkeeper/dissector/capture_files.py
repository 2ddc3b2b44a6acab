"""The packets of a capture file: pcap, and the blocks of pcapng that hold packets.

Sources: the Internet drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from doorkeeper.dissector.errors import UnreadableInput

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKET_BYTES_MAX: Final = 1024 * 1024
"""Tools capture at most 262,144 bytes of a packet."""

_BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
_INTERFACES_MAX: Final = 65536

_PCAP_ORDERS: Final = {
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
}
"""Byte orders by magic number; times are in microseconds or nanoseconds."""

_PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
_PCAPNG_ORDERS: Final = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}

_SECTION, _INTERFACE, _SIMPLE_PACKET, _ENHANCED_PACKET = 0x0A0D0D0A, 1, 3, 6

_LINK_TYPE_MASK: Final = 0xFFFF
"""The higher bits of the field in pcap's header are the length of a frame check sequence."""


class Packet(NamedTuple):
    """A packet as captured; its link type says which header comes first."""

    link_type: int
    data: bytes


def is_capture(head: bytes) -> bool:
    """Return whether a file begins as pcap or pcapng."""
    if head[:4] == _PCAPNG_MAGIC:
        return head[8:12] in _PCAPNG_ORDERS
    return head[:4] in _PCAP_ORDERS


def packets(stream: BinaryIO) -> Iterator[Packet]:
    """Yield the packets of a capture file, which is read incrementally.

    Raises:
        UnreadableInput: the file is neither pcap nor pcapng, or it is damaged or cut off.
    """
    magic = stream.read(4)
    if magic == _PCAPNG_MAGIC:
        yield from _Pcapng(stream).packets()
    elif magic in _PCAP_ORDERS:
        yield from _pcap_packets(stream, _PCAP_ORDERS[magic])
    else:
        raise UnreadableInput(f"no capture: it begins with {magic.hex()}")


def _pcap_packets(stream: BinaryIO, order: str) -> Iterator[Packet]:
    header = Struct(f"{order}HHiIII")
    link_type = header.unpack(_exactly(stream, header.size, "the file header"))[5] & _LINK_TYPE_MASK
    record = Struct(f"{order}IIII")
    number = 0
    while head := stream.read(record.size):
        number += 1
        what = f"packet {number}"
        if len(head) < record.size:
            raise _cut_off(what)
        size = record.unpack(head)[2]
        # A damaged length must not allocate gigabytes.
        if size > PACKET_BYTES_MAX:
            raise UnreadableInput(f"{what} has {size} bytes; at most {PACKET_BYTES_MAX}")
        yield Packet(link_type, _exactly(stream, size, what))


class _Pcapng:
    """The blocks of a file; a new section resets the interfaces."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._order = "<"
        self._links: list[tuple[int, int]] = []
        """Link type and snapshot length of each interface."""
        self._block = 0

    def packets(self) -> Iterator[Packet]:
        kind = _PCAPNG_MAGIC
        while kind:
            self._block += 1
            if len(kind) < 4:
                raise _cut_off(self._what)
            if kind == _PCAPNG_MAGIC:
                self._begin_section()
            else:
                yield from self._packets_of(self._number(kind), self._rest(self._read_length()))
            kind = self._stream.read(4)

    @property
    def _what(self) -> str:
        return f"block {self._block}"

    def _begin_section(self) -> None:
        # The length comes before the mark that says in which byte order it is.
        length = _exactly(self._stream, 4, self._what)
        magic = _exactly(self._stream, 4, self._what)
        if magic not in _PCAPNG_ORDERS:
            raise UnreadableInput(f"{self._what}: {magic.hex()} is no byte order of pcapng")
        self._order = _PCAPNG_ORDERS[magic]
        # Interface numbers begin again in each section.
        self._links = []
        self._rest(self._number(length), already=12)

    def _packets_of(self, kind: int, body: bytes) -> Iterator[Packet]:
        if kind == _INTERFACE:
            link_type, _, snap_length = self._fields("HHI", body)
            if len(self._links) >= _INTERFACES_MAX:
                raise UnreadableInput(f"{self._what}: more than {_INTERFACES_MAX} interfaces")
            self._links.append((link_type, snap_length))
        elif kind == _ENHANCED_PACKET:
            interface, _, _, captured, _ = self._fields("IIIII", body)
            yield self._packet(interface, body[20:], captured)
        elif kind == _SIMPLE_PACKET:
            (original,) = self._fields("I", body)
            yield self._packet(0, body[4:], original, is_simple=True)

    def _packet(self, interface: int, data: bytes, size: int, *, is_simple: bool = False) -> Packet:
        if interface >= len(self._links):
            raise UnreadableInput(f"{self._what}: interface {interface} is not described")
        link_type, snap_length = self._links[interface]
        # A simple packet block has the original length only: the capture may have cut it.
        if is_simple and snap_length:
            size = min(size, snap_length)
        if size > len(data):
            raise UnreadableInput(f"{self._what}: {size} bytes announced, {len(data)} are there")
        return Packet(link_type, data[:size])

    def _read_length(self) -> int:
        return self._number(_exactly(self._stream, 4, self._what))

    def _rest(self, length: int, already: int = 8) -> bytes:
        """Return the body of a block, without the length that is repeated at its end."""
        # Blocks are padded to 32 bits; an unaligned length means that the file is damaged.
        if not already + 4 <= length <= _BLOCK_BYTES_MAX or length % 4:
            raise UnreadableInput(f"{self._what} has {length} bytes; at most {_BLOCK_BYTES_MAX}")
        return _exactly(self._stream, length - already, self._what)[:-4]

    def _number(self, data: bytes) -> int:
        return int.from_bytes(data, "big" if self._order == ">" else "little")

    def _fields(self, codes: str, body: bytes) -> tuple[int, ...]:
        layout = Struct(self._order + codes)
        if len(body) < layout.size:
            raise _cut_off(self._what)
        return layout.unpack_from(body)


def _exactly(stream: BinaryIO, size: int, what: str) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise _cut_off(what)
    return data


def _cut_off(what: str) -> UnreadableInput:
    return UnreadableInput(f"the capture is cut off in {what}")
