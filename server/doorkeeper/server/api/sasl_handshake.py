"""SaslHandshake (17), versions 0-1: the client names the mechanism it wants to use.

The session answers it while a connection authenticates. This handler sees it afterwards, and on
listeners without SASL: 34 with no mechanisms; the connection stays open.

    v0  bare tokens follow, each behind its length
    v1  the tokens follow in SaslAuthenticate

Source: ``handleSaslHandshakeRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

_ANSWER: Final = SaslHandshakeResponse(
    error_code=ErrorCode.ILLEGAL_SASL_STATE.value,
)
"""The connection is authenticated already, or needs no authentication."""

API = declare(
    SaslHandshakeRequest, lambda *_: _ANSWER, refuse_as(SaslHandshakeResponse), on_controller=True
)
