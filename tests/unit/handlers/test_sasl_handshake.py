"""SaslHandshake, once a connection is open."""

from __future__ import annotations

import pytest

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.sasl_handshake import API
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.nodes import answer, node_of


@pytest.mark.parametrize("version", [0, 1])
async def test_it_is_out_of_place(version: int) -> None:
    """34 with no mechanisms; whoever asks."""
    node = await node_of()

    answered = answer(API, SaslHandshakeRequest(mechanism="PLAIN"), node, version, user="nobody")

    assert answered == SaslHandshakeResponse(error_code=34)
    assert node.lines() == []


def test_an_error_has_no_text() -> None:
    """Only its code fits."""
    error = ApiError(ErrorCode.ILLEGAL_SASL_STATE, "a text")

    assert API.refuse(SaslHandshakeRequest(), 1, error) == SaslHandshakeResponse(error_code=34)
