"""What is said of bytes that are no requests."""

from __future__ import annotations

import pytest

from doorkeeper.connection.unreadable import NOT_KAFKA, header_fault, size_fault
from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (-1, "Invalid receive (size = -1)"),
        (101, "Invalid receive (size = 101 larger than 100)"),
    ],
)
def test_a_size_is_told_with_its_bound_where_it_is_larger(size: int, said: str) -> None:
    """As a broker's log has it."""
    assert size_fault(InvalidFrame(size, 100)).closed == (said, {})


def test_a_greeting_of_tls_is_recognized() -> None:
    """Its first bytes are a large size."""
    hello = int.from_bytes(b"\x16\x03\x01\x02")

    assert size_fault(InvalidFrame(hello, 100)).closed.fields == {"hint": "the client speaks TLS"}


def test_before_the_login_a_header_that_cannot_be_read_is_not_kafka() -> None:
    """What is wrong with it stands beside."""
    error = Malformed("client_id", 7, "too long")
    fields = {"field": "client_id", "offset": 7, "cause": "too long"}

    assert header_fault(error, is_open=True).closed == ("malformed request header", fields)
    cause = {"cause": "malformed request header"}
    assert header_fault(error, is_open=False).closed == (NOT_KAFKA, {**fields, **cause})


def test_an_api_that_there_is_not_is_named_by_its_key() -> None:
    """With what else its header says."""
    reason, fields = header_fault(UnknownApi(999, 3, 7), is_open=True).closed

    assert reason == "Error parsing request header. Our best guess of the apiKeyId is: 999"
    assert fields == {"api_version": 3, "correlation_id": 7}
