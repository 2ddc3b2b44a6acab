"""The guard between the server and the configured authorizer.

It validates all results but changes and sorted ACLs of the standard authorizer: an exception, a
wrong number of results or a wrong type is an ``AuthorizerFault`` with the authorizer's name, which
the server answers as an error and logs with the request. A fault never allows anything. An
``ApiError`` keeps its code on the way to the client, and ``DecisionPending`` passes: the request
waits.

Calls run on the event loop, which serves nothing else meanwhile: slow ones are counted, and logged
at most once a minute for each method. Updates may have a thread of their own, in which they are
called one after the other, and large requests ask a copy of the standard authorizer in theirs
(``one_request``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, NoReturn

from msgspec import Struct

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    ResourcePattern,
    ResourceType,
    SortedBindings,
)
from doorkeeper.acls.operations import full_mask
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.base.errors import ApiError, AuthorizerFault
from doorkeeper.server.authorizer.awaitables import LATE, outcomes_of
from doorkeeper.server.authorizer.contract import (
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    DecisionPending,
    Endpoint,
    Eventually,
)
from doorkeeper.server.authorizer.result_checks import (
    CREATION,
    DELETION,
    AclChange,
    is_binding,
    results_of,
)
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.config.plug_ins import SlowCalls, closed, name_of
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.runtime.threads import beside, is_cancelled
from doorkeeper.server.state.outcome import Results
from doorkeeper_wire.api_keys import API_NAMES

OnDecision = Callable[
    [
        AuthorizableRequestContext,
        Sequence[Action],
        Sequence[AuthorizationResult],
        StandardAuthorizer | None,
    ],
    None,
]
OnTypeDecision = Callable[
    [AuthorizableRequestContext, AclOperation, ResourceType, AuthorizationResult], None
]
OnUpdate = Callable[[Sequence[Any], Sequence[Any], AuthorizableRequestContext | None], None]

SLOW_MS: Final = 50
"""The default of ``doorkeeper.authorizer.slow.ms``."""

_LOG = logging.getLogger("doorkeeper.authorizer")

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_ALLOWED = AuthorizationResult.ALLOWED
_DENIED = AuthorizationResult.DENIED

_UPDATES: Final = frozenset({CREATION.method, DELETION.method})

_LISTS: Final[frozenset[type]] = frozenset({list, SortedBindings})


class QuietDecisions(Struct, frozen=True):
    """Allowed decisions that left nothing but their number, and what they depended on."""

    guard: GuardedAuthorizer
    allowed: int
    policy: Policy
    snapshot: Snapshot


class GuardedAuthorizer:
    """Wraps an authorizer, and enforces its contract.

    ``clock`` gives monotonic seconds. ``allowed`` and ``denied`` count decisions, ``slow_calls``
    and ``faults`` calls.
    """

    def __init__(
        self,
        inner: Authorizer,
        *,
        slow_ms: int = SLOW_MS,
        updates_in_thread: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``updates_in_thread`` takes calls that change ACLs off the event loop."""
        self.inner = inner
        self.name = name_of(inner)
        self.faults = 0
        self.allowed = 0
        self.denied = 0
        self.on_decision: OnDecision | None = None
        """Called with each result of ``authorize`` if decisions are recorded. Must not block.

        The last argument is the copy of the authorizer that decided in a thread, if one did."""
        self.on_type_decision: OnTypeDecision | None = None
        """Called with each result of ``authorize_by_resource_type``. Must not block."""
        self.on_update: OnUpdate | None = None
        """Called with the items of an update, their results and the request context.

        Only for an authorizer that keeps its ACLs outside the server's state. Must not block."""
        # Bound once: it is called for every request.
        self._authorize = inner.authorize
        self._at_once = inner if type(inner) is StandardAuthorizer else None
        self._guard = self
        """The guard that counts the decisions of all requests."""
        self._slow = SlowCalls(slow_ms, clock)
        self._slow_s = self._slow.limit_s
        self._clock = clock
        self._closed = False
        self._turn = asyncio.Lock() if updates_in_thread else None
        """Held by the update that has the thread; None where updates run on the event loop."""

    @property
    def slow_calls(self) -> int:
        return self._slow.count

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        """Start it; errors stop the server's start."""
        return self.inner.start(server_info)

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Return the results, after checking their number and types.

        Raises:
            AuthorizerFault: it raised, or the results are invalid.
            DecisionPending: it does not know its decision yet.
        """
        clock = self._clock
        began_s = clock()
        try:
            results = self._authorize(context, actions)
        except BaseException as error:  # even one that would end the process
            self._fail("authorize", error)
        finally:
            took_s = clock() - began_s
            if took_s > self._slow_s:
                self._note_slow("authorize", took_s, context)
        # __class__ and not isinstance: cheaper, and a subclass of list could lie about its length.
        if results.__class__ is not list or len(results) != len(actions):
            self._fail("authorize", _wrong_list(results, len(actions), "AuthorizationResult"))
        allowed = 0
        for result in results:
            if result is _ALLOWED:
                allowed += 1
            elif result is not _DENIED:
                self._fail("authorize", _wrong_item(result, "AuthorizationResult"))
        self.allowed += allowed
        self.denied += len(results) - allowed
        if self.on_decision is not None:
            self.on_decision(context, actions, results, None)
        return results

    def quiet_since(self, before: tuple[int, int]) -> QuietDecisions | None:
        """Return the decisions since both counts were ``before``, if they left nothing else.

        That is: all are allowed, by an authorizer that answers from the state; nobody records
        decisions, and the authorizer log has no lines of what is allowed.
        """
        inner, guard = self._at_once, self._guard
        allowed, denied = before
        if inner is None or denied != self.denied or not guard._is_quiet(inner):  # noqa: SLF001
            return None
        try:
            snapshot = inner.snapshot
        except DecisionPending:
            return None
        return QuietDecisions(guard, self.allowed - allowed, inner.policy, snapshot)

    def decide_again(self, decisions: QuietDecisions) -> bool:
        """Count decisions again; return False, and count nothing, if they may be others now."""
        inner = self._at_once
        if (
            inner is None
            or inner.policy is not decisions.policy
            or inner.snapshot is not decisions.snapshot
            or not self._is_quiet(inner)
        ):
            return False
        self.allowed += decisions.allowed
        return True

    def _is_quiet(self, inner: StandardAuthorizer) -> bool:
        is_recorded = self.on_decision is not None or self.on_type_decision is not None
        return not is_recorded and inner.authorizer_log.threshold.level > logging.DEBUG

    def for_thread(self) -> StandardAuthorizer | None:
        """Return the authorizer if any thread may ask it; else None."""
        # Decisions on types are observed on the event loop.
        return self._at_once if self.on_type_decision is None else None

    @property
    def has_snapshot(self) -> bool:
        return self._at_once is not None

    def snapshot(self) -> Snapshot | None:
        """Return the present ACLs; None if the authorizer decides by anything else.

        Raises:
            DecisionPending: they are not loaded yet.
        """
        return None if self._at_once is None else self._at_once.snapshot

    async def change(
        self,
        change: AclChange,
        context: AuthorizableRequestContext | None,
        items: Sequence[Any],
        timeout_s: float,
    ) -> Results:
        """Create bindings, or delete what filters match, within the time-out.

        The values are ``AclCreateResult`` or ``AclDeleteResult``, in the order of the items.

        Raises:
            AuthorizerFault: the authorizer raised, or returned too few or too many awaitables or
                results.
        """
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + timeout_s
        begin = partial(getattr(self.inner, change.method), context, items)
        call = partial(self._call, change.method, context, begin, makes_list=True)
        limit = asyncio.timeout_at(ends_s)
        outcomes: Sequence[Any]
        try:
            async with limit:
                changing = call() if self._turn is None else await _in_thread(call, self._turn)
                if isinstance(changing, Coroutine):
                    outcomes = list(await changing)
                    if len(outcomes) != len(items):
                        self._fail_count(change, outcomes, items)
        except TimeoutError as error:
            if not limit.expired():
                self._fail(change.method, error)
            outcomes = [LATE] * len(items)
        except BaseException as error:  # even one that would end the process
            self._fail(change.method, error)
        else:
            if isinstance(changing, list):
                if len(changing) != len(items):
                    self._fail_count(change, changing, items)
                outcomes = await outcomes_of(changing, ends_s - loop.time())
        # Those of the standard authorizer need no check.
        is_sound = self._at_once is not None and outcomes[:1] != [LATE]
        results = Results(outcomes) if is_sound else await results_of(outcomes, change)
        if self.on_update is not None:
            self.on_update(items, results.values, context)
        return results

    def _fail_count(
        self, change: AclChange, outcomes: Sequence[Any], items: Sequence[Any]
    ) -> NoReturn:
        _close_all(outcomes)
        text = f"found {len(outcomes)} awaitables or results; expected: {len(items)}"
        self._fail(change.method, ValueError(text))

    def acls(self, filter: AclBindingFilter) -> list[AclBinding]:
        """Return its bindings that the filter matches.

        Raises:
            AuthorizerFault: it raised, also during the iteration, or an item is not a binding.
        """
        bindings: list[AclBinding] = self._call(
            "acls", None, lambda: self.inner.acls(filter), makes_list=True
        )
        # Only the standard authorizer returns this type; its bindings need no check.
        if type(bindings) is not SortedBindings:
            for binding in bindings:
                if not is_binding(binding):
                    self._fail("acls", _wrong_item(binding, "AclBinding"))
        return bindings

    def acl_count(self) -> int:
        """Return its count; -1 if that fails."""
        try:
            count = self._call("acl_count", None, self.inner.acl_count)
        except AuthorizerFault as fault:
            _LOG.error("%s", fault, exc_info=fault.cause)
            return -1
        except DecisionPending:
            return -1  # nobody waits for a count
        # -1 is also the contract's value for an unknown number; bool is a subclass of int.
        return count if type(count) is int else -1

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        """Return its decision.

        Raises:
            AuthorizerFault: it raised, or the result is not an AuthorizationResult.
        """
        method = "authorize_by_resource_type"
        result: AuthorizationResult = self._call(
            method,
            context,
            lambda: self.inner.authorize_by_resource_type(context, operation, resource_type),
        )
        if result is not _ALLOWED and result is not _DENIED:
            self._fail(method, _wrong_item(result, "AuthorizationResult"))
        if result is _ALLOWED:
            self.allowed += 1
        else:
            self.denied += 1
        if self.on_type_decision is not None:
            self.on_type_decision(context, operation, resource_type, result)
        return result

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return one mask for each resource, of operations that the type supports.

        Raises:
            AuthorizerFault: it raised, or the masks are invalid.
        """
        method = "authorized_operations"
        masks: list[int] = self._call(
            method, context, lambda: self.inner.authorized_operations(context, resources)
        )
        if masks.__class__ is not list or len(masks) != len(resources):
            self._fail(method, _wrong_list(masks, len(resources), "int"))
        for mask, resource in zip(masks, resources, strict=True):
            # Clients fail on bits of operations that the type does not support.
            if type(mask) is not int or mask & ~full_mask(resource.resource_type):
                expected = f"mask of operations on {resource.resource_type.name}"
                self._fail(method, _wrong_item(mask, expected))
        return masks

    def close(self) -> None:
        """Close it; further calls do nothing. Exceptions are logged."""
        if self._closed:
            return
        self._closed = True
        closed(self.inner, "authorizer", _LOG)

    # --- faults

    def _call(
        self,
        method: str,
        context: AuthorizableRequestContext | None,
        call: Callable[[], Any],
        *,
        makes_list: bool = False,
    ) -> Any:  # noqa: ANN401 - plug-ins return what they like
        """Call a method of the authorizer, in the request of ``context``; both are for the log.

        ``makes_list`` of what it returns, unless that is a coroutine: here, in the call, since a
        generator runs plug-in code.
        """
        began_s = self._clock()
        try:
            result = call()
            is_whole = not makes_list or type(result) in _LISTS or isinstance(result, Coroutine)
            return result if is_whole else list(result)
        except BaseException as error:  # even one that would end the process
            self._fail(method, error)
        finally:
            took_s = self._clock() - began_s
            # In a thread of its own a call may wait.
            is_apart = self._turn is not None and method in _UPDATES
            if took_s > self._slow_s and not is_apart:
                self._note_slow(method, took_s, context)

    def _fail(self, method: str, error: BaseException) -> NoReturn:
        if isinstance(error, (KeyboardInterrupt, MemoryError, DecisionPending)):
            raise error
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise error
        if isinstance(error, AuthorizerFault):
            raise error
        if not isinstance(error, ApiError):
            self.faults += 1
        raise AuthorizerFault(self.name, method, error) from error

    def _note_slow(
        self, method: str, took_s: float, context: AuthorizableRequestContext | None
    ) -> None:
        if not self._slow.must_log(method, took_s):
            return
        request = ""
        if context is not None:
            request = (
                f" for {API_NAMES.get(context.request_type, str(context.request_type))}"
                f" of {context.principal}, correlation id {context.correlation_id}"
            )
        _LOG.warning(
            "the authorizer %s blocked the event loop for %.0f ms in %s%s"
            " (doorkeeper.authorizer.slow.ms=%.0f); slow calls since the start: %d",
            self.name,
            took_s * 1000,
            method,
            request,
            self._slow_s * 1000,
            self.slow_calls,
        )


