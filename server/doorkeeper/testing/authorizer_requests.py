"""Asks an authorizer for a decision, like a client's request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.model import PatternType, Principal, ResourcePattern
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

if TYPE_CHECKING:
    from doorkeeper.acls.decision import Question
    from doorkeeper.server.authorizer.guard import GuardedAuthorizer


def decide(authorizer: GuardedAuthorizer, question: Question, listener_name: str) -> bool:
    """Return the authorizer's decision. Call it on the thread of its event loop."""
    context = AuthorizableRequestContext(
        listener_name=listener_name,
        security_protocol="PLAINTEXT",
        principal=Principal.parse(question.principal),
        client_address=question.host,
        request_type=-1,
        request_version=0,
        client_id="doorkeeper.testing",
        correlation_id=0,
    )
    resource = ResourcePattern(question.resource_type, question.name, PatternType.LITERAL)
    action = Action(question.operation, resource)
    (result,) = authorizer.authorize(context, [action])
    return result is AuthorizationResult.ALLOWED
