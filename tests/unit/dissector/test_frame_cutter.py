"""doorkeeper.dissector.frame_cutter."""

from __future__ import annotations

import pytest

from doorkeeper.config.keys import KEYS
from doorkeeper.dissector.frame_cutter import FRAME_BYTES_MAX, Frame, FrameCutter

TWO = b"\0\0\0\2ab" + b"\0\0\0\0"


@pytest.mark.parametrize("step", [1, 3, 100])
def test_whole_frames(step: int) -> None:
    """They are the same however the bytes arrive, each with its place."""
    cutter = FrameCutter(10)

    found = [
        frame for at in range(0, len(TWO), step) for frame in cutter.receive(TWO[at : at + step])
    ]

    assert found == [Frame(0, b"\0\0\0\2ab"), Frame(6, b"\0\0\0\0")]
    assert (list(cutter.finish("over")), cutter.held_bytes) == ([], 0)


@pytest.mark.parametrize("size", [-1, 11, -(2**31), 2**31 - 1])
def test_invalid_sizes(size: int) -> None:
    """The frame is its prefix alone, and the stream is lost."""
    cutter = FrameCutter(10)
    prefix = size.to_bytes(4, "big", signed=True)

    assert list(cutter.receive(TWO + prefix + TWO))[2:] == [Frame(10, prefix)]
    assert cutter.is_lost
    assert list(cutter.receive(TWO)) == []


@pytest.mark.parametrize(("rest", "size"), [(b"\0", None), (b"\0\0\0\5a", 5)])
def test_a_frame_that_is_cut_off(rest: bytes, size: int | None) -> None:
    """The beginning is kept, with the reason; its size is known when four bytes are there."""
    cutter = FrameCutter(10)
    list(cutter.receive(TWO + rest))

    (frame,) = cutter.finish("the input ends")

    assert frame == Frame(len(TWO), rest, "the input ends")
    assert frame.size == size


def test_a_stream_that_is_known_to_go_on() -> None:
    """Between frames, the next one is cut off before its first byte; it is told once."""
    cutter = FrameCutter(10)
    list(cutter.receive(TWO))

    assert list(cutter.finish("lost", is_incomplete=True)) == [Frame(len(TWO), b"", "lost")]
    assert list(cutter.finish("lost", is_incomplete=True)) == []


def test_the_default_is_the_servers() -> None:
    """A frame that the server would take is taken here."""
    assert str(FRAME_BYTES_MAX) == KEYS["socket.request.max.bytes"].default
