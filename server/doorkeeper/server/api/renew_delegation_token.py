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

from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node, Outcome
from doorkeeper.server.api.token_alteration import alter_token
from doorkeeper.server.resources.tokens import Renewal
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


def handle(request: RenewDelegationTokenRequest, context: RequestContext, node: Node) -> Outcome:
    wish = Renewal(request.hmac, request.renew_period_ms, context.authorizable.principal)
    return alter_token(wish, context, node, RenewDelegationTokenResponse)


API = declare(
    RenewDelegationTokenRequest, handle, refuse_as(RenewDelegationTokenResponse), on_controller=True
)
