"""The parts that the APIs that change delegation tokens share.

Source: ``KafkaApis.handleRenewTokenRequest``, ``KafkaApis.handleExpireTokenRequest`` (4.3.1).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.node import Update, UpdateOperation
from doorkeeper.server.resources.tokens import may_ask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.server.api.node import Node, Outcome, Response, Services
    from doorkeeper.server.resources.tokens import Expiration, Renewal, SignedToken, TokenWish
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.state.outcome import Results


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
        UpdateOperation.TOKENS, 1, partial(change_token, wish, context), partial(_respond, response)
    )


async def change_token(wish: TokenWish, context: RequestContext, services: Services) -> Results:
    """Issue, renew or expire a token: the ``apply`` of an ``Update``."""
    return await services.tokens.change(wish, context)


def _respond(
    response: Callable[..., Response], results: Sequence[ApiError | SignedToken]
) -> Response:
    (result,) = results
    if isinstance(result, ApiError):
        return response(error_code=answer_of(result)[0].value)
    return response(expiry_timestamp_ms=result.token.expiry_ms)
