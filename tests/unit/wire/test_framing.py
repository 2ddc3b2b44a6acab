"""doorkeeper_wire.framing."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_wire.errors import InvalidFrame
from doorkeeper_wire.framing import FrameBuffer

FRAMES = [b"", b"a", b"hello", b"x" * 10_000]


def stream(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def received(chunks: list[bytes]) -> list[bytes]:
    buffer = FrameBuffer(20_000)
    return [frame for chunk in chunks for frame in buffer.receive(chunk)]


def test_byte_by_byte() -> None:
    """A frame comes out with its last byte, not before."""
    data = stream(FRAMES)

    assert received([data[at : at + 1] for at in range(len(data))]) == FRAMES
    assert received([bytes([byte]) for byte in data[:-1]]) == FRAMES[:-1]


@given(
    frames=st.lists(st.binary(max_size=40) | st.just(b"y" * 9000), max_size=6),
    cuts=st.lists(st.integers(0, 60_000), max_size=8),
)
def test_cut_anywhere(frames: list[bytes], cuts: list[int]) -> None:
    """However the stream is cut, the same frames come out."""
    data = stream(frames)
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})

    chunks = [data[start:end] for start, end in pairwise(places)]

    assert received(chunks) == frames


@pytest.mark.parametrize("size", [-1, 101, 2**31 - 1, -(2**31)])
def test_bad_sizes(size: int) -> None:
    """A negative size, or one above the cap, is refused as soon as it is read."""
    with pytest.raises(InvalidFrame) as caught:
        FrameBuffer(100).receive(size.to_bytes(4, "big", signed=True))

    assert (caught.value.size, caught.value.size_max) == (size, 100)


def test_frames_before_a_bad_size() -> None:
    """Whole frames before a bad size are given out; the next call refuses it."""
    buffer = FrameBuffer(100)

    assert buffer.receive(stream([b"good"]) + b"\xff\xff\xff\xff") == [b"good"]
    with pytest.raises(InvalidFrame):
        buffer.receive(b"")


def test_the_largest_frame() -> None:
    """A frame of exactly the cap is taken."""
    assert FrameBuffer(5).receive(stream([b"12345"])) == [b"12345"]


def test_between_frames() -> None:
    """Nowhere else: not behind a piece of a size, a size alone, a piece of a frame, a bad size."""
    buffer = FrameBuffer(10)
    for piece in (b"\0\0", b"\0\x02", b"a"):
        assert buffer.receive(piece) == []
        assert not buffer.is_between_frames

    assert buffer.receive(b"b") == [b"ab"]
    assert buffer.is_between_frames
    assert buffer.receive(stream([b"a", b"b"]) + b"\xff\xff\xff\xff") == [b"a", b"b"]
    assert not buffer.is_between_frames


def test_a_promise_allocates_nothing() -> None:
    """Five bytes that promise a hundred million cost next to nothing."""
    tracemalloc.start()
    try:
        FrameBuffer(104_857_600).receive((100_000_000).to_bytes(4, "big") + b"x")
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


def test_one_whole_frame_leaves_nothing_behind() -> None:
    """It is not even kept: the next begins anew, also behind the beginning of another."""
    buffer = FrameBuffer(10)

    assert buffer.receive(b"\0\0\0\x02ab") == [b"ab"]
    assert buffer.buffered == 0
    assert buffer.receive(b"\0\0\0\0") == [b""]
    assert buffer.receive(b"\0\0") == []
    assert buffer.receive(b"\0\x04\0\0\0\0") == [b"\0\0\0\0"]
    with pytest.raises(InvalidFrame):
        buffer.receive(b"\0\0\0\x0b" + bytes(11))
