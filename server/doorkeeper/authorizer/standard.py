"""Kafka's StandardAuthorizer: its decisions, its refusals, its audit line, over a store of ours.

Decisions come from one immutable snapshot by masks; the rule behind one is looked up only when its
line is written. Changes go through a ``Timeline``: planned on what is being written, durable
as one transaction for each request, visible as one snapshot.

Source: ``org.apache.kafka.metadata.authorizer.StandardAuthorizer`` (4.3.1).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from doorkeeper.acl.by_type import allowed_on_some
from doorkeeper.acl.decision import Decision, Policy, Question, explain
from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acl.operations import ALLOW_TESTS, DENY_TESTS, allowed_mask, full_mask
from doorkeeper.acl.search import find
from doorkeeper.authorizer.audit import DEBUG, INFO, TRACE, LoggerAudit
from doorkeeper.authorizer.audit_line import DEFAULT_FORM, FORMS
from doorkeeper.authorizer.binding_ids import BindingIds
from doorkeeper.authorizer.contract import (
    PROBE_NAME,
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    check_not_filter,
    masks_by_authorize,
)
from doorkeeper.authorizer.hints import hints
from doorkeeper.authorizer.initial_load import InitialLoad
from doorkeeper.authorizer.keys import (
    ALLOW_EVERYONE,
    LOG_FORMAT,
    SUPER_USERS,
    read_form,
    read_policy,
)
from doorkeeper.authorizer.plans import (
    Creation,
    Deletion,
    creation_refusals,
    deletion_refusals,
    plan_creation,
    plan_deletion,
)
from doorkeeper.authorizer.reconfigurable import Reconfigurable
from doorkeeper.authorizer.timeline import Timeline
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.storage.contract import Asker, Author, Change, OutcomeUnknown, StoreAway

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.authorizer.audit import AuditSink
    from doorkeeper.authorizer.contract import (
        AuthorizableRequestContext,
        AuthorizerServerInfo,
        Endpoint,
    )
    from doorkeeper.storage.contract import StorageError, Store

T = TypeVar("T")

_LOG = logging.getLogger("doorkeeper.authorizer")


# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_ALLOWED = AuthorizationResult.ALLOWED
_DENIED = AuthorizationResult.DENIED


class AuthorizerNotReady(Exception):
    """A decision was asked for before the ACLs were loaded, by one who is no super user."""


class StandardAuthorizer(Authorizer, Reconfigurable):
    """Decides by ACLs, as a broker does."""

    def __init__(
        self,
        *,
        new_id: Callable[[], str] | None = None,
        audit: AuditSink | None = None,
    ) -> None:
        """Take where ids of bindings come from and where audit lines go (default: the logger)."""
        self._new_id = BindingIds() if new_id is None else new_id
        self._audit: AuditSink = LoggerAudit() if audit is None else audit
        self._policy = Policy()
        self._form = FORMS[DEFAULT_FORM]
        self._store: Store | None = None
        self._load: InitialLoad | None = None
        self._timeline = Timeline(None)
        self._ready = False
        self._writable = False
        self.traces = 0
        """How many lines were written about decisions."""

    def attach(self, store: Store) -> None:
        """Keep the ACLs in this store; before ``start``. Without one they live in memory only."""
        self._store = store
        self._timeline = Timeline(store, None)
        store.join(self._timeline)

    def configure(self, configs: Mapping[str, str]) -> None:
        """Read the super users, the default and the form of the audit line."""
        self._read(configs)

    def reconfigurable_configs(self) -> set[str]:
        """Return the keys that ``configure`` reads: all of them."""
        return {SUPER_USERS, ALLOW_EVERYONE, LOG_FORMAT}

    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        """Check them.

        Raises:
            ValueError: a super user without a colon, or a form that there is not.

        """
        read_policy(configs)
        read_form(configs)

    def reconfigure(self, configs: Mapping[str, str]) -> None:
        """Read them again; what is refused leaves all as it was."""
        self._read(configs)

    def _read(self, configs: Mapping[str, str]) -> None:
        policy, form = read_policy(configs), read_form(configs)
        self._policy, self._form = policy, form

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        """Load the ACLs beside the loop; listeners that start early need not wait for them."""
        loop = asyncio.get_running_loop()
        early: asyncio.Future[None] = loop.create_future()
        early.set_result(None)
        self._load = InitialLoad(loop, self._loaded)
        self._load.begin(self._store)
        return {
            endpoint: early
            if endpoint.listener_name in server_info.early_start_listeners
            else self._load.done
            for endpoint in server_info.endpoints
        }

    def _loaded(self, snapshot: Snapshot) -> None:
        self._timeline.begin(snapshot)
        self._ready = True
        self._writable = True

    @property
    def snapshot(self) -> Snapshot:
        """Return what decisions are made from at this moment."""
        return self._timeline.visible

    @property
    def policy(self) -> Policy:
        """Return what decides beside the ACLs."""
        return self._policy

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Answer each action, in order, all of them from one state.

        Raises:
            ValueError: a resource is not literal.
            AuthorizerNotReady: the ACLs are not loaded yet.

        """
        who = context.principal
        principal, host = f"{who.principal_type}:{who.name}", context.client_address
        is_super = principal in self._policy.super_users
        snapshot = self._timeline.visible
        last: ResourcePattern | None = None
        mask = 0
        results = []
        for action in actions:
            operation, resource = action.operation, action.resource
            if resource.pattern_type is not _LITERAL:
                raise _not_literal(resource.pattern_type)
            if is_super:
                allowed = True
            elif not self._ready:
                raise AuthorizerNotReady("the ACLs are not loaded yet")
            else:
                # The operations of one resource are often asked for in a row (KIP-430).
                if resource is not last:
                    last = resource
                    mask = snapshot.effective_mask(resource[0], resource[1], principal, host)
                if mask & DENY_TESTS[operation]:
                    allowed = False
                elif mask & ALLOW_TESTS[operation]:
                    allowed = True
                else:
                    allowed = self._default(snapshot, resource)
            if allowed:
                level = DEBUG if action.log_if_allowed else TRACE
                results.append(_ALLOWED)
            else:
                level = INFO if action.log_if_denied else TRACE
                results.append(_DENIED)
            if self._audit.enabled(level):
                self.traces += 1
                self._audit.write(level, self._form(context, action, self.explain(context, action)))
        return results

    def _default(self, snapshot: Snapshot, resource: ResourcePattern) -> bool:
        return self._policy.allow_everyone and not snapshot.covers(
            resource.resource_type, resource.name
        )

    def decided_from(self) -> object | None:
        """Return what all answers are made from at this moment; None where that may not be told.

        While it stays equal, the same question has the same answer, and one that was answered
        without a line of the audit would be again. A class derived from this one may decide by
        more, and where each decision is written nothing is ever the same.
        """
        if type(self) is not StandardAuthorizer or not self._ready or self._audit.enabled(DEBUG):
            return None
        return self._timeline.visible, self._policy, self._audit.enabled(INFO)

    def explain(self, context: AuthorizableRequestContext, action: Action) -> Decision:
        """Return the decision on an action with the rule that made it. Nothing is audited."""
        who = context.principal
        question = Question(
            f"{who.principal_type}:{who.name}",
            context.client_address,
            action.operation,
            action.resource.resource_type,
            action.resource.name,
        )
        return explain(self._policy, self._timeline.visible, question)

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> list[asyncio.Future[AclCreateResult]]:
        """Create the bindings as one change.

        The accepted items share one future, because they have one fate.
        """
        loop = asyncio.get_running_loop()
        if not self._writable:
            return [_completed(loop, AclCreateResult(_not_active())) for _ in bindings]
        refusals = creation_refusals(bindings)
        if None not in refusals:
            return [_completed(loop, AclCreateResult(refusal)) for refusal in refusals]
        accepted: asyncio.Future[AclCreateResult] = loop.create_future()
        results = [accepted if refusal is None else loop.create_future() for refusal in refusals]
        planned = Creation(refusals=refusals, added=())

        def plan(state: Snapshot) -> Change:
            nonlocal planned
            planned = plan_creation(state, bindings, refusals, self._new_id)
            for result, refusal in zip(results, planned.refusals, strict=True):
                if refusal is not None:
                    _complete(result, AclCreateResult(refusal))
            return Change(author=_author(context), bindings_added=planned.added)

        def settle(error: StorageError | None) -> None:
            _complete(accepted, AclCreateResult(_not_stored(error)))
            if error is not None:
                # Where nothing was ever planned, those that are refused wait as well.
                for result, refusal in zip(results, refusals, strict=True):
                    _complete(result, AclCreateResult(refusal))
            else:
                for hint in hints(binding for _, binding in planned.added):
                    _LOG.info("%s", hint)

        self._timeline.submit(plan, settle)
        return results

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> list[asyncio.Future[AclDeleteResult]]:
        """Delete what the filters match, as one change."""
        loop = asyncio.get_running_loop()
        if not self._writable:
            return [_completed(loop, AclDeleteResult(_not_active())) for _ in filters]
        refusals = deletion_refusals(filters)
        results: list[asyncio.Future[AclDeleteResult]] = [loop.create_future() for _ in filters]
        planned = Deletion(refusals=refusals, matches=tuple(() for _ in filters), removed=())

        def plan(state: Snapshot) -> Change:
            nonlocal planned
            planned = plan_deletion(state, filters, refusals)
            for result, refusal in zip(results, planned.refusals, strict=True):
                if refusal is not None:
                    _complete(result, AclDeleteResult(refusal))
            return Change(author=_author(context), bindings_removed=planned.removed)

        def settle(error: StorageError | None) -> None:
            found = zip(results, planned.refusals, planned.matches, strict=True)
            for result, refusal, matches in found:
                problem = refusal or _not_stored(error)
                deleted = () if problem else tuple(map(AclBindingDeleteResult, matches))
                _complete(result, AclDeleteResult(problem, bindings=deleted))

        if None in refusals:
            self._timeline.submit(plan, settle)
        else:
            settle(None)
        return results

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """Return the visible bindings that the filter matches, sorted."""
        return find(self._timeline.visible, wanted)

    def acl_count(self) -> int:
        """Return how many ACLs are visible."""
        return self._timeline.visible.count

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        """Answer as the contract's default does, without reading all ACLs."""
        check_not_filter(operation, resource_type)
        resource = ResourcePattern(resource_type, PROBE_NAME, _LITERAL)
        probe = Action(operation, resource, resource_reference_count=0, log_if_denied=False)
        if self.authorize(context, [probe])[0] is _ALLOWED:
            return _ALLOWED
        who = context.principal
        allowed = allowed_on_some(
            self._timeline.visible,
            resource_type,
            operation,
            principal=f"{who.principal_type}:{who.name}",
            host=context.client_address,
        )
        return _ALLOWED if allowed else _DENIED

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return the masks of all resources from one state.

        Where probes are audited they are asked one by one, as a broker does.
        """
        if not self._ready or self._policy.allow_everyone or self._audit.enabled(TRACE):
            return masks_by_authorize(self, context, resources)
        who = context.principal
        principal, host = f"{who.principal_type}:{who.name}", context.client_address
        if principal in self._policy.super_users:
            return [full_mask(resource.resource_type) for resource in resources]
        snapshot = self._timeline.visible
        masks = []
        for resource_type, name, pattern_type in resources:
            if pattern_type is not _LITERAL:
                raise _not_literal(pattern_type)
            held = snapshot.effective_mask(resource_type, name, principal, host)
            masks.append(allowed_mask(resource_type, held))
        return masks

    def close(self) -> None:
        """End a load under way, whose listeners get an error, and refuse changes from now on."""
        self._writable = False
        if self._load is not None:
            self._load.close()


def _not_literal(pattern_type: PatternType) -> ValueError:
    return ValueError(f"Only literal resources are supported. Got: {pattern_type.name}")


THE_SERVER = Author(principal="Server:doorkeeper", host="", listener="", client_id="")
"""Who changes ACLs when no client asked. No client can be it: clients are of type User."""


def _author(context: AuthorizableRequestContext | None) -> Author:
    if context is None:
        return THE_SERVER
    return Asker.of(context)


def _not_active() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")


def _not_stored(error: StorageError | None) -> ApiError | None:
    if error is None:
        return None
    if isinstance(error, StoreAway):
        text = "The ACLs are as they were: the store that the nodes share could not be reached."
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, text)
    if isinstance(error, OutcomeUnknown):
        text = "The change may have been made or not: the store went away while it was written."
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, text)
    return ApiError(
        ErrorCode.KAFKA_STORAGE_ERROR,
        "The ACLs are as they were: the server could not store the change. Its log says why.",
    )


def _completed(loop: asyncio.AbstractEventLoop, result: T) -> asyncio.Future[T]:
    future: asyncio.Future[T] = loop.create_future()
    future.set_result(result)
    return future


def _complete(future: asyncio.Future[T], result: T) -> None:
    # One whose request was given up is cancelled, or refused: there is nobody to tell.
    if not future.done():
        future.set_result(result)
