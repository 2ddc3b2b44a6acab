"""ExpireDelegationToken (40), versions 0-2: expires a token, now or earlier than before.

    v1  as v0        v2  flexible

In this order: 64 for a caller that is not authenticated or logged in with a token, then with -1 as
the time; 61 without ``delegation.token.secret.key``; 62 for an unknown HMAC; 63 for a caller that
is neither its owner nor one of its renewers; 66 for a token that has expired, unless it is to end
now.

A negative period ends the token now, which is the time in the answer. Connections that logged in
with it stay open until their session expires.

Source: ``KafkaApis.handleExpireTokenRequest``, ``DelegationTokenControlManager`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node, Outcome
from doorkeeper.server.api.token_alteration import alter_token
from doorkeeper.server.resources.tokens import Expiration
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


def handle(request: ExpireDelegationTokenRequest, context: RequestContext, node: Node) -> Outcome:
    wish = Expiration(request.hmac, request.expiry_time_period_ms, context.authorizable.principal)
    return alter_token(wish, context, node, ExpireDelegationTokenResponse)


API = declare(
    ExpireDelegationTokenRequest,
    handle,
    refuse_as(ExpireDelegationTokenResponse),
    on_controller=True,
)
