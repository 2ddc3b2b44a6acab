"""doorkeeper.dissector.tcp_streams."""

from __future__ import annotations

import random

from doorkeeper.dissector.tcp_streams import HELD_BYTES_MAX, HELD_SEGMENTS_MAX, TcpStream


def test_in_order() -> None:
    """Bytes come out as they arrive; the first segment may be in the middle of a stream."""
    stream = TcpStream()

    assert [stream.receive(10, b"ab"), stream.receive(12, b"cd")] == [b"ab", b"cd"]


def test_sent_again() -> None:
    """What was there before counts once, also where the new segment is longer."""
    stream = TcpStream()
    stream.begin(10)
    stream.receive(10, b"abc")

    assert stream.receive(10, b"abc") == b""
    assert stream.receive(11, b"bcde") == b"de"
    assert stream.receive(5, b"x") == b""
    stream.begin(10)
    assert stream.receive(15, b"f") == b"f"


def test_any_order() -> None:
    """Segments wait for those before them; numbers begin anew after 2**32."""
    data = bytes(range(200))
    start = 2**32 - 100
    pieces = [((start + at) % 2**32, data[at : at + 25]) for at in range(0, 200, 10)]
    random.Random(1).shuffle(pieces)
    stream = TcpStream()
    stream.begin(start)

    assert b"".join(stream.receive(*piece) for piece in pieces) == data
    assert stream.held_bytes == 0


def test_missing_segments() -> None:
    """A stream is given up when more waits than a receiver would hold."""
    many, large = TcpStream(), TcpStream()
    for stream in (many, large):
        stream.begin(0)
    for number in range(HELD_SEGMENTS_MAX + 1):
        many.receive(10 + 2 * number, b"x")
    large.receive(10, bytes(HELD_BYTES_MAX + 1))

    assert many.is_broken
    assert large.is_broken
    assert (many.held_bytes, many.receive(0, b"x" * 10)) == (0, b"")
