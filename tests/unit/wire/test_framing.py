"""Frames and headers."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi
from doorkeeper_wire.framing import FrameBuffer
from doorkeeper_wire.headers import (
    RequestHeader,
    ResponseHeader,
    decode_request_header,
    decode_response_header,
    encode_request,
    encode_request_header,
    encode_response,
    request_header_version,
    response_header_version,
)


def stream(frames: list[bytes]) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def received(chunks: list[bytes]) -> list[bytes]:
    buffer = FrameBuffer(20_000)
    return [frame for chunk in chunks for frame in buffer.receive(chunk)]


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


def header(api_key: int, version: int, client_id: str | None = "me") -> RequestHeader:
    return RequestHeader(
        api_key=api_key, api_version=version, correlation_id=-5, client_id=client_id
    )


@pytest.mark.parametrize(
    ("api_key", "version", "request_header", "response_header"),
    [
        (29, 1, 1, 0),
        (29, 2, 2, 1),
        (18, 2, 1, 0),
        (18, 3, 2, 0),
        (18, 99, 2, 0),
        (18, -1, 1, 0),
        (17, 1, 1, 0),
        (60, 0, 2, 1),
    ],
)
def test_versions_of_headers(
    api_key: int, version: int, request_header: int, response_header: int
) -> None:
    """Flexible versions have the later headers; ApiVersions answers with the first one always."""
    assert request_header_version(api_key, version) == request_header
    assert response_header_version(api_key, version) == response_header


@pytest.mark.parametrize("client_id", ["me", "", None])
@pytest.mark.parametrize("version", [1, 3])
def test_request_headers(version: int, client_id: str | None) -> None:
    """A header comes back as it was, and the body begins behind it."""
    sent = header(29, version, client_id)

    frame = encode_request(sent, b"body")[4:]

    assert decode_request_header(frame) == (sent, len(frame) - 4)
    assert encode_request_header(sent) == frame[:-4]


def test_client_id_of_any_negative_length_is_null() -> None:
    """-2 as the length of the client id is null, as in Kafka."""
    assert decode_request_header(bytes.fromhex("001d000100000001fffe"))[0].client_id is None


@pytest.mark.parametrize("size", [0, 7])
def test_short_headers(size: int) -> None:
    """A frame too short for key, version and correlation id is Malformed."""
    with pytest.raises(Malformed, match="needs 8 bytes"):
        decode_request_header(bytes(size))


@pytest.mark.parametrize("cut", [8, 12])
def test_cut_headers(cut: int) -> None:
    """A header that is cut behind the correlation id is Malformed."""
    frame = encode_request_header(header(29, 3))

    with pytest.raises(Malformed):
        decode_request_header(frame[:cut])


@pytest.mark.parametrize("api_key", [-1, 95, 999, 32767])
def test_unknown_apis(api_key: int) -> None:
    """An API key that Kafka does not have is told with version and correlation id."""
    frame = api_key.to_bytes(2, "big", signed=True) + bytes.fromhex("000300000007")

    with pytest.raises(UnknownApi) as caught:
        decode_request_header(frame)

    assert caught.value.api_key == api_key
    assert (caught.value.api_version, caught.value.correlation_id) == (3, 7)


@pytest.mark.parametrize(("api_key", "version"), [(29, 1), (29, 3), (18, 0), (18, 4), (17, 1)])
def test_responses(api_key: int, version: int) -> None:
    """A response has size, correlation id, a tag section where flexible, and the body."""
    encoded = encode_response(api_key, version, 77, b"body")

    found, at = decode_response_header(encoded[4:], api_key, version)

    assert int.from_bytes(encoded[:4], "big") == len(encoded) - 4
    assert found == ResponseHeader(correlation_id=77)
    assert encoded[4 + at :] == b"body"
