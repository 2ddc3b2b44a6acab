"""The contract's own defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acl.model import AclBinding, AclBindingFilter, ResourceType
from doorkeeper.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizableRequestContext,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    Endpoint,
)
from testkit.acl import READ, WRITE, allow, request_of, topic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence


class Plugin(Authorizer):
    """Implements what it must, and no more: denies all, and knows one ACL."""

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        return {}

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        return [AuthorizationResult.DENIED for _ in actions]

    def create_acls(
        self, context: AuthorizableRequestContext, bindings: Sequence[AclBinding]
    ) -> Sequence[Awaitable[AclCreateResult]]:
        return []

    def delete_acls(
        self, context: AuthorizableRequestContext, filters: Sequence[AclBindingFilter]
    ) -> Sequence[Awaitable[AclDeleteResult]]:
        return []

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        return [allow("alice", READ, topic("a"))]


def test_a_plugin_has_the_contracts_defaults() -> None:
    """It configures and closes without a word, counts -1, and is asked for "some" through acls."""
    plugin = Plugin()
    plugin.configure({"any": "thing"})
    plugin.close()

    assert plugin.acl_count() == -1
    answers = [
        plugin.authorize_by_resource_type(request_of("alice"), operation, ResourceType.TOPIC)
        for operation in (READ, WRITE)
    ]
    assert answers == [AuthorizationResult.ALLOWED, AuthorizationResult.DENIED]
