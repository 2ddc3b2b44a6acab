"""The authorizer that allows everything, so that an application runs to its end.

Brokers ask some wide questions first, such as for CREATE on the cluster, and narrow ones only if
the wide one is denied. It denies the wide ones, so that the narrow ones, which need smaller ACLs,
are asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.operations import full_mask
from doorkeeper.cli.learn.requests import WIDE_QUESTIONS
from doorkeeper.server.authorizer.contract import AuthorizationResult
from doorkeeper.server.authorizer.standard import StandardAuthorizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.model import AclOperation, ResourcePattern, ResourceType
    from doorkeeper.server.authorizer.contract import Action
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext


class LearningAuthorizer(StandardAuthorizer):
    """Allows every request; stores ACLs as usual, but does not ask them."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Allow all actions except wide questions."""
        return [
            AuthorizationResult.DENIED
            if (context.request_type, action.operation, action.resource.resource_type)
            in WIDE_QUESTIONS
            else AuthorizationResult.ALLOWED
            for action in actions
        ]

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        return AuthorizationResult.ALLOWED

    def authorized_operations(
        self,
        context: AuthorizableRequestContext,
        resources: Sequence[ResourcePattern],
    ) -> list[int]:
        """Return all operations for each resource."""
        return [full_mask(resource.resource_type) for resource in resources]
