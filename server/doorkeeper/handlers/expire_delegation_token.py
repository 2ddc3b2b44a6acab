"""ExpireDelegationToken (40), versions 0-2: ends a token, now or sooner than it would.

    v1  as v0        v2  flexible

In this order: 64 for a caller that has not proved who it is, or logged in with a token, then with
-1 as the time; 61 without ``delegation.token.secret.key``; 62 for an HMAC that no token has; 63 for
a caller that is neither its owner nor one of its renewers; 66 for a token that has expired, unless
it shall end now.

A negative period ends the token now, which is the time in the answer. Connections that logged in
with it stay until their own time is over.

Source: ``KafkaApis.handleExpireTokenRequest``, ``DelegationTokenControlManager`` (4.3.1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.api import Api
from doorkeeper.delegation_tokens import Expiration, SignedToken, may_ask
from doorkeeper.errors import ApiError, ErrorCode, answer_of
from doorkeeper.node import Update
from doorkeeper_wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.node import Node, Outcome, Services
    from doorkeeper.request_context import RequestContext
    from doorkeeper.results import Results


def handle(request: ExpireDelegationTokenRequest, context: RequestContext, node: Node) -> Outcome:
    """Expire the token, unless the caller may not ask for it."""
    if not may_ask(context):
        return _refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_ms=-1)
    if not node.tokens.enabled:
        return _refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    wish = Expiration(request.hmac, request.expiry_time_period_ms, context.authorizable.principal)
    return Update("tokens", 1, partial(_change, wish, context), _respond)


async def _change(wish: Expiration, context: RequestContext, services: Services) -> Results:
    return await services.tokens.change(wish, context)


def _respond(results: Sequence[ApiError | SignedToken]) -> ExpireDelegationTokenResponse:
    (result,) = results
    if isinstance(result, ApiError):
        return _refused(answer_of(result)[0])
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=result.token.expiry_ms)


def _refused(code: ErrorCode, *, expiry_ms: int = 0) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=code.value, expiry_timestamp_ms=expiry_ms)


def refuse(
    request: ExpireDelegationTokenRequest,  # noqa: ARG001  the form of Api.refuse
    version: int,  # noqa: ARG001  as above
    error: BaseException,
) -> ExpireDelegationTokenResponse:
    """Answer an error for the whole request."""
    return _refused(answer_of(error)[0])


API = Api(
    key=40,
    name="ExpireDelegationToken",
    min_version=0,
    max_version=2,
    request=ExpireDelegationTokenRequest,
    handle=handle,
    refuse=refuse,
    on_controller=True,
)
