"""RenewDelegationToken (39), versions 0-2: postpones the expiry of a token.

    v1  as v0        v2  flexible

In this order: 64 for a caller that is not authenticated or logged in with a token, then with -1 as
the time; 61 without ``delegation.token.secret.key``; 62 for an unknown HMAC; 66 for a token that
has expired; 63 for a caller that is neither its owner nor one of its renewers: the requester of a
token for another owner may not renew it.

The new expiry is the period from now, ``delegation.token.expiry.time.ms`` at most and for a period
of 0 or less, and never after the token's maximum lifetime.

Source: ``KafkaApis.handleRenewTokenRequest``, ``DelegationTokenControlManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node, Outcome, Response, Update, UpdateOperation
from doorkeeper.server.resources.tokens import Expiration, Renewal, may_ask
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def handle(request: RenewDelegationTokenRequest, context: RequestContext, node: Node) -> Outcome:
    wish = Renewal(request.hmac, request.renew_period_ms, context.authorizable.principal)
    return alter_token(wish, context, node, RenewDelegationTokenResponse)


def alter_token(
    wish: Renewal | Expiration,
    context: RequestContext,
    node: Node,
    response: Callable[..., Response],
) -> Outcome:
    """Renew or expire a token; ``response`` is the API's class of responses.

    First 64 for a caller that may not ask, with -1 as the time; then 61 without a secret.
    """
    if not may_ask(context):
        code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        # -1 where the broker itself refuses, 0 (the default) where its controller does.
        return response(error_code=code.value, expiry_timestamp_ms=-1)
    if not node.tokens.is_enabled:
        return response(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED.value)
    return Update(
        UpdateOperation.TOKENS,
        lambda services: services.tokens.change(wish, context),
        lambda signed: response(expiry_timestamp_ms=signed.token.expiry_ms),
    )


API = declare(
    RenewDelegationTokenRequest, handle, refuse_as(RenewDelegationTokenResponse), on_controller=True
)
