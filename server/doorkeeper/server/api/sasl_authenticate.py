"""SaslAuthenticate (36), versions 0-2: one token of a mechanism, in each direction.

The session answers it while a connection authenticates. This handler sees it afterwards, and on
listeners without SASL: 34; the connection stays open.

    v1  the lifetime of the session    v2  flexible

Source: ``handleSaslAuthenticateRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)


def handle(
    request: SaslAuthenticateRequest, context: RequestContext, node: Node
) -> SaslAuthenticateResponse:
    """Refuse: the connection is authenticated already, or needs no authentication."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE.value,
        error_message="SaslAuthenticate request received after successful authentication",
    )


API = declare(
    SaslAuthenticateRequest, handle, refuse_as(SaslAuthenticateResponse), on_controller=True
)
