"""What both APIs that change keys share."""

from __future__ import annotations

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.config_alteration import Verbatim, code_and_text


def test_a_stock_text_is_told_where_a_broker_tells_it() -> None:
    """Only of those who may not; elsewhere the code says enough."""
    text = "Cluster authorization failed."

    assert code_and_text(Verbatim(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, text)) == (31, text)
    assert code_and_text(ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, text)) == (31, None)
    assert code_and_text(None) == (0, None)
