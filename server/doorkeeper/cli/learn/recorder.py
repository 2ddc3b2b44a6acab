"""Records the authorization requests of a server, each distinct one with its count."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acl.decision import Question
from doorkeeper.acl.model import WILDCARD
from doorkeeper.acl.recorded_access import RecordedAccess
from doorkeeper.api.operations import REQUIRED
from doorkeeper.authorizer.contract import AuthorizationResult
from doorkeeper.cli.learn.authorizer import WIDE_QUESTIONS
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclOperation, ResourceType
    from doorkeeper.authorizer.contract import Action
    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.request_context import AuthorizableRequestContext


_NS_PER_S: Final = 1_000_000_000


class _Key(NamedTuple):
    """The fields that distinguish accesses; ``log_if_denied`` is None for any resource."""

    question: Question
    api_key: int
    allowed: bool
    log_if_denied: bool | None


class Recorder:
    """Follows the decisions of an authorizer. Requests for authorized operations are none."""

    def __init__(self, guarded: GuardedAuthorizer, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._counts: dict[_Key, int] = {}
        self._first_ns: dict[_Key, int] = {}
        guarded.on_decision = self._record
        guarded.on_type_decision = self._record_type

    def accesses(self) -> list[RecordedAccess]:
        """Return the recorded accesses, in the order of their first occurrence."""
        return [
            RecordedAccess(
                key.question,
                API_NAMES[key.api_key],
                key.allowed,
                key.log_if_denied is None
                or is_reported(key.api_key, key.question, log_if_denied=key.log_if_denied),
                count,
                _time(self._first_ns[key]),
                on_any=key.log_if_denied is None,
            )
            for key, count in self._counts.items()
        ]

    def _record(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
    ) -> None:
        for action, result in zip(actions, results, strict=True):
            resource_type, name, _ = action.resource
            wide = (context.request_type, action.operation, resource_type) in WIDE_QUESTIONS
            if wide and result is AuthorizationResult.DENIED:
                # The narrow question that follows is the one that counts.
                continue
            question = _question(context, action.operation, resource_type, name)
            self._count(context, question, result, log_if_denied=action.log_if_denied)

    def _record_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
        result: AuthorizationResult,
    ) -> None:
        question = _question(context, operation, resource_type, WILDCARD)
        self._count(context, question, result, log_if_denied=None)

    def _count(
        self,
        context: AuthorizableRequestContext,
        question: Question,
        result: AuthorizationResult,
        *,
        log_if_denied: bool | None,
    ) -> None:
        allowed = result is AuthorizationResult.ALLOWED
        key = _Key(question, context.request_type, allowed, log_if_denied)
        self._first_ns.setdefault(key, self._now_ns())
        self._counts[key] = self._counts.get(key, 0) + 1


def is_reported(api_key: int, question: Question, *, log_if_denied: bool) -> bool:
    """Return whether a denial of an API's question is an error that the client sees.

    Where an API asks the same question for two purposes, one of which has an error, it is reported.
    A denial that Kafka does not log is none: CreateTopics creates a topic whose settings it hides.
    """
    if not log_if_denied:
        return False
    rows = [
        row
        for row in REQUIRED.get(api_key, ())
        if row.log_if_denied
        and (row.operation, row.resource) == (question.operation.name, question.resource_type.name)
    ]
    return not rows or any(row.refusal for row in rows)


def _time(ns: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(ns // _NS_PER_S, dt.UTC)


def _is_reported(key: _Key) -> bool:
    if key.log_if_denied is None:
        return True
    return is_reported(key.api_key, key.question, log_if_denied=key.log_if_denied)


def _question(
    context: AuthorizableRequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    name: str,
) -> Question:
    principal = str(context.principal)
    return Question(principal, context.client_address, operation, resource_type, name)
