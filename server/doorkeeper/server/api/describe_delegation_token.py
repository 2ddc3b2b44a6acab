"""DescribeDelegationToken (41), versions 0-3: delegation tokens, including their HMACs.

    v1  as v0        v2  flexible        v3  the requester of each token

In this order: 64 for a caller that is not authenticated or logged in with a token; 61 without
``delegation.token.secret.key``. Owners null selects all tokens, an empty list none, other owners
the tokens that one of them owns, requested or may renew. Of these the caller sees the tokens that
it owns, requested or may renew itself, and others with DESCRIBE on the token or DESCRIBE_TOKENS on
its owner, named by the whole principal ``User:owner1``. The rest is left out. HMACs are sent in
clear, as by a broker.

A controller listener lists the API and fails in it, as a controller does.

Source: ``KafkaApis.handleDescribeTokensRequest``, ``DelegationTokenManager.filterToken`` (4.3.1).
"""

from __future__ import annotations

from doorkeeper.acls.model import Principal
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.resources.tokens import SignedToken, Token, may_ask
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

_DESCRIBE, _DESCRIBE_TOKENS = needs(DescribeDelegationTokenRequest.API_KEY)


def handle(
    request: DescribeDelegationTokenRequest, context: RequestContext, node: Node
) -> DescribeDelegationTokenResponse:
    # A controller lists the API and fails in it.
    if context.controller_listener:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if not may_ask(context):
        raise ApiError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if not node.tokens.is_enabled:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        named = (Principal(owner.principal_type, owner.principal_name) for owner in request.owners)
        owners = frozenset(named)
    version = context.authorizable.request_version
    # An empty list selects nothing; null selects all.
    if owners is not None and not owners:
        return DescribeDelegationTokenResponse()
    return DescribeDelegationTokenResponse(
        tokens=tuple(
            _row(signed, version)
            for signed in node.tokens.signed_tokens()
            if (owners is None or signed.token.concerns_one_of(owners))
            and _is_visible(signed.token, context, node)
        )
    )


def _is_visible(token: Token, context: RequestContext, node: Node) -> bool:
    return (
        # Cheapest first, and no authorizer log line for a caller's own tokens.
        token.concerns_one_of(frozenset((context.authorizable.principal,)))
        or is_allowed(node, context, _DESCRIBE, token.token_id)
        or is_allowed(node, context, _DESCRIBE_TOKENS, str(token.owner))
    )


def _row(signed: SignedToken, version: int) -> DescribedDelegationToken:
    token = signed.token
    row = DescribedDelegationToken(
        principal_type=token.owner.principal_type,
        principal_name=token.owner.name,
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=signed.hmac,
        renewers=tuple(
            DescribedDelegationTokenRenewer(
                principal_type=renewer.principal_type, principal_name=renewer.name
            )
            for renewer in token.renewers
        ),
    )
    if version < 3:
        return row
    return row.replace(
        token_requester_principal_type=token.requester.principal_type,
        token_requester_principal_name=token.requester.name,
    )


API = declare(
    DescribeDelegationTokenRequest,
    handle,
    refuse_as(DescribeDelegationTokenResponse),
    on_controller=True,
    # Two decisions for each token of others, whose number any user can raise.
    slow=True,
)
