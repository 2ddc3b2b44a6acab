"""SaslHandshake and SaslAuthenticate, once a connection is open."""

from __future__ import annotations

import pytest

from doorkeeper.handlers import sasl_authenticate, sasl_handshake
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.nodes import answer, node_of


@pytest.mark.parametrize("version", [0, 1])
async def test_requests_after_the_login_are_refused(version: int) -> None:
    """34, without mechanisms and with the broker's text, whoever asks."""
    node = await node_of()
    handshake, token = SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest()

    shaken = answer(sasl_handshake.API, handshake, node, version, user="nobody")
    authenticated = answer(sasl_authenticate.API, token, node, version, user="nobody")

    assert shaken == SaslHandshakeResponse(error_code=34)
    assert authenticated == SaslAuthenticateResponse(
        error_code=34,
        error_message="SaslAuthenticate request received after successful authentication",
    )
    assert node.lines() == []
