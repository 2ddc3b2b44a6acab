"""doorkeeper.dissector.dissection."""

from __future__ import annotations

import pytest

from doorkeeper.dissector.dissection import (
    Dissection,
    declared_apis,
    request_id,
    version_count,
)
from doorkeeper.dissector.frame_cutter import Frame
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from testkit.sample_frames import (
    CONFIG_CHANGE,
    CREATE_ACLS,
    DESCRIBE_ACLS,
    DESCRIBED,
    LOGIN,
    REQUESTS,
    response,
    with_size,
)

MAX = 1000


def request_of(data: bytes, end: str = "") -> Dissection:
    return Dissection(Frame(0, data, end), "request", frame_bytes_max=MAX)


def response_of(data: bytes, api_key: int, version: int) -> Dissection:
    return Dissection(Frame(0, data), "response", api_key, version, frame_bytes_max=MAX)


def fault(dissection: Dissection) -> tuple[int, str, str] | None:
    """Return offset, field and reason of what is broken."""
    list(dissection.fields())
    error = dissection.error
    return None if error is None else (error.offset, error.field, error.reason)


@pytest.mark.parametrize("name", list(REQUESTS))
def test_whole_requests(name: str) -> None:
    """Size, header and body are fields, in the order of the bytes; nothing is broken."""
    dissection = request_of(REQUESTS[name])

    paths = [field.path for field in dissection.fields()]

    assert paths[:5] == ["Size", "ApiKey", "ApiVersion", "CorrelationId", "ClientId"]
    assert len(paths) > 5
    assert (dissection.api, dissection.error, dissection.note) == (name, None, "")


def test_a_response() -> None:
    """API and version are those of the request."""
    dissection = response_of(DESCRIBED, 29, 3)

    assert [field.path for field in dissection.fields()][:3] == [
        *("Size", "CorrelationId", "ThrottleTimeMs"),
    ]
    assert (dissection.api, dissection.version, dissection.error) == ("DescribeAcls", 3, None)


def test_a_refused_version_of_api_versions() -> None:
    """A broker without the version answers in version 0, with the error UNSUPPORTED_VERSION."""
    dissection = response_of(response(ApiVersionsResponse(error_code=35), 0), 18, 99)

    assert fault(dissection) is None
    assert dissection.version == 0


@pytest.mark.parametrize("name", list(REQUESTS))
def test_every_truncation(name: str) -> None:
    """Wherever a frame ends early, the fault has an offset within it; no field lies behind that."""
    whole = REQUESTS[name]
    for cut in range(len(whole)):
        dissection = request_of(whole[:cut], "the input ends")
        fields = list(dissection.fields())

        assert dissection.error is not None
        assert f"the input ends after {cut}" in dissection.error.reason
        assert 0 <= dissection.error.offset <= cut
        assert all(field.offset + field.size <= cut for field in fields)


@pytest.mark.parametrize("name", list(REQUESTS))
def test_every_frame_that_is_too_short(name: str) -> None:
    """A size that is right around a message that is not whole: the message is what is broken."""
    body = REQUESTS[name][4:]
    for cut in range(len(body)):
        found = fault(request_of(with_size(body[:cut])))

        assert found is not None
        assert found[1]
        assert found[0] <= cut + 4


def test_a_size_out_of_bounds() -> None:
    """Negative, above the limit, or the beginning of TLS."""
    assert fault(request_of(b"\xff\xff\xff\xff")) == (0, "Size", "-1; allowed are 0 to 1000")
    assert fault(request_of(b"\0\0\x03\xe9")) == (0, "Size", "1001; allowed are 0 to 1000")
    found = fault(request_of(b"\x16\x03\x01\x02"))
    assert found is not None
    assert found[2].endswith("(the bytes look like TLS)")


def test_unknown_apis_and_versions() -> None:
    """The fields of the header that need neither are still there."""
    unknown = DESCRIBE_ACLS[:4] + b"\0\xc8" + DESCRIBE_ACLS[6:]
    newer = DESCRIBE_ACLS[:6] + b"\0\x63" + DESCRIBE_ACLS[8:]

    assert fault(request_of(unknown)) == (4, "ApiKey", "200 is no API of Kafka")
    assert [field.name for field in request_of(unknown).fields()][-1] == "CorrelationId"
    reason = "99; DescribeAcls has the versions 0 to 3"
    assert fault(request_of(newer)) == (6, "ApiVersion", reason)
    assert [field.name for field in request_of(newer).fields()][-1] == "ClientId"
    assert fault(response_of(DESCRIBED, 29, 99)) == (9, "ApiVersion", reason)


def test_trailing_bytes() -> None:
    """A broker would not mind; who reads frames does."""
    found = fault(request_of(with_size(CREATE_ACLS[4:] + b"abc")))

    assert found == (len(CREATE_ACLS), "", "3 trailing bytes")


def test_a_length_beyond_the_frame() -> None:
    """The fault names the string whose length is wrong."""
    at = CREATE_ACLS.index(b"\0\nUser:alice")

    found = fault(request_of(CREATE_ACLS[:at] + b"\x7f\xff" + CREATE_ACLS[at + 2 :]))

    assert found is not None
    assert found[:2] == (at, "Creations[0].Principal")
    assert "32767 announced" in found[2]


def test_what_is_not_served_is_not_broken() -> None:
    """Brokers have APIs that are not declared here: the header is read, the body counted."""
    vote = with_size(b"\0\x34" + b"\0\0" + b"\0\0\0\1" + b"\xff\xff" + b"\0" + b"body")
    dissection = request_of(vote)

    assert fault(dissection) is None
    assert dissection.note == "4 bytes not decoded: Doorkeeper does not serve Vote"


def test_a_response_without_its_request() -> None:
    """Only the correlation id can be read."""
    dissection = Dissection(Frame(0, DESCRIBED), "response", frame_bytes_max=MAX)

    assert [field.path for field in dissection.fields()] == ["Size", "CorrelationId"]
    assert "their request was not seen" in dissection.note
    assert dissection.error is None


def test_a_token() -> None:
    """What has no header is counted, not shown."""
    dissection = Dissection(Frame(0, with_size(b"abc")), "token", frame_bytes_max=MAX)

    assert [field.path for field in dissection.fields()] == ["Size"]
    assert dissection.note == "SASL token of 3 bytes without a header: cannot be decoded"


def test_secret_values() -> None:
    """Tokens, and values of configurations that are passwords; no other values."""
    secret = {
        field.path
        for data in (LOGIN, CONFIG_CHANGE)
        for field in request_of(data).fields()
        if field.secret
    }

    assert secret == {"AuthBytes", "Resources[0].Configs[0].Value"}


def test_how_requests_begin() -> None:
    """API, version and correlation id stand in the same place in every request."""
    assert request_id(Frame(0, CREATE_ACLS)) == (30, 1, 8)
    assert request_id(Frame(0, CREATE_ACLS[:11])) is None


def test_what_is_declared() -> None:
    """Each API by name, and how many versions it has."""
    assert "DescribeAcls" in declared_apis()
    assert "Vote" not in declared_apis()
    assert version_count("DescribeAcls") == 4
    with pytest.raises(LookupError):
        version_count("Vote")
