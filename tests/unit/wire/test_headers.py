"""doorkeeper_wire.headers."""

import pytest

from doorkeeper_wire.errors import Malformed, UnknownApi
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
