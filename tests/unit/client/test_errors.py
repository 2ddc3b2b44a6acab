"""Kafka's errors as a client tells them."""

from __future__ import annotations

from doorkeeper.client.errors import ApiFailure, code_name, error_of, stock_text
from doorkeeper.errors import ErrorCode


def test_codes_are_told_by_name() -> None:
    """With the server's text, the stock text, or neither; an unknown code is a number."""
    assert (
        str(ApiFailure(31, None)) == "CLUSTER_AUTHORIZATION_FAILED: Cluster authorization failed."
    )
    assert str(ApiFailure(91, "not there")) == "RESOURCE_NOT_FOUND: not there"
    assert str(ApiFailure(999, None)) == "error 999: no text"
    assert (code_name(999), stock_text(999)) == ("error 999", "no text")


def test_an_items_error_is_a_value() -> None:
    """None for success; a code of a later release keeps its number in the text."""
    assert error_of(0, "ignored") is None
    refused = error_of(31, None)
    later = error_of(999, "new")

    assert refused is not None
    assert (refused.code, str(refused)) == (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        "Cluster authorization failed.",
    )
    assert later is not None
    assert (later.code, str(later)) == (ErrorCode.UNKNOWN_SERVER_ERROR, "error 999: new")
