"""CreateDelegationToken (38), versions 0-3: issues a token for later logins.

    v1  as v0        v2  flexible        v3  a token for another owner (KIP-373)

Checks, in order: 64 for a caller that is not authenticated or logged in with a token; 65 without
CREATE_TOKENS on the owner, which is named by the whole principal ``User:owner1``; 67 for a renewer
that is no user; 61 without ``delegation.token.secret.key``. A controller listener checks the
secret before the renewers. Names that no response can encode are 42.

Times are -1 where the broker itself refuses, and 0 where a broker's controller does.

Source: ``KafkaApis.handleCreateTokenRequest``, ``DelegationTokenControlManager`` (4.3.1).
"""

from __future__ import annotations

from functools import partial

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.acls.validation import text_fault
from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Outcome, Services, Update, UpdateOperation
from doorkeeper.server.api.permissions import is_allowed, needs
from doorkeeper.server.resources.tokens import USER, NewToken, SignedToken, may_ask
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

(_CREATE_TOKENS,) = needs(CreateDelegationTokenRequest.API_KEY)

_NO_TIME = -1


def handle(request: CreateDelegationTokenRequest, context: RequestContext, node: Node) -> Outcome:
    requester = context.authorizable.principal
    version = context.authorizable.request_version
    owner = _owner_of(request, requester)
    named = _empty_response(owner, requester, version)
    renewers = tuple(
        Principal(renewer.principal_type, renewer.principal_name) for renewer in request.renewers
    )
    only_users = all(renewer.principal_type == USER for renewer in renewers)
    # The order of the checks is the broker's; each error is the first one that applies.
    if not may_ask(context):
        return _refusal(named, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, time_ms=_NO_TIME)
    if owner != requester and not is_allowed(node, context, _CREATE_TOKENS, str(owner)):
        return _refusal(named, _CREATE_TOKENS.refusal, time_ms=_NO_TIME)
    # A broker checks the renewers before it forwards the request; a controller after the secret.
    if not only_users and not context.controller_listener:
        return _refusal(named, ErrorCode.INVALID_PRINCIPAL_TYPE, time_ms=_NO_TIME)
    if not node.tokens.is_enabled:
        return _refusal(named, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    if not only_users:
        return _refusal(named, ErrorCode.INVALID_PRINCIPAL_TYPE)
    if any(map(text_fault, (*owner, *(renewer.name for renewer in renewers)))):
        # No description of tokens could be encoded any more. Bytes that are no UTF-8 grow.
        raise ApiError(ErrorCode.INVALID_REQUEST)

    wish = NewToken(owner, requester, renewers, request.max_lifetime_ms)
    apply = partial(_create, wish, context)
    return Update(UpdateOperation.TOKENS, apply, partial(_respond, named))


async def _create(
    wish: NewToken, context: RequestContext, services: Services
) -> SignedToken | ApiError:
    try:
        return await services.tokens.change(wish, context)
    except ApiError as error:
        # Unlike other refusals, that of a controller names the owner.
        return error


def _respond(
    named: CreateDelegationTokenResponse, result: SignedToken | ApiError
) -> CreateDelegationTokenResponse:
    if isinstance(result, ApiError):
        return _refusal(named, answer_of(result)[0])
    token = result.token
    return named.replace(
        issue_timestamp_ms=token.issue_ms,
        expiry_timestamp_ms=token.expiry_ms,
        max_timestamp_ms=token.max_ms,
        token_id=token.token_id,
        hmac=result.hmac,
    )


def _owner_of(request: CreateDelegationTokenRequest, requester: Principal) -> Principal:
    """Return the owner of the token: the caller, unless another principal is named.

    Raises:
        ApiError: a name without a type, which fails inside a broker.
    """
    if not request.owner_principal_name:
        return requester
    # KafkaPrincipal refuses a null type, so that a broker answers -1.
    if request.owner_principal_type is None:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return Principal(request.owner_principal_type, request.owner_principal_name)


def _empty_response(
    owner: Principal, requester: Principal, version: int
) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(
        principal_type=owner.principal_type, principal_name=owner.name
    )
    # The requester is a field of version 3 (KIP-373).
    if version < 3:
        return response
    return response.replace(
        token_requester_principal_type=requester.principal_type,
        token_requester_principal_name=requester.name,
    )


def _refusal(
    named: CreateDelegationTokenResponse, code: ErrorCode, *, time_ms: int = 0
) -> CreateDelegationTokenResponse:
    return named.replace(
        error_code=code.value,
        issue_timestamp_ms=time_ms,
        expiry_timestamp_ms=time_ms,
        max_timestamp_ms=time_ms,
    )


def refuse(
    request: CreateDelegationTokenRequest, version: int, error: BaseException
) -> CreateDelegationTokenResponse:
    """Answer an error for the whole request; a broker names ANONYMOUS in it."""
    named = _empty_response(ANONYMOUS, ANONYMOUS, version)
    return _refusal(named, answer_of(error)[0], time_ms=_NO_TIME)


API = declare(CreateDelegationTokenRequest, handle, refuse, on_controller=True)
