"""The load generator, against servers that answer well and badly."""

from __future__ import annotations

import shutil
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from versus.loadgen import Failed, Load, run

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None and shutil.which("gcc") is None, reason="there is no C compiler"
)

Answer = Callable[[int, bytes], bytes]
"""Makes an answer, size included, from the number and the body of a request."""


def echoed(_number: int, request: bytes) -> bytes:
    return struct.pack(">i", len(request) - 4) + request[4:]


def frame(text: bytes) -> bytes:
    return struct.pack(">ihhi", 8 + len(text), 3, 12, -1) + text


@contextmanager
def server(answer: Answer) -> Iterator[int]:
    """Serve until the end of the block, a thread for each connection; give the port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as stream:
            number = 0
            while head := stream.read(4):
                request = stream.read(int.from_bytes(head))
                peer.sendall(answer(number, request))
                number += 1

    def accept() -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=_quietly, args=(serve, peer), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def _quietly(serve: Callable[[socket.socket], None], peer: socket.socket) -> None:
    try:
        serve(peer)
    except (OSError, ValueError):
        return  # the generator has left


def test_each_frame_is_sent_once_and_answered() -> None:
    frames = [frame(b"%d" % number) for number in range(100)]

    with server(echoed) as port:
        result = run(port, Load(frames=frames, once=True, connections=3, in_flight=4, keep=True))

    assert result.answers == 100
    assert result.kept == tuple(b"%d" % number for number in range(100))
    assert result.rate > 0
    assert sum(result.histogram_us.values()) == 100


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (
            lambda _, request: struct.pack(">ii", 4, int.from_bytes(request[4:8]) + 1),
            "the correlation id is 2; expected: 1",
        ),
        (lambda *_: struct.pack(">ii", -1, 1), "the size is -1"),
        (lambda number, request: echoed(number, request) * 2, "what nobody asked for"),
        (
            lambda number, request: echoed(number, request[:8] + (b"a" if number < 9 else b"b")),
            "the content",
        ),
    ],
)
def test_wrong_response_stops_the_load(answer: Answer, problem: str) -> None:
    with server(answer) as port, pytest.raises(Failed, match=problem):
        run(port, Load(frames=[frame(b"x")], requests_max=300, time_s=30, same=True))
