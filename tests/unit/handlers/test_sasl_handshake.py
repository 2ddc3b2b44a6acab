"""SaslHandshake, once a connection is open."""

from __future__ import annotations

import pytest

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
