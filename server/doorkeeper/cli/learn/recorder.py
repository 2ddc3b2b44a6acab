"""Records the authorization requests of a server, each distinct one with its count."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import WILDCARD
from doorkeeper.acls.recorded_access import RecordedAccess
from doorkeeper.cli.learn.requests import CountedRequest, counted_request
from doorkeeper.server.authorizer.contract import AuthorizationResult
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclOperation, ResourceType
    from doorkeeper.server.authorizer.contract import Action
    from doorkeeper.server.authorizer.guard import GuardedAuthorizer
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

_NS_PER_S: Final = 1_000_000_000


class _Key(Struct, frozen=True):
    """The fields that distinguish accesses; ``log_if_denied`` is None for any resource."""

    question: Question
    api_key: int
    allowed: bool
    log_if_denied: bool | None


class Recorder:
    """Follows the decisions of an authorizer. Requests for authorized operations are none.

    The server's thread counts; others may read.
    """

    def __init__(self, guarded: GuardedAuthorizer, now_ns: Callable[[], int]) -> None:
        """Follow the decisions; a recorder that is there already, such as the audit log, stays."""
        self._now_ns = now_ns
        self._counts: dict[_Key, int] = {}
        self._first_ns: dict[_Key, int] = {}
        self._next = guarded.on_decision
        self._next_of_type = guarded.on_type_decision
        guarded.on_decision = self._record
        guarded.on_type_decision = self._record_type

    def accesses(self) -> list[RecordedAccess]:
        """Return the recorded accesses, in the order of their first occurrence."""
        accesses = []
        for key, count in list(self._counts.items()):
            counted = _classify(key)
            if counted is not None:
                first = dt.datetime.fromtimestamp(self._first_ns[key] // _NS_PER_S, dt.UTC)
                accesses.append(
                    RecordedAccess(
                        counted.question,
                        API_NAMES[key.api_key],
                        key.allowed,
                        counted.reported,
                        count,
                        first,
                        on_any=counted.on_any,
                    )
                )
        return accesses

    def _record(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
    ) -> None:
        for action, result in zip(actions, results, strict=True):
            resource_type, name, _ = action.resource
            question = request_question(context, action.operation, resource_type, name)
            self._count(context, question, result, log_if_denied=action.log_if_denied)
        if self._next is not None:
            self._next(context, actions, results)

    def _record_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
        result: AuthorizationResult,
    ) -> None:
        question = request_question(context, operation, resource_type, WILDCARD)
        self._count(context, question, result, log_if_denied=None)
        if self._next_of_type is not None:
            self._next_of_type(context, operation, resource_type, result)

    def _count(
        self,
        context: AuthorizableRequestContext,
        question: Question,
        result: AuthorizationResult,
        *,
        log_if_denied: bool | None,
    ) -> None:
        if context.request_type not in API_NAMES:
            # A test asks for a decision: no request.
            return
        allowed = result is AuthorizationResult.ALLOWED
        key = _Key(question, context.request_type, allowed, log_if_denied)
        self._first_ns.setdefault(key, self._now_ns())
        self._counts[key] = self._counts.get(key, 0) + 1


def _classify(key: _Key) -> CountedRequest | None:
    if key.log_if_denied is None:
        return CountedRequest(key.question, reported=True, on_any=True)
    return counted_request(
        key.api_key, key.question, allowed=key.allowed, log_if_denied=key.log_if_denied
    )


def request_question(
    context: AuthorizableRequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    name: str,
) -> Question:
    """Return what an action of a request asks."""
    principal = str(context.principal)
    return Question(principal, context.client_address, operation, resource_type, name)
