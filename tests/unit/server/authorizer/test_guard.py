"""What stands between the server and a plug-in."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import (
    ANY_BINDING,
    AclBinding,
    AclOperation,
    ResourceType,
    SortedBindings,
)
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode, answer_of
from doorkeeper.server.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    DecisionPending,
    completed,
)
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.result_checks import CREATION, DELETION, AclChange
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from testkit.acl import DESCRIBE, READ, allow, request_of, topic
from testkit.authorizers import SERVER, HeldStore, started
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED
ALICE = request_of("alice", api_key=3)
ORDERS = topic("orders")
TWO = [Action(READ, ORDERS), Action(DESCRIBE, ORDERS)]
BINDING = allow("alice", READ, ORDERS)


class Plugin(Authorizer):
    """Does in each method what the test says."""

    def __init__(self, does: Callable[..., Any]) -> None:
        self.does = does
        self.closed = 0

    def start(self, _info: Any) -> Any:
        return {}

    def create_acls(self, *asked: Any) -> Any:
        return self.does(*asked)

    def authorize(self, *asked: Any) -> Any:
        return self.does(*asked)

    def delete_acls(self, *asked: Any) -> Any:
        return self.does(*asked)

    def acls(self, *asked: Any) -> Any:
        return self.does(*asked)

    def acl_count(self) -> Any:
        return self.does()

    def authorize_by_resource_type(self, *asked: Any) -> Any:
        return self.does(*asked)

    def authorized_operations(self, *asked: Any) -> Any:
        return self.does(*asked)

    def close(self) -> None:
        self.closed += 1
        self.does()


def guarded(does: Callable[..., Any], **more: Any) -> GuardedAuthorizer:
    return GuardedAuthorizer(Plugin(does), **more)


def gives(result: Any) -> Callable[..., Any]:
    return lambda *_: result


def raises(error: BaseException) -> Callable[..., Any]:
    def does(*_: Any) -> Any:
        raise error

    return does


def half_a_generator() -> Iterator[AclBinding]:
    yield BINDING
    raise OSError("the connection is gone")


def test_decisions_and_faults_are_counted() -> None:
    """What is no answer is a fault and no decision; a probe of all resources is a decision."""
    answers: list[Any] = [[DENIED, ALLOWED], [ALLOWED, ALLOWED], DENIED, [ALLOWED, None]]
    guard = guarded(lambda *_: answers.pop(0))

    guard.authorize(ALICE, TWO)
    guard.authorize(ALICE, TWO)
    guard.authorize_by_resource_type(ALICE, READ, ResourceType.TOPIC)
    with pytest.raises(AuthorizerFault):
        guard.authorize(ALICE, TWO)

    assert (guard.allowed, guard.denied, guard.faults) == (3, 2, 1)


@pytest.mark.parametrize(
    "answers",
    [
        *(None, True, ALLOWED, "AA", [], [ALLOWED], [ALLOWED] * 3),
        *([ALLOWED, True], [ALLOWED, None], ["ALLOWED"] * 2, {0: ALLOWED, 1: ALLOWED}),
        pytest.param((each for each in (ALLOWED, ALLOWED)), id="generator"),
    ],
    ids=repr,
)
def test_invalid_results_deny(answers: Any) -> None:
    """Whatever is not one of the two results for each action fails the request with -1."""
    with pytest.raises(AuthorizerFault) as caught:
        guarded(gives(answers)).authorize(ALICE, TWO)

    assert answer_of(caught.value) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert caught.value.authorizer == f"{__name__}.Plugin"


CALLS: dict[str, Callable[[GuardedAuthorizer], object]] = {
    "acls": lambda guard: guard.acls(ANY_BINDING),
    "authorize": lambda guard: guard.authorize(ALICE, TWO),
    "authorize_by_resource_type": (
        lambda guard: guard.authorize_by_resource_type(ALICE, READ, ResourceType.TOPIC)
    ),
    "authorized_operations": lambda guard: guard.authorized_operations(ALICE, [ORDERS]),
}
CHANGES: dict[str, Callable[[GuardedAuthorizer], Coroutine[Any, Any, Any]]] = {
    "create_acls": lambda guard: guard.change(CREATION, ALICE, [BINDING], 20.0),
    "delete_acls": lambda guard: guard.change(DELETION, None, [ANY_BINDING], 20.0),
}
NO_TEXT = (ErrorCode.UNKNOWN_SERVER_ERROR, None)
REFUSAL = (ErrorCode.POLICY_VIOLATION, "not on Sundays")


@pytest.mark.parametrize(
    ("error", "answer", "faults"),
    [
        (RuntimeError("secret"), NO_TEXT, 1),
        (SystemExit(3), NO_TEXT, 1),
        (asyncio.CancelledError(), NO_TEXT, 1),
        (ApiError(*REFUSAL), REFUSAL, 0),
    ],
)
async def test_exceptions_are_reported(
    error: BaseException, answer: tuple[ErrorCode, str | None], faults: int
) -> None:
    """An ApiError keeps its code and text and is no fault; anything else is -1 without one."""
    for name in (*CALLS, *CHANGES):
        guard = guarded(raises(error))
        with pytest.raises(AuthorizerFault) as caught:
            await CHANGES[name](guard) if name in CHANGES else CALLS[name](guard)

        assert answer_of(caught.value) == answer
        assert str(caught.value).startswith(f"{__name__}.Plugin failed in ")
        assert guard.faults == faults


def test_keyboard_interrupt_is_passed_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        guarded(raises(KeyboardInterrupt())).authorize(ALICE, TWO)


def test_pending_decision_is_not_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    pending = DecisionPending(Future[None]())
    guard = guarded(raises(pending))

    reads: tuple[Callable[[], object], ...] = (
        lambda: guard.authorize(ALICE, TWO),
        lambda: guard.authorized_operations(ALICE, [ORDERS]),
        lambda: guard.authorize_by_resource_type(ALICE, READ, ResourceType.TOPIC),
        lambda: guard.acls(ANY_BINDING),
    )
    for read in reads:
        with pytest.raises(DecisionPending) as caught:
            read()
        assert caught.value is pending
    assert guard.acl_count() == -1
    assert (guard.faults, caplog.records) == (0, [])


def test_acls_are_read_once() -> None:
    """A generator is a list afterwards; what is sorted stays known as sorted."""
    found = SortedBindings([BINDING])

    assert guarded(gives(found)).acls(ANY_BINDING) is found
    assert guarded(lambda _: (each for each in [BINDING])).acls(ANY_BINDING) == [BINDING]
    with pytest.raises(AuthorizerFault, match="the connection is gone"):
        guarded(lambda _: half_a_generator()).acls(ANY_BINDING)


@pytest.mark.parametrize("found", [None, 7, ["orders"], [BINDING, None], [tuple(BINDING)]])
def test_invalid_acls_fail_the_request(found: Any) -> None:
    with pytest.raises(AuthorizerFault):
        guarded(gives(found)).acls(ANY_BINDING)


async def test_awaitable_count_must_match() -> None:
    async def later() -> None: ...

    for answer in (None, 7, [], [later(), later()]):
        with pytest.raises(AuthorizerFault):
            await guarded(gives(answer)).change(DELETION, ALICE, [ANY_BINDING], 20.0)
    future = completed(AclDeleteResult())
    deleted = await guarded(gives(iter([future]))).change(DELETION, ALICE, [ANY_BINDING], 20.0)
    assert deleted.values == [AclDeleteResult()]


@pytest.mark.parametrize("masks", [None, [], [True], [1.0], [1 << AclOperation.CREATE_TOKENS]])
def test_masks_must_be_supported_operations(masks: Any) -> None:
    """One for each resource, without bits that its type does not have."""
    with pytest.raises(AuthorizerFault):
        guarded(gives(masks)).authorized_operations(ALICE, [ORDERS])
    assert guarded(gives([1 << READ])).authorized_operations(ALICE, [ORDERS]) == [1 << READ]


def test_resource_type_check_returns_one_result() -> None:
    ask = (ALICE, READ, ResourceType.TOPIC)

    assert guarded(gives(DENIED)).authorize_by_resource_type(*ask) is DENIED
    with pytest.raises(AuthorizerFault):
        guarded(gives(True)).authorize_by_resource_type(*ask)


def test_invalid_count_is_unknown(caplog: pytest.LogCaptureFixture) -> None:
    """-1 for what is no number, and for what raises, which is logged."""
    assert guarded(gives(7)).acl_count() == 7
    assert guarded(gives("7")).acl_count() == -1
    assert caplog.records == []
    assert guarded(raises(OSError("gone"))).acl_count() == -1
    assert "Plugin failed in acl_count: OSError: gone" in caplog.text


def test_close_is_called_once(caplog: pytest.LogCaptureFixture) -> None:
    guard = guarded(raises(SystemExit(1)))

    guard.close()
    guard.close()

    assert isinstance(guard.inner, Plugin)
    assert guard.inner.closed == 1
    assert "did not close" in caplog.text


def test_slow_calls_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now, takes_s = [0.0], [0.25]

    def slow(*_: Any) -> list[AuthorizationResult]:
        now[0] += takes_s[0]
        return [ALLOWED, ALLOWED]

    guard = guarded(slow, slow_ms=250, clock=lambda: now[0])
    guard.authorize(ALICE, TWO)
    assert guard.slow_calls == 0
    takes_s[0] = 0.5
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            guard.authorize(ALICE, TWO)
        assert (guard.slow_calls, len(caplog.records)) == (3, 1)
        now[0] += 60
        guard.authorize(ALICE, TWO)

    first, second = (record.getMessage() for record in caplog.records)
    blocked = f"the authorizer {__name__}.Plugin blocked the event loop for 500 ms in authorize"
    assert f"{blocked} for Metadata of User:alice" in first
    assert f"correlation id {ALICE.correlation_id} (" in first
    assert second.endswith("slow calls since the start: 4")


async def test_every_slow_method_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A method that blocks stops the server, also if it raises; each has its own minute."""
    now = [0.0]

    def slow(*_: Any) -> Any:
        now[0] += 5.0
        raise OSError("away")

    guard = guarded(slow, slow_ms=100, clock=lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            for call in CALLS.values():
                with pytest.raises(AuthorizerFault):
                    call(guard)
            for change in CHANGES.values():
                with pytest.raises(AuthorizerFault):
                    await change(guard)

    methods = (*CALLS, *CHANGES)
    assert guard.slow_calls == 2 * len(methods)
    lines = [record.getMessage() for record in caplog.records]
    for method, line in zip(methods, lines, strict=True):
        assert f"Plugin blocked the event loop for 5000 ms in {method}" in line
        assert ("of User:alice" in line) is (method not in ("delete_acls", "acls"))


async def test_start_and_name_are_delegated() -> None:
    guard = guarded(gives(None))

    assert guard.start(SERVER) == {}
    assert guard.name == f"{__name__}.Plugin"


async def test_decisions_are_recorded() -> None:
    """With all that was asked and found."""
    guarded = GuardedAuthorizer(await started())
    found: list[object] = []
    guarded.on_decision = lambda *decisions: found.append(decisions)
    context, actions = request_of("root"), [Action(READ, topic("a"))]

    results = guarded.authorize(context, actions)

    assert found == [(context, actions, results, None)]


async def test_standard_authorizer_results_are_in_order() -> None:
    guard = GuardedAuthorizer(await started())
    other = allow("bob", READ, ORDERS)
    nameless = allow("alice", READ, topic(""))

    created = await guard.change(CREATION, ALICE, [BINDING, nameless, other], 20.0)
    deleted = await guard.change(DELETION, None, [ANY_BINDING, ANY_BINDING], 20.0)

    assert [each.error and each.error.code for each in created.values] == [
        None,
        ErrorCode.INVALID_REQUEST,
        None,
    ]
    assert [[row.binding for row in each.bindings] for each in deleted.values] == [
        [BINDING, other]
    ] * 2
    assert not any((*created.errors, *deleted.errors, created.timed_out, deleted.timed_out))


async def test_unstored_change_times_out() -> None:
    store = HeldStore()
    authorizer = await started(store=store)
    guard = GuardedAuthorizer(authorizer)

    late = await guard.change(CREATION, ALICE, [BINDING, BINDING], 0.0)
    creating = asyncio.ensure_future(guard.change(CREATION, ALICE, [BINDING], 20.0))
    await store.deliver()
    created = await creating

    assert [each.error.code for each in late.values] == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert (late.timed_out, late.errors) == (2, [])
    assert created.values == [AclCreateResult()]
    assert list(store.durable) == [BINDING]


async def test_plug_in_results_are_awaited_and_checked() -> None:
    """Each result is checked: a fault of an item is -1, and what was raised is kept."""
    error = OSError("gone")

    async def fails() -> AclDeleteResult:
        raise error

    deleted = await guarded(lambda *_: [completed(AclDeleteResult()), fails()]).change(
        DELETION, ALICE, [ANY_BINDING] * 2, 20.0
    )
    created = await guarded(lambda *_: [completed(None)]).change(CREATION, ALICE, [BINDING], 20.0)

    assert deleted.values[0] == AclDeleteResult()
    assert deleted.values[1].error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert deleted.errors == [error]
    assert created.values[0].error.code is ErrorCode.UNKNOWN_SERVER_ERROR


async def test_coroutine_returns_all_results() -> None:
    def returns(results: Any, error: BaseException | None = None) -> Callable[..., Any]:
        async def change(*_: Any) -> Any:
            await asyncio.sleep(0)
            if error is not None:
                raise error
            return results

        return change

    refused = AclCreateResult(ApiError(ErrorCode.POLICY_VIOLATION))
    created = await guarded(returns((AclCreateResult(), refused, True))).change(
        CREATION, ALICE, [BINDING] * 3, 20.0
    )
    assert created.values[:2] == [AclCreateResult(), refused]
    assert created.values[2].error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert [type(error) for error in created.errors] == [TypeError]
    for wrong in (returns([]), returns(None), returns([], OSError("gone"))):
        with pytest.raises(AuthorizerFault):
            await guarded(wrong).change(CREATION, ALICE, [BINDING], 20.0)
    with pytest.raises(AuthorizerFault, match="TimeoutError"):
        await guarded(returns([], TimeoutError())).change(CREATION, ALICE, [BINDING], 20.0)


async def test_coroutine_is_cancelled_with_its_update() -> None:
    ends: list[str] = []

    async def never(*_: Any) -> Any:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ends.append("cancelled")

    late = await guarded(never).change(CREATION, ALICE, [BINDING] * 2, 0.0)
    assert [each.error.code for each in late.values] == [ErrorCode.REQUEST_TIMED_OUT] * 2
    stopping = asyncio.create_task(guarded(never).change(CREATION, ALICE, [BINDING], 20.0))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert (late.timed_out, ends) == (2, ["cancelled"] * 2)


async def test_overridden_methods_are_called() -> None:
    class Frozen(StandardAuthorizer):
        def create_acls(self, _context: Any, bindings: Any) -> Any:
            refused = AclCreateResult(ApiError(ErrorCode.POLICY_VIOLATION, "frozen"))
            return [completed(refused) for _ in bindings]

    authorizer = Frozen()
    await asyncio.gather(*authorizer.start(SERVER).values())
    guard = GuardedAuthorizer(authorizer)

    created = await guard.change(CREATION, ALICE, [BINDING], 20.0)
    deleted = await guard.change(DELETION, ALICE, [ANY_BINDING], 20.0)

    assert created.values[0].error.code is ErrorCode.POLICY_VIOLATION
    assert deleted.values == [AclDeleteResult()]
    guard.close()


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("change", [CREATION, DELETION])
async def test_failing_change_fails_as_a_whole(change: AclChange, in_thread: object) -> None:
    guard = guarded(raises(OSError("gone")), updates_in_thread=bool(in_thread))

    with pytest.raises(AuthorizerFault, match="Plugin failed in"):
        await guard.change(change, ALICE, [BINDING], 20.0)


class Blocking:
    """Updates that wait until the test lets them go, and say on which thread they were called."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.began, self.goes = threading.Event(), threading.Event()
        self.late: list[Coroutine[Any, Any, AclCreateResult]] = []

    def __call__(self, _context: Any, items: Any) -> list[Any]:
        self.threads.append(threading.current_thread().name)
        self.began.set()
        assert self.goes.wait(scaled(60))
        self.late = [self.result() for _ in items]
        return self.late

    async def result(self) -> AclCreateResult:
        return AclCreateResult()


async def test_threaded_updates_do_not_block_the_loop() -> None:
    blocking = Blocking()
    seconds = itertools.count()
    guard = guarded(blocking, updates_in_thread=True, slow_ms=1, clock=lambda: float(next(seconds)))

    first = asyncio.create_task(guard.change(CREATION, ALICE, [BINDING], 20.0))
    second = asyncio.create_task(guard.change(CREATION, ALICE, [BINDING] * 2, 20.0))
    await asyncio.to_thread(blocking.began.wait, 60)
    await asyncio.sleep(0)
    assert blocking.threads == ["doorkeeper-authorizer-updates"]
    blocking.goes.set()

    assert (await first).values == [AclCreateResult()]
    assert (await second).values == [AclCreateResult()] * 2
    assert len(blocking.threads) == 2
    # Nobody waited for them.
    assert guard.slow_calls == 0


async def test_blocking_update_times_out() -> None:
    blocking = Blocking()
    guard = guarded(blocking, updates_in_thread=True)

    late = await guard.change(CREATION, ALICE, [BINDING] * 2, 0.0)
    behind = await guard.change(DELETION, ALICE, [ANY_BINDING], 0.0)
    blocking.goes.set()

    for results, items in ((late, 2), (behind, 1)):
        codes = [each.error.code for each in results.values]
        assert codes == [ErrorCode.REQUEST_TIMED_OUT] * items
        assert results.timed_out == items
    # The second update, whose time was over before its turn, is never called; and no coroutine is
    # left that was never awaited.
    assert (await guard.change(CREATION, ALICE, [BINDING], 20.0)).values == [AclCreateResult()]
    assert len(blocking.threads) == 2