async def _in_thread(call: Callable[[], Any], turn: asyncio.Lock) -> Any:  # noqa: ANN401 - as above
    """Call in a thread after all calls before it.

    Who waits for its turn no more is not called; a call that has begun goes on.
    """
    await turn.acquire()
    calling = asyncio.ensure_future(beside(call, "doorkeeper-authorizer-updates"))
    calling.add_done_callback(lambda _: turn.release())
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        calling.add_done_callback(_drop)
        raise


def _drop(calling: asyncio.Future[Any]) -> None:
    """Forget a call that returned too late."""
    if not calling.cancelled() and calling.exception() is None:
        result = calling.result()
        _close_all((result,) if isinstance(result, Coroutine) else result)


def _close_all(awaitables: Sequence[Any]) -> None:
    for awaitable in awaitables:
        close = getattr(awaitable, "close", None)
        if close is not None:
            close()  # a coroutine that never began must not complain of it


def _wrong_list(results: object, expected: int, of: str) -> Exception:
    if isinstance(results, list):
        return ValueError(f"found {len(results)} results; expected: {expected}")
    return TypeError(f"found {type(results).__name__}; expected: a list of {expected} {of}")


def _wrong_item(item: object, expected: str) -> Exception:
    return TypeError(f"found {item!r:.80} among the results; expected: {expected}")
