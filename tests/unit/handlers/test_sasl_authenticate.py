"""SaslAuthenticate, once a connection is open."""

from __future__ import annotations

import pytest

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
