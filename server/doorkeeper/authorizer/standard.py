"""Kafka's StandardAuthorizer: its decisions, its refusals, its audit line, over a ``StateLog``.

Decisions come from one immutable snapshot by masks; the rule behind one is looked up only when its
line is written. Each request that changes ACLs is one change of the log: durable as one
transaction, visible at once.

Source: ``org.apache.kafka.metadata.authorizer.StandardAuthorizer`` (4.3.1).
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from doorkeeper.acl.by_type import allowed_on_some
from doorkeeper.acl.decision import Decision, Policy, Question, RuleKind, explain
from doorkeeper.acl.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acl.operations import ALLOW_TESTS, DENY_TESTS, allowed_mask, full_mask
from doorkeeper.acl.search import find
from doorkeeper.acl.validation import check_filter, check_new, unencodable
from doorkeeper.authorizer.audit import DEBUG, INFO, TRACE, LoggerAudit
from doorkeeper.authorizer.audit_line import DEFAULT_FORM, FORMS
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
from doorkeeper.authorizer.keys import (
    ALLOW_EVERYONE,
    LOG_FORMAT,
    SUPER_USERS,
    read_form,
    read_policy,
)
from doorkeeper.authorizer.plans import BindingIds, hints, plan_creation, plan_deletion
from doorkeeper.authorizer.reconfigurable import Reconfigurable
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.kinds.declared import ACL
from doorkeeper.state.log import StateLog, origin_of
from doorkeeper.state.memory import MemoryStore
from doorkeeper.state.outcome import not_stored
from doorkeeper.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.authorizer.audit import AuditSink
    from doorkeeper.authorizer.contract import AuthorizerServerInfo, Endpoint
    from doorkeeper.request_context import AuthorizableRequestContext

T = TypeVar("T")

_LOG = logging.getLogger("doorkeeper.authorizer")

_UNCHANGED = "The ACLs are as they were"
_CREATED = AclCreateResult()

_MANY = 1_000
"""How many bindings are checked in half a millisecond, or results made in a third of one."""

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_ALLOWED = AuthorizationResult.ALLOWED
_DENIED = AuthorizationResult.DENIED


class AuthorizerNotReady(Exception):
    """A decision was asked for before the ACLs were loaded, and not by a super user."""


@runtime_checkable
class KeepsInStore(Protocol):
    """An authorizer that keeps its ACLs in the state of the server.

    The standard authorizer does; an authorizer that wraps it passes the log on.
    """

    def attach(self, log: StateLog) -> None:
        """Take the log of the server's state; called once, before ``configure``."""
        ...


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
        self._threshold = self._audit.threshold
        self._policy = Policy()
        self._form = FORMS[DEFAULT_FORM]
        self._log = StateLog(MemoryStore())
        self._owns_log = True
        self._loaded: asyncio.Future[None] | None = None
        self._ready = False
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.traces = 0
        """How many lines were written about decisions."""

    def attach(self, log: StateLog) -> None:
        """Keep the ACLs in this log; before ``start``. Without one they live in memory only."""
        self._log = log
        self._owns_log = False

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
        # Responses that are cached were decided by the policy before.
        self._log.amend()

    def _read(self, configs: Mapping[str, str]) -> None:
        policy, form = read_policy(configs), read_form(configs)
        self._policy, self._form = policy, form

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        """Start the log, unless it is; listeners that start early need not wait for the ACLs."""
        loop = asyncio.get_running_loop()
        log = self._log
        loading = log.loaded if hasattr(log, "loaded") else log.start()
        early: asyncio.Future[None] = loop.create_future()
        early.set_result(None)
        self._loaded = loaded = loop.create_future()
        if loading.done():
            self._use(loading)
        else:
            loading.add_done_callback(self._use)
        return {
            endpoint: early
            if endpoint.listener_name in server_info.early_start_listeners
            else loaded
            for endpoint in server_info.endpoints
        }

    def _use(self, loading: asyncio.Future[None]) -> None:
        """Decide from the ACLs that are loaded."""
        if loading.cancelled():
            return
        error = loading.exception()
        if error is not None:
            self._fail(error)
        elif self._loaded is not None and not self._loaded.done():
            self._ready = True
            self._loaded.set_result(None)

    def _fail(self, error: BaseException) -> None:
        if self._loaded is not None and not self._loaded.done():
            self._loaded.set_exception(error)
            # Where no listener waits for it, nothing reads the error; Python need not complain.
            self._loaded.exception()

    @property
    def snapshot(self) -> Snapshot:
        """Return what decisions are made from at this moment."""
        return self._log.state.acls

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
        state = self._log.state
        if state.stale and not is_super:
            return self._deny_stale(context, actions)
        snapshot = state.acls
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
                allowed = not mask & DENY_TESTS[operation] and (
                    mask & ALLOW_TESTS[operation] != 0 or self._default(snapshot, resource)
                )
            if allowed:
                level = DEBUG if action.log_if_allowed else TRACE
                results.append(_ALLOWED)
            else:
                level = INFO if action.log_if_denied else TRACE
                results.append(_DENIED)
            if level >= self._threshold.level:
                self.traces += 1
                self._audit.write(level, self._form(context, action, self.explain(context, action)))
        return results

    def _deny_stale(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Deny: what is known of the ACLs is older than it may be. Super users are no ACLs."""
        denied = Decision(False, RuleKind.DEFAULT_DENY)
        for action in actions:
            level = INFO if action.log_if_denied else TRACE
            if level >= self._threshold.level:
                self.traces += 1
                self._audit.write(level, self._form(context, action, denied))
        return [_DENIED] * len(actions)

    def _default(self, snapshot: Snapshot, resource: ResourcePattern) -> bool:
        return self._policy.allow_everyone and not snapshot.covers(
            resource.resource_type, resource.name
        )

    def version(self) -> tuple[object, ...] | None:
        """Return what answers depend on now; None where they may not be cached.

        While the first item is the same object and the others are equal, the same question has the
        same answer, and one that was answered without a line of the audit would be again. A
        subclass may decide by more, and where each decision is written none may be skipped.
        """
        if type(self) is not StandardAuthorizer or not self._ready:
            return None
        level = self._threshold.level
        return None if level <= DEBUG else (self._log.state, level <= INFO)

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
        return explain(self._policy, self._log.state.acls, question)

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> list[asyncio.Future[AclCreateResult]]:
        """Create the bindings as one change.

        The accepted items share one future, because they have one fate.
        """
        loop = asyncio.get_running_loop()
        accepted: asyncio.Future[AclCreateResult] = loop.create_future()
        check = self._check_new()
        results = [accepted if check(each) is None else loop.create_future() for each in bindings]
        self._start(_complete(results, self.commit_creation(context, bindings)))
        return results

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> list[asyncio.Future[AclDeleteResult]]:
        """Delete what the filters match, as one change."""
        loop = asyncio.get_running_loop()
        results: list[asyncio.Future[AclDeleteResult]] = [loop.create_future() for _ in filters]
        self._start(_complete(results, self.commit_deletion(context, filters)))
        return results

    async def commit_creation(
        self,
        context: AuthorizableRequestContext | None,
        bindings: Sequence[AclBinding],
        timeout_s: float | None = None,
    ) -> list[AclCreateResult]:
        """Create the bindings as one change; return the result of each, in order.

        Raises:
            TimeoutError: it is not complete in time; one that is not planned is withdrawn.

        """
        if not self._ready or self._closed:
            return [AclCreateResult(_not_active())] * len(bindings)
        refusals = await _refusals(self._check_new(), bindings)
        accepted = bindings
        if any(refusals):
            accepted = [each for each, no in zip(bindings, refusals, strict=True) if no is None]
            if not accepted:
                return list(map(AclCreateResult, refusals))
        plan = partial(plan_creation, accepted, self._new_id)
        outcome = _CREATED
        try:
            committed = await self._log.submit(plan, origin_of(context), timeout_s)
        except StorageError as error:
            outcome = AclCreateResult(not_stored(error, _UNCHANGED))
        except ApiError as error:
            # Over the limit every item is refused; only what no answer could carry says so first.
            return [AclCreateResult(unencodable(each) or error) for each in bindings]
        else:
            if committed.change:
                for hint in hints(committed.change[ACL].set):
                    _LOG.info("%s", hint)
        if accepted is bindings:
            return [outcome] * len(bindings)
        return [outcome if no is None else AclCreateResult(no) for no in refusals]

    async def commit_deletion(
        self,
        context: AuthorizableRequestContext | None,
        filters: Sequence[AclBindingFilter],
        timeout_s: float | None = None,
    ) -> list[AclDeleteResult]:
        """Delete what the filters match as one change; return the result of each, in order.

        Raises:
            TimeoutError: it is not complete in time; one that is not planned is withdrawn.

        """
        if not self._ready or self._closed:
            return [AclDeleteResult(_not_active())] * len(filters)
        refusals = await _refusals(check_filter, filters)
        accepted = filters
        if any(refusals):
            accepted = [each for each, no in zip(filters, refusals, strict=True) if no is None]
        matches: list[Sequence[AclBinding]] = []
        failure = None
        try:
            if accepted:
                plan = partial(plan_deletion, accepted, matches)
                await self._log.submit(plan, origin_of(context), timeout_s)
        except StorageError as error:
            failure = not_stored(error, _UNCHANGED)
        except ApiError as error:
            return [AclDeleteResult(error)] * len(filters)
        found = iter(matches)
        results = []
        for no in refusals:
            if no is not None or failure is not None:
                results.append(AclDeleteResult(no or failure))
                continue
            deleted = tuple(map(AclBindingDeleteResult, next(found)))
            results.append(AclDeleteResult(bindings=deleted))
            if len(deleted) > _MANY:
                await asyncio.sleep(0)
        return results

    def _check_new(self) -> Callable[[AclBinding], ApiError | None]:
        """Return the check of bindings by the rules of the release that the cluster follows."""
        return partial(check_new, networks=self._log.state.acls.matches_networks)

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """Return the visible bindings that the filter matches, sorted."""
        return find(self._log.state.acls, wanted)

    def acl_count(self) -> int:
        """Return how many ACLs are visible."""
        return self._log.state.acls.count

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
        if self._log.state.stale:
            return _DENIED
        who = context.principal
        allowed = allowed_on_some(
            self._log.state.acls,
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
        if not self._ready or self._policy.allow_everyone or self._threshold.level <= TRACE:
            return masks_by_authorize(self, context, resources)
        who = context.principal
        principal, host = f"{who.principal_type}:{who.name}", context.client_address
        if principal in self._policy.super_users:
            return [full_mask(resource.resource_type) for resource in resources]
        state = self._log.state
        if state.stale:
            return [0] * len(resources)
        snapshot = state.acls
        masks = []
        for resource_type, name, pattern_type in resources:
            if pattern_type is not _LITERAL:
                raise _not_literal(pattern_type)
            held = snapshot.effective_mask(resource_type, name, principal, host)
            masks.append(allowed_mask(resource_type, held))
        return masks

    def close(self) -> None:
        """End a load under way, whose listeners get an error, and refuse changes from now on."""
        self._closed = True
        self._fail(
            TimeoutError("The authorizer was closed before the initial load could complete.")
        )
        if self._owns_log and self._loaded is not None:
            self._start(self._log.aclose())

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside others; the loop alone would let go of its task."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _not_literal(pattern_type: PatternType) -> ValueError:
    return ValueError(f"Only literal resources are supported. Got: {pattern_type.name}")


async def _refusals(
    check: Callable[[T], ApiError | None], items: Sequence[T]
) -> list[ApiError | None]:
    """Check many items, in slices."""
    refusals: list[ApiError | None] = []
    for at in range(0, len(items), _MANY):
        refusals += map(check, items[at : at + _MANY])
        if len(refusals) < len(items):
            await asyncio.sleep(0)
    return refusals


def _not_active() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")


async def _complete(
    futures: Sequence[asyncio.Future[T]], change: Coroutine[Any, Any, Sequence[T]]
) -> None:
    """Complete futures with the results of a change, in order."""
    results: Sequence[T] = ()
    try:
        results = await change
    except Exception as error:  # noqa: BLE001 - it is that of the items
        for future in futures:
            if not future.done():
                future.set_exception(error)
    for future, result in zip(futures, results, strict=False):
        # One that was cancelled has no reader.
        if not future.done():
            future.set_result(result)
