"""What stands between the server and a plug-in."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acl.model import (
    ANY_BINDING,
    AclBinding,
    AclOperation,
    ResourceType,
    SortedBindings,
)
from doorkeeper.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    completed,
)
from doorkeeper.authorizer.guard import GuardedAuthorizer, Told, name_of
from doorkeeper.errors import ApiError, AuthorizerFault, ErrorCode, answer_of
from testkit.acl import DESCRIBE, READ, allow, request_of, topic
from testkit.authorizers import SERVER, CollectedAudit, started
from testkit.edge import HandAuthorizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED
ALICE = request_of("alice", api_key=3)
ORDERS = topic("orders")
TWO = [Action(READ, ORDERS), Action(DESCRIBE, ORDERS)]
BINDING = allow("alice", READ, ORDERS)


class Plugin(HandAuthorizer):
    """Does in each method what the test says."""

    def __init__(self, does: Callable[..., Any]) -> None:
        super().__init__(does)
        self.does = does
        self.closed = 0

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


def test_good_answers_come_through() -> None:
    """The very list that the authorizer made."""
    answers = [DENIED, ALLOWED]

    assert guarded(gives(answers)).authorize(ALICE, TWO) is answers
    assert guarded(gives([])).authorize(ALICE, []) == []


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
        None,
        True,
        ALLOWED,
        "AA",
        [],
        [ALLOWED],
        [ALLOWED] * 3,
        [ALLOWED, True],
        [ALLOWED, None],
        ["ALLOWED", "ALLOWED"],
        (each for each in (ALLOWED, ALLOWED)),
        {0: ALLOWED, 1: ALLOWED},
    ],
    ids=repr,
)
def test_other_answers_allow_nothing(answers: Any) -> None:
    """Whatever is not one of the two results for each action fails the request with -1."""
    with pytest.raises(AuthorizerFault) as caught:
        guarded(gives(answers)).authorize(ALICE, TWO)

    assert answer_of(caught.value) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert caught.value.authorizer == f"{__name__}.Plugin"


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (RuntimeError("secret"), (ErrorCode.UNKNOWN_SERVER_ERROR, None)),
        (SystemExit(3), (ErrorCode.UNKNOWN_SERVER_ERROR, None)),
        (asyncio.CancelledError(), (ErrorCode.UNKNOWN_SERVER_ERROR, None)),
        (
            ApiError(ErrorCode.POLICY_VIOLATION, "not on Sundays"),
            (ErrorCode.POLICY_VIOLATION, "not on Sundays"),
        ),
    ],
)
async def test_what_it_raises_is_answered_and_named(
    error: BaseException, answer: tuple[ErrorCode, str | None]
) -> None:
    """An ApiError keeps its code and text; anything else is -1 without one. All name it."""
    guard = guarded(raises(error))
    calls: list[Callable[[], object]] = [
        lambda: guard.authorize(ALICE, TWO),
        lambda: guard.acls(ANY_BINDING),
        lambda: guard.create_acls(ALICE, [BINDING]),
        lambda: guard.delete_acls(None, [ANY_BINDING]),
        lambda: guard.authorize_by_resource_type(ALICE, READ, ResourceType.TOPIC),
        lambda: guard.authorized_operations(ALICE, [ORDERS]),
    ]
    for call in calls:
        with pytest.raises(AuthorizerFault) as caught:
            call()

        assert answer_of(caught.value) == answer
        assert str(caught.value).startswith(f"{__name__}.Plugin failed in ")


def test_an_interrupt_is_not_the_plug_ins() -> None:
    """Ctrl-C in the middle of a call still ends the process."""
    with pytest.raises(KeyboardInterrupt):
        guarded(raises(KeyboardInterrupt())).authorize(ALICE, TWO)


def test_acls_are_read_once() -> None:
    """A generator is a list afterwards; one that raises half-way gives nothing."""
    assert guarded(lambda _: (each for each in [BINDING])).acls(ANY_BINDING) == [BINDING]
    with pytest.raises(AuthorizerFault, match="the connection is gone"):
        guarded(lambda _: half_a_generator()).acls(ANY_BINDING)


def test_what_is_sorted_stays_known_as_sorted() -> None:
    """Sorted bindings come through as they are, so that nobody sorts them again."""
    found = SortedBindings([BINDING])

    assert guarded(gives(found)).acls(ANY_BINDING) is found


@pytest.mark.parametrize(
    "found",
    [
        None,
        7,
        ["orders"],
        [BINDING, None],
        [tuple(BINDING)],
        [AclBinding("orders", "alice")],  # type: ignore[arg-type]
        [BINDING._replace(pattern=ORDERS._replace(name=7))],  # type: ignore[arg-type]
    ],
)
def test_acls_are_bindings(found: Any) -> None:
    """Anything else among them fails the request as a whole."""
    with pytest.raises(AuthorizerFault):
        guarded(gives(found)).acls(ANY_BINDING)


async def test_one_awaitable_for_each_item() -> None:
    """Too few, too many, or what cannot be counted: a fault; coroutines complain of nothing."""

    async def later() -> None: ...

    for found in (None, 7, [], [later(), later()]):
        with pytest.raises(AuthorizerFault):
            guarded(gives(found)).delete_acls(ALICE, [ANY_BINDING])
    future = completed(AclDeleteResult())
    assert guarded(gives(iter([future]))).delete_acls(ALICE, [ANY_BINDING]) == [future]


@pytest.mark.parametrize("masks", [None, [], [True], [1.0], [1 << AclOperation.CREATE_TOKENS]])
def test_masks_are_numbers_of_supported_operations(masks: Any) -> None:
    """One for each resource, without bits that its type does not have."""
    with pytest.raises(AuthorizerFault):
        guarded(gives(masks)).authorized_operations(ALICE, [ORDERS])
    assert guarded(gives([1 << READ])).authorized_operations(ALICE, [ORDERS]) == [1 << READ]


def test_a_type_is_answered_by_one_result() -> None:
    """True is no result."""
    ask = (ALICE, READ, ResourceType.TOPIC)

    assert guarded(gives(DENIED)).authorize_by_resource_type(*ask) is DENIED
    with pytest.raises(AuthorizerFault):
        guarded(gives(True)).authorize_by_resource_type(*ask)


def test_a_count_that_is_none_is_unknown(caplog: pytest.LogCaptureFixture) -> None:
    """-1 for what is no number, and for what raises, which is logged."""
    assert guarded(gives(7)).acl_count() == 7
    assert guarded(gives("7")).acl_count() == -1
    assert caplog.records == []
    assert guarded(raises(OSError("gone"))).acl_count() == -1
    assert "Plugin failed in acl_count: OSError: gone" in caplog.text


def test_closed_once(caplog: pytest.LogCaptureFixture) -> None:
    """However often it is asked for; what it raises is logged and stops nothing."""
    guard = guarded(raises(SystemExit(1)))

    guard.close()
    guard.close()

    assert isinstance(guard.inner, Plugin)
    assert guard.inner.closed == 1
    assert "did not close" in caplog.text


def test_slow_calls_are_counted_and_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """The line names who, what, for whom and the count; the next comes a minute later."""
    now = [0.0]

    def slow(*_: Any) -> list[AuthorizationResult]:
        now[0] += 0.25
        return [ALLOWED, ALLOWED]

    guard = guarded(slow, slow_ms=100, clock=lambda: now[0])
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            guard.authorize(ALICE, TWO)
        assert (guard.slow_calls, len(caplog.records)) == (3, 1)
        now[0] += 60
        guard.authorize(ALICE, TWO)

    first, second = (record.getMessage() for record in caplog.records)
    assert f"{__name__}.Plugin took 250 ms in authorize for Metadata of User:alice" in first
    assert f"correlation id {ALICE.correlation_id}," in first
    assert second.endswith("slow calls since the start: 4")


def test_quick_calls_are_not_counted() -> None:
    """A call of exactly the time is not slow."""
    now = iter([0.0, 0.1, 1.0, 1.1])

    guard = guarded(gives([ALLOWED, ALLOWED]), slow_ms=100, clock=lambda: next(now))
    guard.authorize(ALICE, TWO)

    assert guard.slow_calls == 0


async def test_the_rest_is_handed_on() -> None:
    """Start and configuration are the start's affair; a guard has the name of what it guards."""
    guard = guarded(gives(None))
    guard.configure({})

    assert guard.start(SERVER) == {}
    assert name_of(guard) == name_of(guard.inner) == f"{__name__}.Plugin"


