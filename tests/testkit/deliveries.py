"""Bytes delivered to a connection without a socket, whole or in pieces, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from doorkeeper.base.slices import run_to_end
from doorkeeper.server.net.protocol.exchange import Closed
from doorkeeper.server.net.protocol.large_request import LargeRequest
from testkit.edge import answer, frames

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.connection import Connection

Cut = Callable[[bytes], Iterable[bytes]]


def whole(data: bytes) -> Iterable[bytes]:
    """Deliver in one piece."""
    return [data]


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    """Deliver as slowly as can be."""
    return [data[at : at + 1] for at in range(len(data))]


def in_threes(data: bytes) -> Iterable[bytes]:
    """Deliver across every boundary."""
    return [data[at : at + 3] for at in range(0, len(data), 3)]


CUTS = (whole, byte_by_byte, in_threes)


def results(to: Connection, data: bytes, cut: Cut = whole, now_s: float = 0.0) -> list[Any]:
    """Deliver bytes; return all that came of them."""
    found: list[Any] = []
    for piece in cut(data):
        to.receive(piece)
        while (result := to.advance(now_s)) is not None:
            found.append(result)
    return found


def one(to: Connection, data: bytes, now_s: float = 0.0) -> Any:
    """Deliver bytes of which one thing comes; return it."""
    (result,) = results(to, data, now_s=now_s)
    return result


def handled(to: Connection, large: Any) -> Any:
    """Return what comes of a large request after the thread, which is this one."""
    assert isinstance(large, LargeRequest)
    large.begin(lambda each: each)
    large.run()
    run_to_end(large.settle())
    return to.complete(large)


def body(result: Any, response: type[Any], version: int) -> Any:
    """Return the body of a result that is one answer."""
    (frame,) = frames(result)
    return answer(frame, response, version)[1]


def closed(to: Connection, data: bytes) -> Closed:
    """Deliver bytes that end the connection without an answer; return how."""
    result = one(to, data)
    assert isinstance(result, Closed)
    return result


def header(api_key: int, version: int, correlation_id: int = 1) -> bytes:
    """Return the part of a request's header that every version has."""
    return api_key.to_bytes(2) + version.to_bytes(2, signed=True) + correlation_id.to_bytes(4)
