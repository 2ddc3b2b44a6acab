"""SaslAuthenticate, once a connection is open."""

from __future__ import annotations

import pytest

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.sasl_authenticate import API
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from testkit.nodes import answer, node_of


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_it_is_out_of_place(version: int) -> None:
    """34 with the broker's text; whoever asks."""
    node = await node_of()

    answered = answer(API, SaslAuthenticateRequest(auth_bytes=b"x"), node, version, user="nobody")

    assert answered == SaslAuthenticateResponse(
        error_code=34,
        error_message="SaslAuthenticate request received after successful authentication",
    )


def test_an_error_has_a_text() -> None:
    """Code and text; the connection's session uses this form too."""
    error = ApiError(ErrorCode.SASL_AUTHENTICATION_FAILED, "no")

    assert API.refuse(SaslAuthenticateRequest(), 2, error) == SaslAuthenticateResponse(
        error_code=58, error_message="no"
    )
