"""Kafka's StandardAuthorizer over a ``StateLog``: its decisions, errors and authorizer log.

Decisions read one immutable snapshot through masks; the responsible rule is looked up only for a
line of the authorizer log, and by the thread of the audit log. Each request that changes ACLs is
one change of the log: one transaction, visible atomically.

Source: ``org.apache.kafka.metadata.authorizer.StandardAuthorizer`` (4.3.1).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import filterfalse
from typing import NamedTuple, Protocol, cast, runtime_checkable

from doorkeeper.acls.by_type import allowed_on_some
from doorkeeper.acls.decision import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    Decision,
    Policy,
    Question,
    explain,
)
from doorkeeper.acls.model import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import ALLOW_TESTS, DENY_TESTS, allowed_mask, full_mask
from doorkeeper.acls.search import find, find_each
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.acls.validation import (
    ACLS_PER_REQUEST_MAX,
    check_binding,
    check_filter,
    hints,
    too_many_created,
    too_many_deleted,
)
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import SLICE_ITEMS, Slices, map_in_turns, next_turn
from doorkeeper.server.authorizer.authorizer_log import (
    DEBUG,
    FORMS,
    INFO,
    TRACE,
    StandardLibraryLog,
)
from doorkeeper.server.authorizer.contract import (
    PROBE_NAME,
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerLog,
    AuthorizerServerInfo,
    DecisionPending,
    Endpoint,
    Reconfigurable,
    check_not_filter,
    masks_by_authorize,
)
from doorkeeper.server.authorizer.standard_keys import (
    RECONFIGURABLE,
    read_form,
    read_policy,
)
from doorkeeper.server.config.keys import AUTHORIZER_LOG_FORMAT
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.schema.acls import BindingIds, StoredBinding
from doorkeeper.server.schema.change import Change, Edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog, origin_of
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.outcome import not_stored
from doorkeeper.server.state.state import State
from doorkeeper.server.state.store import StorageError

_LOG = logging.getLogger("doorkeeper.authorizer")

_UNCHANGED = "The ACLs are as they were"
_CREATED = AclCreateResult()

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_LITERAL = PatternType.LITERAL
_ALLOWED = AuthorizationResult.ALLOWED
_DENIED = AuthorizationResult.DENIED
_DEFAULTS = (DEFAULT_DENY, DEFAULT_ALLOW)
# Three times as fast as a named tuple's own constructor, which is a Python function.
_stored = partial(tuple.__new__, StoredBinding)


class OneState(NamedTuple):
    """As much of a ``StateLog`` as decisions and handlers read, at one state."""

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
    """Decides by ACLs, as a broker does.

    Its answers depend on an immutable state in memory and on nothing else, so that the server
    describes the ACLs from there, and asks for many decisions in a thread. A subclass may decide by
    something else, and is asked as every plug-in is.
    """

    def __init__(
        self,
        *,
        new_ids: Callable[[int], Sequence[str]] | None = None,
        authorizer_log: AuthorizerLog | None = None,
    ) -> None:
        """Set the source of binding ids, and the authorizer log (default: Python's logging)."""
        self._new_ids = BindingIds() if new_ids is None else new_ids
        self.authorizer_log: AuthorizerLog = (
            StandardLibraryLog() if authorizer_log is None else authorizer_log
        )
        self._threshold = self.authorizer_log.threshold
        self.policy = Policy()
        self._form = FORMS[AUTHORIZER_LOG_FORMAT.default_value]
        self._state_log = StateLog(MemoryStore())
        self._owns_log = True
        self._loaded: asyncio.Future[None] | None = None
        self._ready = False
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    def at_one_state(self, authorizer_log: AuthorizerLog) -> StandardAuthorizer:
        """Return a copy for another thread, which decides by the present state, and logs here."""
        other = copy(self)
        other.attach(cast("StateLog", OneState(self._state_log.state)))
        other.authorizer_log = authorizer_log
        other._threshold = authorizer_log.threshold  # noqa: SLF001  of its own class
        return other

    def attach(self, log: StateLog) -> None:
        """Keep the ACLs in this log; before ``start``. Without a log they live in memory only."""
        self._state_log = log
        self._owns_log = False

    def configure(self, configs: Mapping[str, str]) -> None:
        """Apply the super users, the default and the log format; an error leaves the old ones."""
        policy, form = read_policy(configs), read_form(configs)
        self.policy, self._form = policy, form

    def reconfigurable_configs(self) -> set[str]:
        return set(RECONFIGURABLE)

    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        """Check the values.

        Raises:
            ValueError: a super user without a colon, or an unknown log format.
        """
        read_policy(configs)
        read_form(configs)

    reconfigure = configure

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Awaitable[None]]:
        """Start the log unless it is started; early-start listeners do not wait for the ACLs."""
        loop = asyncio.get_running_loop()
        log = self._state_log
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
        """Return the present ACLs.

        Raises:
            DecisionPending: they are not loaded yet.
        """
        if not self._ready:
            raise self._pending()
        return self._state_log.state.acls

    @property
    def stale(self) -> bool:
        """Return whether the ACLs are too old to decide by: all but super users are denied."""
        return self._state_log.state.stale

    def _pending(self) -> DecisionPending:
        assert self._loaded is not None, "it is asked after its start"
        return DecisionPending(self._loaded)

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Decide on each action, in order, all from one state.

        Raises:
            ValueError: a resource is not literal.
            DecisionPending: the ACLs are not loaded yet, and the principal is not a super user.
        """
        user = context.principal
        principal, host = f"{user.principal_type}:{user.name}", context.client_address
        is_super = principal in self.policy.super_users
        state = self._state_log.state
        snapshot, is_stale = state.acls, state.stale
        last: ResourcePattern | None = None
        mask = 0
        results = []
        for action in actions:
            operation, resource = action.operation, action.resource
            if resource.pattern_type is not _LITERAL:
                raise _not_literal(resource.pattern_type)
            if is_super:
                allowed = True
            elif is_stale:
                # A node that is cut off from its store may miss a DENY.
                allowed = False
            elif not self._ready:
                raise self._pending()
            else:
                # The operations of one resource are often asked for in a row (KIP-430).
                # By identity: equal patterns of one request are usually one object.
                if resource is not last:
                    last = resource
                    mask = snapshot.effective_mask(resource[0], resource[1], principal, host)
                allowed = not mask & DENY_TESTS[operation] and (
                    mask & ALLOW_TESTS[operation] != 0
                    or (self.policy.allow_everyone and not snapshot.covers(*resource[:2]))
                )
            if allowed:
                level = DEBUG if action.log_if_allowed else TRACE
                results.append(_ALLOWED)
            else:
                level = INFO if action.log_if_denied else TRACE
                results.append(_DENIED)
            if level >= self._threshold.level:
                # Without a matching ACL the default has decided: there is no rule to look for.
                matches = mask & (ALLOW_TESTS[operation] | DENY_TESTS[operation])
                decision = (
                    self.explain(context, action) if is_super or matches else _DEFAULTS[allowed]
                )
                self.authorizer_log.write(level, self._form(context, action, decision))
        return results

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
        return explain(self.policy, self._state_log.state.acls, question)

    async def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> list[AclCreateResult]:
        """Create the bindings as one change; a cancellation withdraws it if it is not planned."""
        if not self._ready or self._closed:
            return [AclCreateResult(_not_active())] * len(bindings)
        # The rules are those of the release that the cluster follows.
        check = partial(check_binding, networks=self._state_log.state.acls.matches_networks)
        refusals = await map_in_turns(check, bindings)
        accepted = bindings
        if any(refusals):
            accepted = [
                binding for binding, no in zip(bindings, refusals, strict=True) if no is None
            ]
            if not accepted:
                return list(map(AclCreateResult, refusals))
        # Drawn before the plan, which may run more than once.
        ids = self._new_ids(min(len(accepted), ACLS_PER_REQUEST_MAX))
        plan = partial(plan_creation, accepted, ids)
        outcome = _CREATED
        try:
            for hint in (await self._state_log.submit(plan, origin_of(context))).result:
                _LOG.info("%s", hint)
        except StorageError as error:
            outcome = AclCreateResult(not_stored(error, _UNCHANGED))
        except ApiError as error:
            return [AclCreateResult(error)] * len(bindings)  # over the limit
        if accepted is bindings:
            return [outcome] * len(bindings)
        return [outcome if no is None else AclCreateResult(no) for no in refusals]

    async def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> list[AclDeleteResult]:
        """Delete the matching bindings as one change, as ``create_acls``."""
        if not self._ready or self._closed:
            return [AclDeleteResult(_not_active())] * len(filters)
        refusals = await map_in_turns(check_filter, filters)
        accepted = filters
        if any(refusals):
            accepted = [filter for filter, no in zip(filters, refusals, strict=True) if no is None]
        matches: Sequence[Sequence[AclBinding]] = ()
        failure = None
        try:
            if accepted:
                plan = partial(plan_deletion, accepted)
                matches = (await self._state_log.submit(plan, origin_of(context))).result
        except StorageError as error:
            failure = not_stored(error, _UNCHANGED)
        except ApiError as error:
            return [AclDeleteResult(error)] * len(filters)
        matched = iter(matches)
        results = []
        for no in refusals:
            if no is not None or failure is not None:
                results.append(AclDeleteResult(no or failure))
                continue
            deleted = tuple(map(AclBindingDeleteResult, next(matched)))
            results.append(AclDeleteResult(bindings=deleted))
            if len(deleted) > SLICE_ITEMS:
                await next_turn()
        return results

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """Return the visible bindings that the filter matches, sorted.

        Raises:
            DecisionPending: the ACLs are not loaded yet.
        """
        return find(self.snapshot, wanted)

    def acl_count(self) -> int:
        return self._state_log.state.acls.count if self._ready else -1

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
        if self.stale:
            return _DENIED
        user = context.principal
        allowed = allowed_on_some(
            self._state_log.state.acls,
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
        state = self._state_log.state
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
            # Kept, because the loop holds only a weak reference.
            self._closing = asyncio.get_running_loop().create_task(self._state_log.aclose())


def plan_creation(
    bindings: Sequence[AclBinding], ids: Sequence[str], state: State
) -> Slices[tuple[Change, Sequence[str]]]:
    """Plan the creation of valid bindings; the result are hints about those that are new.

    Existing bindings, and duplicates in the request, are skipped. ``ids`` are new ones, as many as
    one request may create at most.

    Raises:
        ApiError: more ACLs are new than one request may create.

    Source: ``AclControlManager.createAcls`` (4.3.1).
    """
    # All of this runs in C: a thousand ACLs take half a millisecond.
    missing: dict[AclBinding, None] = {}
    for at in range(0, len(bindings), SLICE_ITEMS):
        if at:
            yield
        missing |= dict.fromkeys(filterfalse(state.acls.id_of, bindings[at : at + SLICE_ITEMS]))
    if len(missing) > ACLS_PER_REQUEST_MAX:
        raise too_many_created()
    added = list(missing)
    rows: list[StoredBinding] = []
    lines: list[str] = []
    for at in range(0, len(added), SLICE_ITEMS):
        if at:
            yield
        part = slice(at, at + SLICE_ITEMS)
        rows += map(_stored, zip(ids[part], added[part], strict=False))
        lines += hints(added[part])
    return ({ACL: Edit(tuple(rows))} if rows else {}), lines


def plan_deletion(
    filters: Sequence[AclBindingFilter], state: State
) -> Slices[tuple[Change, Sequence[Sequence[AclBinding]]]]:
    """Plan the deletion of matching bindings; the result are those of each filter.

    All filters are matched against the same state: a binding that two of them match is reported
    under both and deleted once.

    Raises:
        ApiError: they match more ACLs than one request may delete.

    Source: ``AclControlManager.deleteAcls`` (4.3.1).
    """
    acls = state.acls
    matches = yield from find_each(acls, filters, ACLS_PER_REQUEST_MAX)
    if matches is None:
        raise too_many_deleted()
    rows: list[StoredBinding] = []
    id_of = acls.id_of
    for binding in matches.bindings:
        rows.append(_stored((id_of(binding), binding)))
        if len(rows) % SLICE_ITEMS == 0:
            yield
    return ({ACL: Edit(deleted=tuple(rows))} if rows else {}), matches.of_filters


def _not_literal(pattern_type: PatternType) -> ValueError:
    return ValueError(f"Only literal resources are supported. Got: {pattern_type.name}")


def _not_active() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")
