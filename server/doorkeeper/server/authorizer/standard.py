"""Kafka's StandardAuthorizer over a ``StateLog``: its decisions, errors and authorizer log.

Decisions read one immutable snapshot through masks; the responsible rule is looked up only if a log
line is written. Each request that changes ACLs is one change of the log: one transaction, visible
atomically.

Source: ``org.apache.kafka.metadata.authorizer.StandardAuthorizer`` (4.3.1).
"""

from __future__ import annotations

import asyncio
import logging
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.decision import Decision, Policy, Question, RuleKind, explain
from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.operations import ALLOW_TESTS, DENY_TESTS, allowed_mask, full_mask
from doorkeeper.acls.search import find
from doorkeeper.acls.validation import check_filter, check_new, unencodable
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.authorizer_log import DEBUG, INFO, TRACE, StandardLibraryLog
from doorkeeper.server.authorizer.contract import (
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
from doorkeeper.server.authorizer.kafka_log_line import DEFAULT_FORM, FORMS
from doorkeeper.server.authorizer.plans import BindingIds, hints, plan_creation, plan_deletion
from doorkeeper.server.authorizer.reconfigurable import Reconfigurable
from doorkeeper.server.authorizer.standard_keys import (
    ALLOW_EVERYONE,
    LOG_FORMAT,
    SUPER_USERS,
    read_form,
    read_policy,
)
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog, origin_of
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.outcome import not_stored
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.authorizer.authorizer_log import AuthorizerLog
    from doorkeeper.server.authorizer.contract import AuthorizerServerInfo, Endpoint
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
    from doorkeeper.server.schema.acls import StoredBinding
    from doorkeeper.server.state.state import State

T = TypeVar("T")

_LOG = logging.getLogger("doorkeeper.authorizer")

_UNCHANGED = "The ACLs are as they were"
_CREATED = AclCreateResult()

# Items of one turn of the event loop: checking as many takes half a millisecond, building their
# results a third of one.
_MANY = 1_000
# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_ALLOWED = AuthorizationResult.ALLOWED
_DENIED = AuthorizationResult.DENIED


class AuthorizerNotReady(Exception):
    """A decision was requested before the ACLs were loaded, and not by a super user."""


class _OneState(NamedTuple):
    """As much of a ``StateLog`` as decisions read, at one state."""

    state: State


@runtime_checkable
class KeepsInStore(Protocol):
    """An authorizer that keeps its ACLs in the state of the server.

    An authorizer that wraps the standard authorizer passes the log on to it.
    """

    def attach(self, log: StateLog) -> None:
        """Set the log of the server's state; called once, before ``configure``."""
        ...


class StandardAuthorizer(Authorizer, Reconfigurable):
    """Decides by ACLs, as a broker does."""

    def __init__(
        self,
        *,
        new_id: Callable[[], str] | None = None,
        authorizer_log: AuthorizerLog | None = None,
    ) -> None:
        """Set the source of binding ids, and the authorizer log (default: Python's logging)."""
        self._new_id = BindingIds() if new_id is None else new_id
        self._authorizer_log: AuthorizerLog = (
            StandardLibraryLog() if authorizer_log is None else authorizer_log
        )
        self._threshold = self._authorizer_log.threshold
        self.policy = Policy()
        """The super users, and the default for resources without ACLs."""
        self._form = FORMS[DEFAULT_FORM]
        self._log = StateLog(MemoryStore())
        self._owns_log = True
        self._loaded: asyncio.Future[None] | None = None
        self._ready = False
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def authorizer_log(self) -> AuthorizerLog:
        return self._authorizer_log

    def at_one_state(self, authorizer_log: AuthorizerLog) -> StandardAuthorizer:
        """Return a copy for another thread, which decides by the present state, and logs here."""
        other = copy(self)
        other.attach(cast("StateLog", _OneState(self._log.state)))
        other.write_to(authorizer_log)
        return other

    def write_to(self, authorizer_log: AuthorizerLog) -> None:
        self._authorizer_log, self._threshold = authorizer_log, authorizer_log.threshold

    def attach(self, log: StateLog) -> None:
        """Keep the ACLs in this log; before ``start``. Without a log they live in memory only."""
        self._log = log
        self._owns_log = False

    def configure(self, configs: Mapping[str, str]) -> None:
        """Read the super users, the default and the log format."""
        self._read(configs)

    def reconfigurable_configs(self) -> set[str]:
        return {SUPER_USERS, ALLOW_EVERYONE, LOG_FORMAT}

    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        """Check the values.

        Raises:
            ValueError: a super user without a colon, or an unknown log format.
        """
        read_policy(configs)
        read_form(configs)

    def reconfigure(self, configs: Mapping[str, str]) -> None:
        """Apply new values; an error leaves the old ones in effect."""
        self._read(configs)

    def _read(self, configs: Mapping[str, str]) -> None:
        policy, form = read_policy(configs), read_form(configs)
        self.policy, self._form = policy, form

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        """Start the log unless it is started; early-start listeners do not wait for the ACLs."""
        loop = asyncio.get_running_loop()
        log = self._log
        # The server starts its log before; without ``attach`` the own log is started here.
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
        """Mark the ACLs as loaded, or pass the error on."""
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
            # Mark it as retrieved: without a waiting listener asyncio would log it.
            self._loaded.exception()

    @property
    def snapshot(self) -> Snapshot:
        """Return the present ACLs."""
        return self._log.state.acls

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Decide on each action, in order, all from one state.

        Raises:
            ValueError: a resource is not literal.
            AuthorizerNotReady: the ACLs are not loaded yet.
        """
        user = context.principal
        principal, host = f"{user.principal_type}:{user.name}", context.client_address
        is_super = principal in self.policy.super_users
        state = self._log.state
        # A node that is cut off from its store may miss a DENY.
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
                # By identity: equal patterns of one request are usually one object.
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
                self._authorizer_log.write(
                    level, self._form(context, action, self.explain(context, action))
                )
        return results

    def _deny_stale(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Deny: the local copy of the ACLs is too old. Super users do not depend on ACLs."""
        denied = Decision(False, RuleKind.DEFAULT_DENY)
        for action in actions:
            level = INFO if action.log_if_denied else TRACE
            if level >= self._threshold.level:
                self._authorizer_log.write(level, self._form(context, action, denied))
        return [_DENIED] * len(actions)

    def _default(self, snapshot: Snapshot, resource: ResourcePattern) -> bool:
        return self.policy.allow_everyone and not snapshot.covers(
            resource.resource_type, resource.name
        )

    def explain(self, context: AuthorizableRequestContext, action: Action) -> Decision:
        """Return the decision on an action with the responsible rule. Nothing is logged."""
        user = context.principal
        question = Question(
            f"{user.principal_type}:{user.name}",
            context.client_address,
            action.operation,
            action.resource.resource_type,
            action.resource.name,
        )
        return explain(self.policy, self._log.state.acls, question)

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> list[asyncio.Future[AclCreateResult]]:
        """Create the bindings as one change.

        The accepted items share one future, because they succeed or fail together.
        """
        loop = asyncio.get_running_loop()
        accepted: asyncio.Future[AclCreateResult] = loop.create_future()
        check = partial(check_new, networks=self._log.state.acls.matches_networks)
        results = [accepted if check(each) is None else loop.create_future() for each in bindings]
        self._start(_complete(results, self.commit_creation(context, bindings)))
        return results

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> list[asyncio.Future[AclDeleteResult]]:
        """Delete the matching bindings as one change."""
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
            TimeoutError: it is not complete in time; a change that is not planned is withdrawn.
        """
        if not self._ready or self._closed:
            return [AclCreateResult(_not_active())] * len(bindings)
        # The rules are those of the release that the cluster follows.
        check = partial(check_new, networks=self._log.state.acls.matches_networks)
        refusals = await _refusals(check, bindings)
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
            # Over the limit all items are refused; ACLs too long to encode have their own error.
            return [AclCreateResult(unencodable(each) or error) for each in bindings]
        else:
            # An empty change stores nothing: all ACLs existed already.
            if committed.change:
                await _log_hints(committed.change[ACL].set)
        if accepted is bindings:
            return [outcome] * len(bindings)
        return [outcome if no is None else AclCreateResult(no) for no in refusals]

    async def commit_deletion(
        self,
        context: AuthorizableRequestContext | None,
        filters: Sequence[AclBindingFilter],
        timeout_s: float | None = None,
    ) -> list[AclDeleteResult]:
        """Delete the matching bindings as one change; return the result of each filter, in order.

        Raises:
            TimeoutError: it is not complete in time; a change that is not planned is withdrawn.
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

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """Return the visible bindings that the filter matches, sorted."""
        return find(self._log.state.acls, wanted)

    def acl_count(self) -> int:
        return self._log.state.acls.count

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        """Decide like the contract's default, without reading all ACLs."""
        check_not_filter(operation, resource_type)
        resource = ResourcePattern(resource_type, PROBE_NAME, _LITERAL)
        probe = Action(operation, resource, resource_reference_count=0, log_if_denied=False)
        if self.authorize(context, [probe])[0] is _ALLOWED:
            return _ALLOWED
        if self._log.state.stale:
            return _DENIED
        user = context.principal
        allowed = allowed_on_some(
            self._log.state.acls,
            resource_type,
            operation,
            principal=f"{user.principal_type}:{user.name}",
            host=context.client_address,
        )
        return _ALLOWED if allowed else _DENIED

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return the masks of all resources from one state.

        If probes are logged, they are decided one by one, as in a broker.
        """
        # allow_everyone needs to know the ACLs of each resource, which the masks do not show.
        if not self._ready or self.policy.allow_everyone or self._threshold.level <= TRACE:
            return masks_by_authorize(self, context, resources)
        user = context.principal
        principal, host = f"{user.principal_type}:{user.name}", context.client_address
        if principal in self.policy.super_users:
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
        """Fail a load in progress, and refuse changes from now on."""
        self._closed = True
        self._fail(
            TimeoutError("The authorizer was closed before the initial load could complete.")
        )
        if self._owns_log and self._loaded is not None:
            self._start(self._log.aclose())

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task, and keep a reference: the loop holds only a weak one."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _not_literal(pattern_type: PatternType) -> ValueError:
    return ValueError(f"Only literal resources are supported. Got: {pattern_type.name}")


async def _refusals(
    check: Callable[[T], ApiError | None], items: Sequence[T]
) -> list[ApiError | None]:
    """Check many items, yielding to the loop after each thousand."""
    refusals: list[ApiError | None] = []
    for at in range(0, len(items), _MANY):
        refusals += map(check, items[at : at + _MANY])
        if len(refusals) < len(items):
            await asyncio.sleep(0)
    return refusals


async def _log_hints(rows: Sequence[StoredBinding]) -> None:
    """Log new ACLs without the expected effect, yielding to the loop after each thousand."""
    for at in range(0, len(rows), _MANY):
        for hint in hints(rows[at : at + _MANY]):
            _LOG.info("%s", hint)
        if at + _MANY < len(rows):
            await asyncio.sleep(0)


def _not_active() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")


async def _complete(
    futures: Sequence[asyncio.Future[T]], change: Coroutine[Any, Any, Sequence[T]]
) -> None:
    """Complete futures with the results of a change, in order."""
    results: Sequence[T] = ()
    try:
        results = await change
    except Exception as error:  # it is that of the items
        for future in futures:
            if not future.done():
                future.set_exception(error)
    for future, result in zip(futures, results, strict=False):
        # A cancelled future takes no result.
        if not future.done():
            future.set_result(result)
