"""From an input to the dissections of its frames, in the order of their completion."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from doorkeeper.dissector.capture_files import packets
from doorkeeper.dissector.conversation import Conversation
from doorkeeper.dissector.dissection import Dissection
from doorkeeper.dissector.errors import UnreadableInput
from doorkeeper.dissector.frame_cutter import FrameCutter
from doorkeeper.dissector.hex_text import CHUNK_BYTES, hex_digits, hex_dump, is_hex_dump
from doorkeeper.dissector.packets import ACK, SYN, segment_of
from doorkeeper.dissector.tcp_streams import TcpStream

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from doorkeeper.dissector.frame_cutter import Frame
    from doorkeeper.dissector.packets import Segment, TcpEndpoint

CONNECTIONS_MAX: Final = 10_000
"""Connections followed at the same time; beyond it the oldest one is dropped."""

HELD_BYTES_MAX: Final = 256 * 1024 * 1024
"""Bytes of incomplete frames and of out-of-order segments, of all connections together."""

_INPUT_ENDS: Final = "the input ends"
_CAPTURE_ENDS: Final = "the capture ends"
_BYTES_ARE_MISSING: Final = "segments are missing from the capture"
_TOO_MUCH: Final = f"more than {HELD_BYTES_MAX} bytes of unfinished frames: given up"


class ResponseType(NamedTuple):
    """The API and version to decode responses with: their bytes do not name them."""

    api_key: int
    version: int


def chunks_of(stream: BinaryIO, input_format: str, head: bytes) -> Iterator[bytes]:
    """Yield the bytes of raw or hexadecimal input; `head` is how it begins.

    Raises:
        UnreadableInput: the text is not hexadecimal.

    """
    if input_format == "hex":
        yield from (hex_dump if is_hex_dump(head) else hex_digits)(stream)
        return
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def dissect_stream(
    chunks: Iterator[bytes], frame_bytes_max: int, responses: ResponseType | None = None
) -> Iterator[Dissection]:
    """Yield the frames of one direction: requests, or responses to requests of one type.

    Raises:
        UnreadableInput: as raised by `chunks`.

    """
    cutter = FrameCutter(frame_bytes_max)
    dissect: Callable[[Frame], Dissection] = Conversation(frame_bytes_max).request
    if responses is not None:

        def dissect(frame: Frame) -> Dissection:
            return Dissection(frame, "response", *responses, frame_bytes_max=frame_bytes_max)

    for chunk in chunks:
        yield from map(dissect, cutter.receive(chunk))
        if cutter.is_lost:
            return
    yield from map(dissect, cutter.finish(_INPUT_ENDS))


def dissect_capture(
    stream: BinaryIO, ports: Collection[int], frame_bytes_max: int
) -> Iterator[Dissection]:
    """Yield the frames of the connections to servers on some ports.

    Raises:
        UnreadableInput: the capture is damaged; frames before the damage are yielded.
    """
    capture = _Capture(ports, frame_bytes_max)
    fault = None
    try:
        for packet in packets(stream):
            segment = segment_of(packet)
            if segment is not None:
                yield from capture.receive(segment)
    except UnreadableInput as error:
        fault = error
    # The incomplete frames come first, then the fault.
    yield from capture.finish()
    if fault is not None:
        raise fault


class _Direction:
    """One direction of a connection."""

    def __init__(
        self, name: str, frame_bytes_max: int, dissect: Callable[[Frame], Dissection]
    ) -> None:
        self.tcp = TcpStream()
        self._name = name
        self._cutter = FrameCutter(frame_bytes_max)
        self._dissect = dissect

    @property
    def held_bytes(self) -> int:
        return self.tcp.held_bytes + self._cutter.held_bytes

    def receive(self, sequence: int, data: bytes) -> Iterator[Dissection]:
        yield from self._dissect_frames(self._cutter.receive(self.tcp.receive(sequence, data)))
        if self.tcp.is_broken:
            yield from self.end(_BYTES_ARE_MISSING)
        elif self._cutter.is_lost:
            self.tcp.abandon()

    def end(self, reason: str) -> Iterator[Dissection]:
        """Yield the incomplete frame; no more of this direction is read."""
        is_incomplete = self.tcp.is_broken or self.tcp.held_bytes > 0
        if is_incomplete:
            reason = _BYTES_ARE_MISSING
        self.tcp.abandon()
        frames = self._cutter.finish(reason, is_incomplete=is_incomplete)
        yield from self._dissect_frames(frames)

    def _dissect_frames(self, frames: Iterator[Frame]) -> Iterator[Dissection]:
        for frame in frames:
            yield self._dissect(frame._replace(stream=self._name))


class _Connection:
    """Both directions of one connection."""

    def __init__(self, client: TcpEndpoint, server: TcpEndpoint, frame_bytes_max: int) -> None:
        conversation = Conversation(frame_bytes_max)
        self.first_sequence: int | None = None
        self.requests = _Direction(f"{client} > {server}", frame_bytes_max, conversation.request)
        self.responses = _Direction(f"{server} > {client}", frame_bytes_max, conversation.response)

    @property
    def held_bytes(self) -> int:
        return self.requests.held_bytes + self.responses.held_bytes

    def end(self, reason: str) -> Iterator[Dissection]:
        yield from self.requests.end(reason)
        yield from self.responses.end(reason)


class _Capture:
    """All connections of a capture to servers on some ports."""

    def __init__(self, ports: Collection[int], frame_bytes_max: int) -> None:
        self._ports = ports
        self._frame_bytes_max = frame_bytes_max
        self._connections: OrderedDict[tuple[TcpEndpoint, TcpEndpoint], _Connection] = OrderedDict()
        self._held_bytes = 0

    def receive(self, segment: Segment) -> Iterator[Dissection]:
        """Yield the frames that a segment completes."""
        source, destination = segment.source, segment.destination
        # If both ports are servers' ports, the direction is that of the connection seen first.
        from_server = source.port in self._ports and (
            destination.port not in self._ports or (destination, source) in self._connections
        )
        if not from_server and destination.port not in self._ports:
            return
        key = (destination, source) if from_server else (source, destination)
        if not from_server and segment.flags & (SYN | ACK) == SYN:
            yield from self._begin(key, segment.sequence)
        connection = self._connections.get(key)
        if connection is None:
            connection = self._connections[key] = _Connection(*key, self._frame_bytes_max)
            yield from self._make_room()
        direction = connection.responses if from_server else connection.requests
        sequence = segment.sequence
        # SYN takes a sequence number of its own: the data begins one later.
        if segment.flags & SYN:
            sequence += 1
            direction.tcp.begin(sequence)
        before = direction.held_bytes
        yield from direction.receive(sequence, segment.data)
        if self._held_bytes + direction.held_bytes - before > HELD_BYTES_MAX:
            yield from direction.end(_TOO_MUCH)
        self._held_bytes += direction.held_bytes - before

    def finish(self) -> Iterator[Dissection]:
        """Yield the frames that the end of the capture cuts off."""
        while self._connections:
            yield from self._connections.popitem(last=False)[1].end(_CAPTURE_ENDS)

    def _begin(self, key: tuple[TcpEndpoint, TcpEndpoint], sequence: int) -> Iterator[Dissection]:
        """Reset a connection whose ports are used again; a SYN may also be repeated."""
        before = self._connections.get(key)
        # A retransmitted SYN is no new connection.
        if before is not None and before.first_sequence == sequence:
            return
        if before is not None:
            yield from self._drop(key, "the connection ends")
        connection = self._connections[key] = _Connection(*key, self._frame_bytes_max)
        connection.first_sequence = sequence
        yield from self._make_room()

    def _make_room(self) -> Iterator[Dissection]:
        while len(self._connections) > CONNECTIONS_MAX:
            oldest = next(iter(self._connections))
            yield from self._drop(oldest, f"more than {CONNECTIONS_MAX} connections: given up")

    def _drop(self, key: tuple[TcpEndpoint, TcpEndpoint], reason: str) -> Iterator[Dissection]:
        connection = self._connections.pop(key)
        self._held_bytes -= connection.held_bytes
        yield from connection.end(reason)
