"""Requests about delegation tokens, of callers who have proved who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.tokens import SignedToken, Token, hmac_of
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from testkit.nodes import on_the_wire

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from testkit.nodes import ANode

ALICE, BOB, CAROL, DAVE = (Principal("User", name) for name in ("alice", "bob", "carol", "dave"))
SECRET = "a secret of brokers"
NOW = 1_700_000_000_000
TOKEN = Token("id-of-alices", ALICE, BOB, (CAROL,), NOW - 50, NOW + 50, NOW + 950)


def signed(token: Token) -> SignedToken:
    """Return a token with its HMAC."""
    return SignedToken(token, hmac_of(SECRET, token.token_id))


def context_of(
    api: Api,
    version: int,
    caller: Principal,
    *,
    protocol: str = "SASL_SSL",
    controller: bool = False,
    by_token: bool = False,
) -> RequestContext:
    """Return the circumstances of a request."""
    asked = AuthorizableRequestContext(
        "CLIENTS", protocol, caller, "10.0.0.7", api.key, version, "client-1", 5
    )
    return RequestContext(
        asked, "Request(described)", controller_listener=controller, token_authenticated=by_token
    )


def asked(
    api: Api,
    request: Any,
    node: ANode,
    version: int,
    caller: Principal = ALICE,
    **circumstances: Any,
) -> Any:
    """Return what the handler returns for a request from the wire; an answer as it arrives."""
    request, _ = api.request.decode(request.encode(version), 0, version)
    context = context_of(api, version, caller, **circumstances)
    try:
        made: Any = api.handle(request, context, node)
    except ApiError as error:
        made = api.refuse(request, version, error)
    return made if isinstance(made, Update) else on_the_wire(made, version)


NOBODY = {"caller": ANONYMOUS, "protocol": "SSL"}
IN_CLEAR = {"caller": ANONYMOUS, "protocol": "PLAINTEXT"}
WITH_A_TOKEN = {"by_token": True}
NOT_ALLOWED = (NOBODY, IN_CLEAR, WITH_A_TOKEN)
"""Circumstances in which nobody may ask for, or about, tokens."""
