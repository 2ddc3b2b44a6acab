"""Single-user mode: the authorizer as the operator's connection sees it.

A command on a stopped store starts the server for itself, as PostgreSQL's single-user mode does.
Whoever has the files may do everything, so no permission is asked for: the way back for an
administrator who is locked out, also by an authorizer that denies everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from doorkeeper.acls.model import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import full_mask
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.result_checks import AclChange
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.state.outcome import Results


class OperatorAuthorizer:
    """Allows everything. The configured authorizer has the ACLs.

    One of a user sees no request context; the standard one takes the client id for the history.
    """

    def __init__(self, guarded: GuardedAuthorizer) -> None:
        self._guarded = guarded
        self.faults: list[AuthorizerFault] = []
        """The exceptions of the authorizer, which a response hides: the command reports them."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        del context
        return [AuthorizationResult.ALLOWED] * len(actions)

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        del context, operation, resource_type
        return AuthorizationResult.ALLOWED

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        del context
        return [full_mask(resource.resource_type) for resource in resources]

    def acls(self, filter: AclBindingFilter) -> Iterable[AclBinding]:
        with self._noting_faults():
            return self._guarded.acls(filter)

    async def change(
        self,
        change: AclChange,
        context: AuthorizableRequestContext,
        items: Sequence[Any],
        timeout_s: float,
    ) -> Results:
        seen = context if type(self._guarded.inner) is StandardAuthorizer else None
        with self._noting_faults():
            results = await self._guarded.change(change, seen, items, timeout_s)
        name = self._guarded.name
        self.faults += [AuthorizerFault(name, "an item", error) for error in results.errors]
        return replace(results, errors=())

    @contextmanager
    def _noting_faults(self) -> Iterator[None]:
        try:
            yield
        except AuthorizerFault as fault:
            self.faults.append(fault)
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from fault