async def test_what_a_plug_in_decides_from_is_not_known() -> None:
    """Only of the standard authorizer it is, and not where each decision is recorded."""
    standard = GuardedAuthorizer(await started())
    recorded = GuardedAuthorizer(await started())
    recorded.decided = lambda *_: None

    assert GuardedAuthorizer(Plugin(lambda: None)).decided_from() is None
    assert standard.decided_from() is not None
    assert recorded.decided_from() is None


async def test_lines_about_decisions_are_those_of_the_authorizer() -> None:
    """A plug-in counts none."""
    inner = await started(audit=CollectedAudit())
    guarded = GuardedAuthorizer(inner)

    guarded.authorize(ALICE, TWO)

    assert guarded.traces == 2
    assert GuardedAuthorizer(Plugin(lambda: None)).traces == 0


async def test_decisions_are_told_and_told_again() -> None:
    """Who keeps a record is told of each answer, which is held while somebody wants to tell it
    again; where that can be done it is known what it is decided from."""
    guarded = GuardedAuthorizer(await started())
    found: list[object] = []
    said: list[Told] = []

    def decided(*once: Any) -> Told:
        found.append(once)
        said.append(Told(once))
        return said[-1]

    guarded.decided = decided
    guarded.told_again = lambda told, id_bytes: found.append((told, id_bytes))
    guarded.told = []
    context, actions = request_of("root"), [Action(READ, topic("a"))]

    results = guarded.authorize(context, actions)
    guarded.decided = lambda *_: None
    guarded.authorize(context, actions)

    assert found == [(context, actions, results)]
    assert guarded.told == said
    (told,) = said
    assert (told.context, told.actions, told.results) == (context, actions, results)
    assert guarded.decided_from() is not None


