"""Asking any authorizer a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclOperation, Principal, ResourceType
from doorkeeper.server.authorizer.contract import AuthorizationResult
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.testing.server import decide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.server.authorizer.contract import Action
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

QUESTION = Question("User:a", "10.0.0.7", AclOperation.READ, ResourceType.TOPIC, "t")


class OnlyFromOneHost(StandardAuthorizer):
    """Allows one principal at one address on one listener."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        known = (Principal("User", "a"), "10.0.0.7", "SSL")
        asked = (context.principal, context.client_address, context.listener_name)
        return [
            AuthorizationResult.ALLOWED if asked == known else AuthorizationResult.DENIED
            for _ in actions
        ]


def test_authorizer_is_called_as_by_a_client() -> None:
    authorizer = GuardedAuthorizer(OnlyFromOneHost())

    assert decide(authorizer, QUESTION, "SSL")
    assert not decide(authorizer, QUESTION, "PLAINTEXT")
    assert not decide(authorizer, QUESTION._replace(host="10.0.0.8"), "SSL")
    assert not decide(authorizer, QUESTION._replace(principal="User:b"), "SSL")
