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


def test_each_frame_goes_out_once_and_its_answer_is_kept() -> None:
    """Over all connections, in any order; what is kept is in the order of the frames."""
    frames = [frame(b"%d" % number) for number in range(100)]

    with server(echoed) as port:
        result = run(port, Load(frames=frames, once=True, connections=3, in_flight=4, keep=True))

    assert result.answers == 100
    assert result.kept == tuple(b"%d" % number for number in range(100))
    assert result.rate > 0
    assert sum(result.histogram_us.values()) == 100


def test_correlation_ids_count_up_on_each_connection() -> None:
    """Whatever id a frame had."""
    seen = []

    def answer(number: int, request: bytes) -> bytes:
        seen.append(int.from_bytes(request[4:8]))
        return echoed(number, request)

    with server(answer) as port:
        run(port, Load(frames=[frame(b"x")], requests_max=5, time_s=30))

    assert seen == [1, 2, 3, 4, 5]


def test_a_time_bounds_a_load() -> None:
    """What is in flight at the end is waited for and not counted."""
    with server(echoed) as port:
        result = run(port, Load(frames=[frame(b"x")], warm_s=0.05, time_s=1, in_flight=8))

    assert result.answers > 0
    assert result.seconds == pytest.approx(1)


def test_a_load_lasts_until_one_answer_has_come() -> None:
    """An answer that takes longer than the load has a time all the same."""
    pause = threading.Event()

    def answer(number: int, request: bytes) -> bytes:
        pause.wait(0.2)
        return echoed(number, request)

    with server(answer) as port:
        result = run(port, Load(frames=[frame(b"x")], time_s=0.05))

    assert (result.answers, result.left) == (1, 0)
    assert result.p50_us > 150_000
    assert result.seconds > 0.15


def test_what_is_in_flight_behind_the_end_is_not_waited_for_long() -> None:
    """A slow server with a hundred requests in flight does not hold everything up."""
    pause = threading.Event()

    def answer(number: int, request: bytes) -> bytes:
        pause.wait(0.25)
        return echoed(number, request)

    with server(answer) as port:
        result = run(port, Load(frames=[frame(b"x")], time_s=1, in_flight=100))

    assert 0 < result.answers <= 4
    assert result.left > 50
    assert result.seconds == pytest.approx(1)


def test_greetings_come_first_and_do_not_count() -> None:
    """One by one, on each connection."""
    seen = []

    def answer(number: int, request: bytes) -> bytes:
        seen.append(request[8:])
        return echoed(number, request)

    hello = [frame(b"one"), frame(b"two")]
    with server(answer) as port:
        result = run(port, Load(frames=[frame(b"x")], requests_max=3, time_s=30, hello=hello))

    assert seen == [b"one", b"two", b"x", b"x", b"x"]
    assert result.answers == 3


def test_a_pace_counts_the_time_that_requests_had_to_wait() -> None:
    """One slow answer makes those late that were due meanwhile."""
    pause = threading.Event()

    def answer(number: int, request: bytes) -> bytes:
        if number == 5:
            pause.wait(0.1)
        return echoed(number, request)

    load = Load(frames=[frame(b"x")], time_s=0.3, pace_us=1000, in_flight=500)
    with server(answer) as port:
        result = run(port, load)

    late = sum(count for us, count in result.histogram_us.items() if float(us) > 33_000)
    assert late > 20
    assert result.max_us > 90_000


@pytest.mark.parametrize(
    ("name", "answer", "text"),
    [
        (
            "another id",
            lambda _, request: struct.pack(">ii", 4, int.from_bytes(request[4:8]) + 1),
            "the correlation id is 2; expected is 1",
        ),
        ("a size of nothing", lambda *_: struct.pack(">ii", 0, 1), "the size is 0"),
        ("a negative size", lambda *_: struct.pack(">ii", -1, 1), "the size is -1"),
        (
            "two answers",
            lambda number, request: echoed(number, request) * 2,
            "what nobody asked for",
        ),
        (
            "another length",
            lambda number, request: echoed(number, request + b"!" * number),
            "the length is 2; expected is 1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_answer_ends_the_load(name: str, answer: Answer, text: str) -> None:
    """And the text says what was wrong."""
    del name
    with server(answer) as port, pytest.raises(Failed, match=text):
        run(port, Load(frames=[frame(b"x")], requests_max=300, time_s=30, same=True))


def test_a_changed_content_of_the_same_length_is_noticed() -> None:
    """Not at once: one answer of many is compared as a whole."""

    def answer(number: int, request: bytes) -> bytes:
        return echoed(number, request[:8] + (b"a" if number < 10 else b"b"))

    with server(answer) as port, pytest.raises(Failed, match="the content"):
        run(port, Load(frames=[frame(b"x")], requests_max=300, time_s=30, same=True))


def test_a_connection_that_ends_is_a_failure() -> None:
    """There is no load without its answers."""

    def answer(number: int, request: bytes) -> bytes:
        if number == 2:
            raise OSError
        return echoed(number, request)

    with server(answer) as port, pytest.raises(Failed, match="the end of the connection"):
        run(port, Load(frames=[frame(b"x")], requests_max=10, time_s=30))
