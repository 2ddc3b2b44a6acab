"""CreateDelegationToken: who may have a token made, and for whom."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import ANONYMOUS, AclOperation, Principal
from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.create_delegation_token import API
from doorkeeper.tokens.model import NewToken
from doorkeeper_wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from testkit.acl import allow, user
from testkit.delegation_tokens import (
    ALICE,
    BOB,
    CAROL,
    NOT_ALLOWED,
    TOKEN,
    asked,
    context_of,
    signed,
)
from testkit.nodes import arguments, node_of, on_the_wire

VERSIONS = (0, 3)


def wanting(*renewers: Principal, **fields: Any) -> CreateDelegationTokenRequest:
    rows = tuple(
        CreatableRenewers(principal_type=each.principal_type, principal_name=each.name)
        for each in renewers
    )
    return CreateDelegationTokenRequest(renewers=rows, **fields)


def for_(owner: Principal, *renewers: Principal) -> CreateDelegationTokenRequest:
    return wanting(
        *renewers, owner_principal_type=owner.principal_type, owner_principal_name=owner.name
    )


def times(answer: CreateDelegationTokenResponse) -> set[int]:
    return {answer.issue_timestamp_ms, answer.expiry_timestamp_ms, answer.max_timestamp_ms}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_caller_gets_a_token_of_its_own(version: int) -> None:
    """It needs no permission."""
    made = asked(API, wanting(CAROL, max_lifetime_ms=77), await node_of(), version)

    assert isinstance(made, Update)
    assert arguments(made)[0] == NewToken(ALICE, ALICE, (CAROL,), 77)


async def test_a_token_for_somebody_else_needs_a_permission() -> None:
    """CREATE_TOKENS on the user by its whole principal; its name alone grants nothing."""
    granted = await node_of(allow("bob", AclOperation.CREATE_TOKENS, user("User:alice")))
    by_name = await node_of(allow("bob", AclOperation.CREATE_TOKENS, user("alice")))

    made = asked(API, for_(ALICE, CAROL), granted, 3, BOB)
    refused = asked(API, for_(ALICE, CAROL), by_name, 3, BOB)

    assert arguments(made)[0] == NewToken(ALICE, BOB, (CAROL,), 0)
    assert refused == CreateDelegationTokenResponse(
        error_code=65,
        principal_type="User",
        principal_name="alice",
        token_requester_principal_type="User",
        token_requester_principal_name="bob",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )
    assert len(granted.lines()) == len(by_name.lines()) == 1


async def test_a_name_without_a_type_fails() -> None:
    """As inside a broker, which then names ANONYMOUS."""
    request = wanting(owner_principal_type=None, owner_principal_name="bob")

    answer = asked(API, request, await node_of(), 3)

    assert (answer.error_code, answer.principal_name) == (-1, ANONYMOUS.name)
    assert answer.token_requester_principal_name == ANONYMOUS.name
    assert times(answer) == {-1}


@pytest.mark.parametrize("version", VERSIONS)
async def test_only_users_renew(version: int) -> None:
    """That is asked before there must be a secret; on a controller listener after it."""
    node = await node_of()
    node.tokens.is_enabled = False
    request = wanting(CAROL, Principal("Group", "admins"))

    answer = asked(API, request, node, version)
    of_controller = asked(API, request, node, version, controller=True)

    assert (answer.error_code, times(answer)) == (67, {-1})
    assert (of_controller.error_code, times(of_controller)) == (61, {0})
    node.tokens.is_enabled = True
    of_controller = asked(API, request, node, version, controller=True)
    assert (of_controller.error_code, times(of_controller)) == (67, {0})


@pytest.mark.parametrize("circumstances", NOT_ALLOWED)
async def test_who_has_proved_nothing_is_refused_first(circumstances: dict[str, Any]) -> None:
    """Before any permission is looked at."""
    node = await node_of()
    node.tokens.is_enabled = False

    answer = asked(API, for_(BOB, Principal("Group", "x")), node, 3, **circumstances)

    assert (answer.error_code, times(answer)) == (64, {-1})
    assert node.lines() == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_token_is_told(version: int) -> None:
    """With its HMAC; from version 3 on with who asked for it."""
    made = asked(API, wanting(), await node_of(), version)

    answer = on_the_wire(made.respond([signed(TOKEN)]), version)
    failed = on_the_wire(made.respond([ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "x")]), version)

    assert (answer.error_code, answer.token_id) == (0, TOKEN.token_id)
    assert answer.hmac == signed(TOKEN).hmac
    assert times(answer) == {TOKEN.issue_ms, TOKEN.expiry_ms, TOKEN.max_ms}
    assert answer.token_requester_principal_name == ("alice" if version == 3 else "")
    assert (failed.error_code, failed.hmac, failed.principal_name) == (56, b"", "alice")


@pytest.mark.parametrize("version", VERSIONS)
async def test_names_that_no_answer_carries_are_refused(version: int) -> None:
    """A byte that is no UTF-8 is read as a character of three: no token is made with it."""
    grown = Principal("User", "\ufffd" * 10_923)
    longest = Principal("User", "x" * 32_767)
    node = await node_of(allow("alice", AclOperation.CREATE_TOKENS, user("*")))
    context = context_of(API, version, ALICE)

    for request in (wanting(CAROL, grown), for_(grown, CAROL)):
        with pytest.raises(ApiError) as caught:
            API.handle(request, context, node)
        assert caught.value.code is ErrorCode.INVALID_REQUEST
    assert isinstance(asked(API, wanting(longest), node, version), Update)
