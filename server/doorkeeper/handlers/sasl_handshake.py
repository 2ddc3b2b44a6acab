"""SaslHandshake (17), versions 0-1: the client names the mechanism it wants to use.

The session answers it while a connection authenticates. This handler sees it afterwards, and on
listeners without SASL: 34 with no mechanisms; the connection stays open.

    v0  bare tokens follow, each behind its length
    v1  the tokens follow in SaslAuthenticate

Source: ``handleSaslHandshakeRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api.declaration import Api
from doorkeeper.errors import ErrorCode, answer_of
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from doorkeeper.api.node import Node
    from doorkeeper.request_context import RequestContext


def handle(
    request: SaslHandshakeRequest,  # noqa: ARG001  the form of Api.handle
    context: RequestContext,  # noqa: ARG001  as above
    node: Node,  # noqa: ARG001  as above
) -> SaslHandshakeResponse:
    """Refuse: the connection is authenticated already, or needs no authentication."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE.value)


def refuse(
    request: SaslHandshakeRequest,  # noqa: ARG001  the form of Api.refuse
    version: int,  # noqa: ARG001  as above
    error: BaseException,
) -> SaslHandshakeResponse:
    """Answer an error; the response has no field for a text."""
    code, _ = answer_of(error)
    return SaslHandshakeResponse(error_code=code.value)


API = Api(
    key=17,
    name="SaslHandshake",
    min_version=0,
    max_version=1,
    request=SaslHandshakeRequest,
    handle=handle,
    refuse=refuse,
    on_controller=True,
)
