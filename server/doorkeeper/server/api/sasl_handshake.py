"""SaslHandshake (17), versions 0-1: the client names the mechanism it wants to use.

The session answers it while a connection authenticates. This handler sees it afterwards, and on
listeners without SASL: 34 with no mechanisms; the connection stays open.

    v0  bare tokens follow, each behind its length
    v1  the tokens follow in SaslAuthenticate

Source: ``handleSaslHandshakeRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(
    request: SaslHandshakeRequest, context: RequestContext, node: Node
) -> SaslHandshakeResponse:
    """Refuse: the connection is authenticated already, or needs no authentication."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE.value)


API = declare(SaslHandshakeRequest, handle, refuse_as(SaslHandshakeResponse), on_controller=True)
