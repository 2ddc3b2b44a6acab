"""Records the authorization requests of a server, each distinct one with its count."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import WILDCARD
from doorkeeper.cli.learn.requests import AccessCounts, AccessKey
from doorkeeper.server.authorizer.contract import AuthorizationResult
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclOperation, ResourceType
    from doorkeeper.acls.recorded_access import RecordedAccess
    from doorkeeper.server.authorizer.contract import Action
    from doorkeeper.server.authorizer.guard import GuardedAuthorizer
    from doorkeeper.server.authorizer.standard import StandardAuthorizer
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

    OnAccess = Callable[[AuthorizableRequestContext, Question, bool, bool | None], None]
    """Takes each access, whether it is allowed, and ``log_if_denied``: None for any resource."""

_NS_PER_S: Final = 1_000_000_000


class Recorder:
    """Follows the decisions of an authorizer. Requests for authorized operations are none.

    The server's thread counts; others may read.
    """

    def __init__(
        self,
        guarded: GuardedAuthorizer,
        now_ns: Callable[[], int],
        on_access: OnAccess = lambda *_: None,
    ) -> None:
        """Follow the decisions; a recorder that is there already, such as the audit log, stays."""
        self._now_ns = now_ns
        self._on_access = on_access
        self._counts = AccessCounts()
        self._next = guarded.on_decision
        self._next_of_type = guarded.on_type_decision
        guarded.on_decision = self._record
        guarded.on_type_decision = self._record_type

    def accesses(self) -> list[RecordedAccess]:
        """Return the recorded accesses, in the order of their first occurrence."""
        return self._counts.accesses()

    def _record(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        basis: StandardAuthorizer | None,
    ) -> None:
        for action, result in zip(actions, results, strict=True):
            resource_type, name, _ = action.resource
            asked = (action.operation, resource_type, name)
            self._count(context, asked, result, action.log_if_denied)
        if self._next is not None:
            self._next(context, actions, results, basis)

    def _record_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
        result: AuthorizationResult,
    ) -> None:
        self._count(context, (operation, resource_type, WILDCARD), result, None)
        if self._next_of_type is not None:
            self._next_of_type(context, operation, resource_type, result)

    def _count(
        self,
        context: AuthorizableRequestContext,
        asked: tuple[AclOperation, ResourceType, str],
        result: AuthorizationResult,
        log_if_denied: bool | None,
    ) -> None:
        if context.request_type not in API_NAMES:
            # A test asks for a decision: no request.
            return
        question = Question(str(context.principal), context.client_address, *asked)
        allowed = result is AuthorizationResult.ALLOWED
        on_any = log_if_denied is None
        key = AccessKey(
            question,
            API_NAMES[context.request_type],
            allowed,
            log_if_denied=log_if_denied,
            on_any=on_any,
        )
        now = dt.datetime.fromtimestamp(self._now_ns() // _NS_PER_S, dt.UTC)
        self._counts.add(key, now)
        self._on_access(context, question, allowed, log_if_denied)
