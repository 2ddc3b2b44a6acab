"""SaslAuthenticate (36), versions 0-2: one token of a mechanism, in each direction.

The session answers it while a connection authenticates. This handler sees it afterwards, and on
listeners without SASL: 34; the connection stays open.

    v1  the lifetime of the session    v2  flexible

Source: ``handleSaslAuthenticateRequest`` of the broker 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.api.declaration import Api
from doorkeeper.errors import ErrorCode, answer_of
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

if TYPE_CHECKING:
    from doorkeeper.api.node import Node
    from doorkeeper.request_context import RequestContext


def handle(
    request: SaslAuthenticateRequest,  # noqa: ARG001  the form of Api.handle
    context: RequestContext,  # noqa: ARG001  as above
    node: Node,  # noqa: ARG001  as above
) -> SaslAuthenticateResponse:
    """Refuse: the connection is authenticated already, or needs no authentication."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE.value,
        error_message="SaslAuthenticate request received after successful authentication",
    )


def refuse(
    request: SaslAuthenticateRequest,  # noqa: ARG001  the form of Api.refuse
    version: int,  # noqa: ARG001  as above
    error: BaseException,
) -> SaslAuthenticateResponse:
    code, text = answer_of(error)
    return SaslAuthenticateResponse(error_code=code.value, error_message=text)


API = Api(
    key=36,
    name="SaslAuthenticate",
    min_version=0,
    max_version=2,
    request=SaslAuthenticateRequest,
    handle=handle,
    refuse=refuse,
    on_controller=True,
)
