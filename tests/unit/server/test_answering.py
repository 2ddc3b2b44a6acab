"""Frames of answers, and where there can be none."""

from __future__ import annotations

import pytest

from doorkeeper.answering import End, encoded, framed, key_of
from doorkeeper.exchange import Closed
from doorkeeper_wire.headers import RequestHeader
from doorkeeper_wire.messages.describe_acls import DescribeAclsResource, DescribeAclsResponse


def header(version: int) -> RequestHeader:
    return RequestHeader(api_key=29, api_version=version, correlation_id=7, client_id="t")


@pytest.mark.parametrize("version", [1, 3])
def test_a_body_is_framed_as_the_message_is(version: int) -> None:
    """Size, correlation id, and tags from the flexible versions on."""
    response = DescribeAclsResponse(error_message="text")
    asked = header(version)

    frame = encoded(asked, response)

    assert frame == framed(asked, response.encode(version))
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    assert int.from_bytes(frame[4:8]) == 7


def test_an_answer_may_have_another_version() -> None:
    """ApiVersions answers a version that it does not know in version 0."""
    response = DescribeAclsResponse()

    assert encoded(header(3), response, version=1) == encoded(header(1), response)


def test_what_does_not_fit_ends_the_connection() -> None:
    """With the version, the API, and what it is that does not fit."""
    row = DescribeAclsResource(resource_name="x" * 40_000)

    with pytest.raises(End) as end:
        encoded(header(1), DescribeAclsResponse(resources=(row,)))

    closed = end.value.closed
    assert isinstance(closed, Closed)
    assert closed.reason == "the answer does not fit version 1 of DescribeAcls"
    assert closed.fields["correlation_id"] == 7
    assert "resource_name" in str(closed.fields["cause"])


def test_lines_of_the_log_name_the_api() -> None:
    """By key and name."""
    assert key_of(header(3)) == "29 (DescribeAcls)"
