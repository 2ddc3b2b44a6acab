"""Conversations byte for byte: what is said on one connection, and what each server makes of it.

A turn sends bytes as they are and looks at what comes back: an answer (decoded, so that a
difference has a field's name), the end of the connection, or bytes that are no such answer.
"""

import socket
import struct
from contextlib import suppress
from typing import Any, NamedTuple

from doorkeeper_wire.framing import RequestHeader, encode_request_header
from doorkeeper_wire.message import Message
from testkit.frames import API_VERSIONS, fields
from testkit.load import scaled

ANSWER_S = 20
"""A server that is busy answers in this time; one that never does is seen as silent."""

CORRELATION = 77


class Turn(NamedTuple):
    """What one side says, and how its answer is to be read.

    ``response`` None reads the answer as bare bytes. ``last`` ends our half of the connection
    after the bytes, as somebody does who stops in the middle of a frame.
    """

    data: bytes
    response: type[Message] | None = None
    version: int = 0
    answers: int = 1
    last: bool = False
    name: str = ""
    """The request's class; bytes of no known request have none."""


class Conversation(NamedTuple):
    """Turns on one connection to one listener: ``plain``, ``sasl`` or ``controller``."""

    name: str
    listener: str
    turns: tuple[Turn, ...]


def sized(data: bytes) -> bytes:
    """Return the data as a frame."""
    return struct.pack(">i", len(data)) + data


def header(key: int, version: int, client: str | None = "talker") -> bytes:
    """Return the header of a request."""
    return encode_request_header(
        RequestHeader(
            api_key=key, api_version=version, correlation_id=CORRELATION, client_id=client
        )
    )


def say(request: Any, response: type[Any], version: int, client: str | None = "talker") -> Turn:
    """Return the turn of a well-formed request."""
    head = header(request.API_KEY, version, client)
    data = sized(head + request.encode(version))
    return Turn(data, response, version, name=type(request).__name__)


def play(address: str, turns: tuple[Turn, ...]) -> list[Any]:
    """Return what came back for each turn, up to the end of the connection."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=scaled(ANSWER_S)) as peer:
        return spoken(peer, turns)


def spoken(peer: socket.socket, turns: tuple[Turn, ...]) -> list[Any]:
    """Say turns on a connection; return as ``play`` does."""
    seen: list[Any] = []
    for turn in turns:
        for number in range(turn.answers):
            seen.append(answered(peer, turn, send=number == 0))
            if seen[-1] in ("closed", "silent"):
                return seen
    return seen


def answered(peer: socket.socket, turn: Turn, *, send: bool) -> Any:
    """Say a turn, where ``send`` says so; return the next answer, "closed" or "silent"."""
    try:
        if send:
            peer.sendall(turn.data)
            if turn.last:
                # A server that closed at once leaves nothing to shut down; what it said is read.
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_WR)
        (size,) = struct.unpack(">i", _read(peer, 4))
        return read(_read(peer, size), turn)
    except TimeoutError:
        return "silent"
    except (ConnectionError, EOFError):
        return "closed"


def read(frame: bytes, turn: Turn) -> Any:
    """Return an answer as plain values; bytes behind it count as a field of their own."""
    if turn.response is None:
        return frame.hex()
    kind = turn.response
    flexible = turn.version >= kind.FLEXIBLE_FROM and kind.API_KEY != API_VERSIONS
    start = 5 if flexible else 4
    message, end = kind.decode(frame, start, turn.version)
    (correlation,) = struct.unpack_from(">i", frame)
    return {"correlation": correlation, **fields(message), "behind": frame[end:].hex()}


def _read(peer: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = peer.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
