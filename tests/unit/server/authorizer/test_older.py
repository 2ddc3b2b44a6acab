"""Authorizers with the interface that Kafka had before KIP-504."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.model import AclOperation, PatternType, Principal, ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.authorizer.older import OlderAuthorizer, Session, has_older_interface, wrap
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from testkit.acl import DESCRIBE, PREFIXED, READ, WRITE, allow, deny, request_of, topic, wanted
from testkit.authorizers import SERVER
from testkit.older import OlderInMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclBinding

ORDERS, BILLS, BY_PREFIX = topic("orders"), topic("bills"), topic("or", PREFIXED)
A = allow("alice", READ, ORDERS)
B = allow("bob", READ, ORDERS)
C = deny("alice", WRITE, BILLS)
D = allow("alice", DESCRIBE, BY_PREFIX)
ALL = (A, B, C, D)


async def held(*bindings: AclBinding) -> OlderAuthorizer:
    authorizer = OlderAuthorizer(OlderInMemory())
    authorizer.configure({})
    results = [await each for each in authorizer.create_acls(None, bindings)]
    assert all(result.error is None for result in results)
    return authorizer


def deleted(outcome: Any) -> set[AclBinding]:
    assert outcome.error is None
    return {each.binding for each in outcome.bindings if each.error is None}


def test_interface_is_detected_by_its_methods() -> None:
    made = wrap(OlderInMemory)

    assert has_older_interface(OlderInMemory)
    assert not has_older_interface(OlderInMemory())
    assert not has_older_interface(StandardAuthorizer)
    assert not has_older_interface(dict)
    assert (made.__module__, made.__name__) == ("testkit.older", "OlderInMemory")
    assert isinstance(made(), OlderAuthorizer)


async def test_session_has_principal_and_host() -> None:
    authorizer = await held(A)
    actions = [Action(READ, ORDERS), Action(WRITE, ORDERS), Action(READ, ORDERS)]

    answers = authorizer.authorize(request_of("alice", host="10.0.0.9"), actions)

    allowed, denied = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED
    assert answers == [allowed, denied, allowed]
    session = Session(Principal("User", "alice"), "10.0.0.9")
    assert authorizer.older.asked == [
        (session, READ, ORDERS),
        (session, WRITE, ORDERS),
        (session, READ, ORDERS),
    ]


@pytest.mark.parametrize("answer", [None, 1, "True", AuthorizationResult.ALLOWED])
async def test_only_true_allows(answer: object) -> None:
    """What merely looks true is an error, which fails the request."""
    authorizer = await held(A)
    authorizer.older.authorize = lambda *_: answer

    with pytest.raises(TypeError, match="expected: True or False"):
        authorizer.authorize(request_of("alice"), [Action(READ, ORDERS)])


@pytest.mark.parametrize(
    ("filters", "gone", "calls"),
    [
        ([wanted(principal="User:bob")], [{B}], [(frozenset({B.entry}), ORDERS)]),
        ([wanted(principal="User:bob"), wanted(ResourceType.TOPIC, "orders", PatternType.MATCH)],
         [{B}, {A, B, D}], [(None, ORDERS), (None, BY_PREFIX)]),
        ([wanted(ResourceType.GROUP)], [set()], []),
    ],
)  # fmt: skip
async def test_removed_acls_are_reported(
    filters: Sequence[Any], gone: list[set[AclBinding]], calls: list[Any]
) -> None:
    """Some ACLs of a resource, or all of them with one call; each goes once."""
    authorizer = await held(*ALL, A)
    assert authorizer.acl_count() == len(ALL)

    outcomes = [await each for each in authorizer.delete_acls(None, filters)]

    assert [deleted(each) for each in outcomes] == gone
    assert set(authorizer.acls(wanted())) == set(ALL).difference(*gone)
    assert sorted(authorizer.older.removed, key=repr) == sorted(calls, key=repr)


async def test_acls_that_were_not_removed_are_not_reported() -> None:
    authorizer = await held(A)
    authorizer.older.remove_acls = lambda acls, resource: False

    (outcome,) = [await each for each in authorizer.delete_acls(None, [wanted()])]

    assert outcome == (None, ())


def fails(error: Exception) -> Callable[..., Any]:
    def failing(*_: Any, **__: Any) -> Any:
        raise error

    return failing


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("gone"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ApiError(ErrorCode.POLICY_VIOLATION), ErrorCode.POLICY_VIOLATION),
    ],
)
async def test_each_item_has_its_own_result(error: Exception, code: ErrorCode) -> None:
    """A refusal, a failure and a success in one request; the same for removals."""
    authorizer = await held(A, C)
    add = authorizer.older.add_acls

    def added(acls: Any, resource: Any) -> None:
        if resource == BILLS:
            raise error
        add(acls, resource)

    authorizer.older.add_acls = added
    odd = allow("alice", AclOperation.ANY, ORDERS)
    created = [await each for each in authorizer.create_acls(None, [odd, C, B])]
    assert [each.error and each.error.code for each in created] == [42, code, None]

    authorizer.older.remove_acls = fails(error)
    unknown = wanted(ResourceType.UNKNOWN)
    outcomes = [await each for each in authorizer.delete_acls(None, [unknown, wanted()])]
    assert outcomes[0].error is not None
    assert outcomes[0].error.code == 42
    assert [each.error and each.error.code for each in outcomes[1].bindings] == [code] * 3

    authorizer.older.get_acls = fails(error)
    outcomes = [await each for each in authorizer.delete_acls(None, [unknown, wanted()])]
    assert [each.error and each.error.code for each in outcomes] == [42, code]


async def test_failure_is_logged_with_its_request(caplog: pytest.LogCaptureFixture) -> None:
    authorizer = await held()
    authorizer.older.add_acls = fails(RuntimeError("gone"))

    for context in (request_of("admin"), None):
        for each in authorizer.create_acls(context, [A]):
            await each

    told = f"{type(authorizer.older).__module__}.{type(authorizer.older).__qualname__} failed in"
    number = request_of("admin").correlation_id
    assert caplog.messages == [f"{told} add_acls, correlation id {number}", f"{told} add_acls"]


@pytest.mark.parametrize(
    ("asked", "found", "call"),
    [
        (wanted(), set(ALL), {}),
        (wanted(ResourceType.TOPIC, "orders", PatternType.LITERAL), {A, B}, {"resource": ORDERS}),
        (
            wanted(ResourceType.TOPIC, "orders", PatternType.LITERAL, principal="User:bob"),
            {B},
            {"resource": ORDERS},
        ),
        (wanted(principal="User:alice"), {A, C, D}, {"principal": Principal("User", "alice")}),
        (wanted(principal="nobody"), set(), {}),
        (wanted(ResourceType.TOPIC, "orders", PatternType.MATCH), {A, B, D}, {}),
    ],
)
async def test_acls_are_queried_narrowly(
    asked: Any, found: set[AclBinding], call: dict[str, Any]
) -> None:
    """By resource, by principal, or all; then the filter decides."""
    authorizer = await held(*ALL)
    authorizer.older.listed.clear()

    assert set(authorizer.acls(asked)) == found
    assert authorizer.older.listed == [call]


@pytest.mark.parametrize("found", [{ORDERS: {"READ"}}, {"orders": {A.entry}}])
async def test_listed_acls_are_checked(found: Any) -> None:
    authorizer = await held()
    authorizer.older.get_acls = lambda **_: found

    with pytest.raises(TypeError, match="get_acls returned"):
        list(authorizer.acls(wanted()))


async def test_initialize_and_close_are_optional() -> None:
    class Bare:
        authorize = add_acls = remove_acls = get_acls = fails(OSError())

    bare, full = OlderAuthorizer(Bare()), OlderAuthorizer(OlderInMemory())
    for each in (bare, full):
        each.configure({"a": "b"})
        assert each.start(SERVER) == {}
        each.close()

    assert full.older.configs == {"a": "b"}
    assert full.older.closed