@pytest.mark.parametrize("name", ["x" * 32_768, "a\udcff"])
async def test_what_no_answer_could_carry_is_not_created(name: str) -> None:
    """Neither by the server's authorizer nor by a plug-in; what stands beside it is created."""
    asked: list[list[AclBinding]] = []

    def create(_context: object, bindings: list[AclBinding]) -> list[Any]:
        asked.append(bindings)
        return [completed(AclCreateResult()) for _ in bindings]

    plugin = Plugin(lambda *_: [])
    plugin.create_acls = create  # type: ignore[method-assign,assignment]
    other = allow("bob", READ, ORDERS)
    bindings = [BINDING, allow("alice", READ, topic(name)), other]

    found: list[Any] = GuardedAuthorizer(plugin).create_acls(None, bindings)
    results = [await each for each in found]

    assert asked == [[BINDING, other]]
    errors = [each.error for each in results]
    assert (errors[0], errors[2]) == (None, None)
    assert errors[1] is not None
    assert errors[1].code is ErrorCode.INVALID_REQUEST


async def test_results_beside_a_refused_one_are_counted() -> None:
    """A plug-in that gives one too few, or one too many, does not have them mixed up."""
    bindings = [BINDING, allow("alice", READ, topic("x" * 32_768))]
    for count in (0, 2):
        plugin = Plugin(lambda *_: [])
        given = [completed(AclCreateResult()) for _ in range(count)]
        plugin.create_acls = lambda *_, given=given: given  # type: ignore[method-assign]

        with pytest.raises(AuthorizerFault, match=f"found {count} awaitables; expected are 1"):
            GuardedAuthorizer(plugin).create_acls(None, bindings)
