"""The guard between the server and the configured authorizer.

It validates all results of a plug-in: an exception, a wrong number of results or a wrong type is an
``AuthorizerFault`` with the authorizer's name, which the server answers as an error and logs with
the request. A fault never allows anything. An ``ApiError`` keeps its code on the way to the
client, and ``DecisionPending`` passes: the request waits. ACLs too long for a response are refused
without asking the authorizer.

Calls run on the event loop, which serves nothing else meanwhile: slow ones are counted, and logged
at most once a minute for each method. Updates of a plug-in may have a thread of their own, in which
they run one after the other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeGuard, TypeVar

from doorkeeper.acls.model import SortedBindings
from doorkeeper.acls.operations import full_mask
from doorkeeper.acls.validation import unencodable
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.server.authorizer.awaitables import results_of
from doorkeeper.server.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    AuthorizationResult,
    Authorizer,
    DecisionPending,
    completed,
)
from doorkeeper.server.authorizer.result_checks import (
    is_binding,
    is_create_result,
    is_delete_result,
)
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.state.outcome import Results
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.acls.model import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        ResourcePattern,
        ResourceType,
    )
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.authorizer.contract import (
        Action,
        AuthorizerServerInfo,
        Endpoint,
        Eventually,
    )
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

    OnDecision = Callable[
        [AuthorizableRequestContext, Sequence[Action], Sequence[AuthorizationResult]],
        None,
    ]
    OnEarlierDecision = Callable[
        [
            AuthorizableRequestContext,
            Sequence[Action],
            Sequence[AuthorizationResult],
            StandardAuthorizer,
        ],
        None,
    ]
    OnTypeDecision = Callable[
        [AuthorizableRequestContext, AclOperation, ResourceType, AuthorizationResult], None
    ]
    OnUpdate = Callable[[Sequence[Any], Sequence[Any], AuthorizableRequestContext | None], None]

T = TypeVar("T")

SLOW_MS: Final = 50
"""The default of ``doorkeeper.authorizer.slow.ms``."""

WARN_EVERY_S: Final = 60.0

_LOG = logging.getLogger("doorkeeper.authorizer")

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_ALLOWED = AuthorizationResult.ALLOWED
_DENIED = AuthorizationResult.DENIED

_UPDATES: Final = frozenset({"create_acls", "delete_acls"})

_LISTS: Final[frozenset[type]] = frozenset({list, SortedBindings})


def name_of(authorizer: Authorizer) -> str:
    """Return the name of an authorizer in logs."""
    if isinstance(authorizer, GuardedAuthorizer):
        return authorizer.name
    return f"{type(authorizer).__module__}.{type(authorizer).__qualname__}"


class GuardedAuthorizer(Authorizer):
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
        self.slow_calls = 0
        self.faults = 0
        self.allowed = 0
        self.denied = 0
        self.on_decision: OnDecision | None = None
        """Called with each result of ``authorize`` if decisions are recorded. Must not block."""
        self.on_earlier_decision: OnEarlierDecision | None = None
        """As ``on_decision``, with the copy of the standard authorizer that decided in a thread."""
        self.on_type_decision: OnTypeDecision | None = None
        """Called with each result of ``authorize_by_resource_type``. Must not block."""
        self.on_update: OnUpdate | None = None
        """Called with the items of an update, their results and the request context.

        Only for an authorizer that keeps its ACLs outside the server's state. Must not block."""
        # Bound once: it is called for every request.
        self._authorize = inner.authorize
        # Its items succeed or fail together: one coroutine changes all, without a future for each.
        self._standard_create = (
            inner.commit_creation if _is_standard(inner, "create_acls") else None
        )
        self._standard_delete = (
            inner.commit_deletion if _is_standard(inner, "delete_acls") else None
        )
        self._slow_ms = slow_ms
        self._slow_s = slow_ms / 1000
        self._clock = clock
        self._warned_s: dict[str, float] = {}
        self._closed = False
        self._turn = asyncio.Lock() if updates_in_thread else None
        """Held by the update that has the thread; None where updates run on the event loop."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Pass the configuration on; errors stop the server's start."""
        self.inner.configure(configs)

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        """Start it; errors stop the server's start."""
        return self.inner.start(server_info)

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Return the results, after checking their number and types.

        Raises:
            AuthorizerFault: it raised, or the results are invalid.
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
            self.on_decision(context, actions, results)
        return results

    def standard(self) -> StandardAuthorizer | None:
        """Return the standard authorizer if any thread may ask it; None with a plug-in."""
        inner = self.inner
        # Those that observe each decision do so on the event loop, but for the audit log.
        observed = self.on_type_decision or (self.on_decision and not self.on_earlier_decision)
        # The exact class: a subclass may decide by something else.
        return inner if type(inner) is StandardAuthorizer and not observed else None

    def snapshot(self) -> Snapshot | None:
        """Return the present ACLs of the standard authorizer; None with a plug-in."""
        inner = self.inner
        # The exact class: a subclass may decide and describe by something else.
        return inner.snapshot if type(inner) is StandardAuthorizer else None

    async def create(
        self,
        context: AuthorizableRequestContext | None,
        bindings: Sequence[AclBinding],
        timeout_s: float,
    ) -> Results:
        """Create ACLs; the values are ``AclCreateResult``, in order.

        A change of the standard authorizer that is not planned in time is withdrawn.

        Raises:
            AuthorizerFault: the authorizer raised, or returned too few or too many awaitables.
        """
        if self._standard_create is None:
            call = partial(self.create_acls, context, bindings)
            results = await self._results(
                call, len(bindings), AclCreateResult, is_create_result, timeout_s
            )
            if self.on_update is not None:
                self.on_update(bindings, results.values, context)
            return results
        try:
            return Results(await self._standard_create(context, bindings, timeout_s))
        except TimeoutError:
            return _timeout_results(AclCreateResult, len(bindings))
        except Exception as error:  # a fault of the authorizer, as in other calls
            self._fail("create_acls", error)

    async def delete(
        self,
        context: AuthorizableRequestContext | None,
        filters: Sequence[AclBindingFilter],
        timeout_s: float,
    ) -> Results:
        """Delete ACLs; the values are ``AclDeleteResult``, in order.

        A change of the standard authorizer that is not planned in time is withdrawn.

        Raises:
            AuthorizerFault: the authorizer raised, or returned too few or too many awaitables.
        """
        if self._standard_delete is None:
            call = partial(self.delete_acls, context, filters)
            results = await self._results(
                call, len(filters), AclDeleteResult, is_delete_result, timeout_s
            )
            if self.on_update is not None:
                self.on_update(filters, results.values, context)
            return results
        try:
            return Results(await self._standard_delete(context, filters, timeout_s))
        except TimeoutError:
            return _timeout_results(AclDeleteResult, len(filters))
        except Exception as error:  # as above
            self._fail("delete_acls", error)

    async def _results(
        self,
        call: Callable[[], list[Any]],
        items: int,
        refused: Callable[[ApiError], T],
        accepts: Callable[[Any], bool],
        timeout_s: float,
    ) -> Results:
        """Call the plug-in, and await the results of its items; both within the time-out."""
        if self._turn is None:
            return await results_of(call(), refused, accepts, timeout_s)
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + timeout_s
        calling = loop.create_task(_in_thread(call, self._turn))
        try:
            await asyncio.wait((calling,), timeout=timeout_s)
        finally:
            # The call goes on, and nothing waits for its result.
            if not calling.done():
                calling.add_done_callback(_drop)
        if not calling.done():
            return _timeout_results(refused, items)
        return await results_of(calling.result(), refused, accepts, ends_s - loop.time())

    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> list[Eventually[AclCreateResult]]:
        """Return one awaitable for each binding; bindings too long for a response are refused.

        Raises:
            AuthorizerFault: it raised, or returned another number of awaitables.
        """
        refusals = [unencodable(each) for each in bindings]
        if any(refusals):
            pairs = zip(bindings, refusals, strict=True)
            bindings = [each for each, refusal in pairs if refusal is None]
        awaitables = self._items(
            "create_acls", len(bindings), self.inner.create_acls, context, bindings
        )
        if len(awaitables) == len(refusals):
            return awaitables
        # The plug-in got only the other bindings: its results fill the places of those.
        rest = iter(awaitables)
        return [
            completed(AclCreateResult(refusal)) if refusal is not None else next(rest)
            for refusal in refusals
        ]

    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> list[Eventually[AclDeleteResult]]:
        """Return one awaitable for each filter.

        Raises:
            AuthorizerFault: it raised, or returned another number of awaitables.
        """
        return self._items("delete_acls", len(filters), self.inner.delete_acls, context, filters)

    def acls(self, wanted: AclBindingFilter) -> list[AclBinding]:
        """Return all its bindings.

        Raises:
            AuthorizerFault: it raised, also during the iteration, or an item is not a binding.
        """
        found = self._call("acls", lambda: _as_list(self.inner.acls(wanted)))
        # Only the standard authorizer returns this type; its bindings need no check.
        if type(found) is not SortedBindings:
            for each in found:
                if not is_binding(each):
                    self._fail("acls", _wrong_item(each, "AclBinding"))
        return found

    def acl_count(self) -> int:
        """Return its count; -1 if that fails."""
        try:
            count = self._call("acl_count", self.inner.acl_count)
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
        found = self._call(
            method,
            lambda: self.inner.authorize_by_resource_type(context, operation, resource_type),
            context,
        )
        if found is not _ALLOWED and found is not _DENIED:
            self._fail(method, _wrong_item(found, "AuthorizationResult"))
        if found is _ALLOWED:
            self.allowed += 1
        else:
            self.denied += 1
        if self.on_type_decision is not None:
            self.on_type_decision(context, operation, resource_type, found)
        return found

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return one mask for each resource, of operations that the type supports.

        Raises:
            AuthorizerFault: it raised, or the masks are invalid.
        """
        method = "authorized_operations"
        masks = self._call(
            method, lambda: self.inner.authorized_operations(context, resources), context
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
        try:
            self.inner.close()
        except BaseException:  # the rest of the server still closes
            _LOG.exception("the authorizer did not close: %s", self.name)

    # --- faults

    def _call(
        self, method: str, call: Callable[[], T], context: AuthorizableRequestContext | None = None
    ) -> T:
        began_s = self._clock()
        try:
            return call()
        except BaseException as error:  # even one that would end the process
            self._fail(method, error)
        finally:
            took_s = self._clock() - began_s
            # In a thread of its own a call may wait.
            is_apart = self._turn is not None and method in _UPDATES
            if took_s > self._slow_s and not is_apart:
                self._note_slow(method, took_s, context)

    def _items(
        self,
        method: str,
        expected: int,
        call: Callable[[AuthorizableRequestContext | None, Any], Sequence[Any]],
        context: AuthorizableRequestContext | None,
        items: object,
    ) -> list[Any]:
        # list() inside the call: a generator runs plug-in code, which may raise.
        found = self._call(method, lambda: list(call(context, items)), context)
        if len(found) != expected:
            _close_all(found)
            self._fail(
                method, ValueError(f"found {len(found)} awaitables; expected are {expected}")
            )
        return found

    def _fail(self, method: str, error: BaseException) -> NoReturn:
        if isinstance(error, (KeyboardInterrupt, MemoryError, DecisionPending)):
            raise error
        if isinstance(error, AuthorizerFault):
            self.faults += 1
            raise error
        if not isinstance(error, ApiError):
            self.faults += 1
        raise AuthorizerFault(self.name, method, error) from error

    def _note_slow(
        self, method: str, took_s: float, context: AuthorizableRequestContext | None
    ) -> None:
        self.slow_calls += 1
        now_s = self._clock()
        if now_s - self._warned_s.get(method, -WARN_EVERY_S) < WARN_EVERY_S:
            return
        self._warned_s[method] = now_s
        request = ""
        if context is not None:
            request = (
                f" for {API_NAMES.get(context.request_type, str(context.request_type))}"
                f" of {context.principal}, correlation id {context.correlation_id}"
            )
        _LOG.warning(
            "%s took %.0f ms in %s%s, while no request was served"
            " (doorkeeper.authorizer.slow.ms=%d); slow calls since the start: %d",
            self.name,
            took_s * 1000,
            method,
            request,
            self._slow_ms,
            self.slow_calls,
        )


async def _in_thread(call: Callable[[], list[Any]], turn: asyncio.Lock) -> list[Any]:
    async with turn:
        return await beside(call, "doorkeeper-authorizer-updates")


def _drop(calling: asyncio.Task[list[Any]]) -> None:
    """Forget a call that returned too late."""
    if not calling.cancelled() and calling.exception() is None:
        _close_all(calling.result())


def _close_all(awaitables: Sequence[Any]) -> None:
    for each in awaitables:
        close = getattr(each, "close", None)
        if close is not None:
            close()  # a coroutine that never began must not complain of it


def _is_standard(inner: Authorizer, method: str) -> TypeGuard[StandardAuthorizer]:
    """Return whether a method is the standard authorizer's own, not overridden by a plug-in."""
    bound = getattr(inner, method)
    return getattr(bound, "__func__", None) is getattr(StandardAuthorizer, method)


def _timeout_results(refused: Callable[[ApiError], T], items: int) -> Results:
    return Results([refused(ApiError(ErrorCode.REQUEST_TIMED_OUT))] * items, (), items)


def _as_list(found: Any) -> list[Any]:  # noqa: ANN401 - plug-ins return what they like
    whole: list[Any] = found if type(found) in _LISTS else list(found)
    return whole


def _wrong_list(found: object, expected: int, of: str) -> Exception:
    if isinstance(found, list):
        return ValueError(f"found {len(found)} results; expected are {expected}")
    return TypeError(f"found {type(found).__name__}; expected is a list of {expected} {of}")


def _wrong_item(found: object, expected: str) -> Exception:
    return TypeError(f"found {found!r:.80} among the results; expected is {expected}")
