"""The parts that the APIs that change delegation tokens share.

Source: ``KafkaApis.handleRenewTokenRequest``, ``KafkaApis.handleExpireTokenRequest`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Callable

from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.api.node import Node, Outcome, Response, Update, UpdateOperation
from doorkeeper.server.resources.tokens import Expiration, Renewal, may_ask
from doorkeeper.server.runtime.request_context import RequestContext


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
