"""SaslAuthenticate (36), versions 0-2: one token of a mechanism, in each direction.

The session answers it while a connection authenticates. This handler sees it afterwards, and on
listeners without SASL: 34; the connection stays open.

    v1  the lifetime of the session    v2  flexible

Source: ``handleSaslAuthenticateRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

_ANSWER: Final = SaslAuthenticateResponse(
    error_code=ErrorCode.ILLEGAL_SASL_STATE.value,
    error_message="SaslAuthenticate request received after successful authentication",
)
"""The connection is authenticated already, or needs no authentication."""

API = declare(
    SaslAuthenticateRequest,
    lambda *_: _ANSWER,
    refuse_as(SaslAuthenticateResponse),
    on_controller=True,
)
