"""Delegation tokens: who gets, sees, renews and expires them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import ANONYMOUS, AclOperation, Principal
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.tokens import Expiration, NewToken, Renewal
from doorkeeper_wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from doorkeeper_wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from doorkeeper_wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from doorkeeper_wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from testkit.acl import allow, token, user
from testkit.delegation_tokens import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    NOT_ALLOWED,
    TOKEN,
    asked,
    context_of,
    signed,
)
from testkit.nodes import ANode, arguments, node_of, on_the_wire
from testkit.plans import RecordingServices

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api


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
async def test_caller_creates_its_own_token(version: int) -> None:
    made = asked(
        create_delegation_token.API, wanting(CAROL, max_lifetime_ms=77), await node_of(), version
    )

    assert isinstance(made, Update)
    assert arguments(made)[0] == NewToken(ALICE, ALICE, (CAROL,), 77)


async def test_token_for_another_owner_requires_create_tokens() -> None:
    granted = await node_of(allow("bob", AclOperation.CREATE_TOKENS, user("User:alice")))
    by_name = await node_of(allow("bob", AclOperation.CREATE_TOKENS, user("alice")))

    made = asked(create_delegation_token.API, for_(ALICE, CAROL), granted, 3, BOB)
    refused = asked(create_delegation_token.API, for_(ALICE, CAROL), by_name, 3, BOB)

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


async def test_owner_without_type_fails() -> None:
    request = wanting(owner_principal_type=None, owner_principal_name="bob")

    answer = asked(create_delegation_token.API, request, await node_of(), 3)

    assert (answer.error_code, answer.principal_name) == (-1, ANONYMOUS.name)
    assert answer.token_requester_principal_name == ANONYMOUS.name
    assert times(answer) == {-1}


@pytest.mark.parametrize("version", VERSIONS)
async def test_renewers_must_be_users(version: int) -> None:
    node = await node_of()
    node.tokens.is_enabled = False
    request = wanting(CAROL, Principal("Group", "admins"))

    answer = asked(create_delegation_token.API, request, node, version)
    of_controller = asked(create_delegation_token.API, request, node, version, controller=True)

    assert (answer.error_code, times(answer)) == (67, {-1})
    assert (of_controller.error_code, times(of_controller)) == (61, {0})
    node.tokens.is_enabled = True
    of_controller = asked(create_delegation_token.API, request, node, version, controller=True)
    assert (of_controller.error_code, times(of_controller)) == (67, {0})


@pytest.mark.parametrize("circumstances", NOT_ALLOWED)
async def test_unauthenticated_callers_are_rejected_first(circumstances: dict[str, Any]) -> None:
    node = await node_of()
    node.tokens.is_enabled = False

    answer = asked(
        create_delegation_token.API, for_(BOB, Principal("Group", "x")), node, 3, **circumstances
    )

    assert (answer.error_code, times(answer)) == (64, {-1})
    assert node.lines() == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_response_contains_the_token(version: int) -> None:
    """With its HMAC; from version 3 on with who asked for it."""
    made = asked(create_delegation_token.API, wanting(), await node_of(), version)

    services: Any = RecordingServices(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "x"))
    answer = on_the_wire(made.respond(signed(TOKEN)), version)
    failed = on_the_wire(made.respond(await made.apply(services)), version)

    assert (answer.error_code, answer.token_id) == (0, TOKEN.token_id)
    assert answer.hmac == signed(TOKEN).hmac
    assert times(answer) == {TOKEN.issue_ms, TOKEN.expiry_ms, TOKEN.max_ms}
    assert answer.token_requester_principal_name == ("alice" if version == 3 else "")
    assert (failed.error_code, failed.hmac, failed.principal_name) == (56, b"", "alice")


@pytest.mark.parametrize("version", VERSIONS)
async def test_unencodable_names_are_rejected(version: int) -> None:
    """A byte that is no UTF-8 is read as a character of three: no token is made with it."""
    grown = Principal("User", "\ufffd" * 10_923)
    longest = Principal("User", "x" * 32_767)
    node = await node_of(allow("alice", AclOperation.CREATE_TOKENS, user("*")))
    context = context_of(create_delegation_token.API, version, ALICE)

    for request in (wanting(CAROL, grown), for_(grown, CAROL)):
        with pytest.raises(ApiError) as caught:
            create_delegation_token.API.handle(request, context, node)
        assert caught.value.code is ErrorCode.INVALID_REQUEST
    assert isinstance(asked(create_delegation_token.API, wanting(longest), node, version), Update)


OTHER = replace(TOKEN, token_id="id-of-daves", owner=DAVE, requester=DAVE, renewers=())


def owners(*principals: Principal) -> DescribeDelegationTokenRequest:
    rows = tuple(
        DescribeDelegationTokenOwner(principal_type=each.principal_type, principal_name=each.name)
        for each in principals
    )
    return DescribeDelegationTokenRequest(owners=rows)


ALL = DescribeDelegationTokenRequest(owners=None)


async def world(*bindings: Any) -> ANode:
    node = await node_of(*bindings)
    node.tokens.given = [signed(TOKEN), signed(OTHER)]
    return node


def ids(answer: Any) -> list[str]:
    assert answer.error_code == 0
    return [each.token_id for each in answer.tokens]


@pytest.mark.parametrize("caller", [ALICE, BOB, CAROL])
async def test_owner_requester_and_renewers_see_a_token(caller: Principal) -> None:
    node = await world()

    assert ids(asked(describe_delegation_token.API, owners(caller), node, 3, caller)) == [
        TOKEN.token_id
    ]
    assert node.lines() == []


async def test_other_callers_require_describe() -> None:
    node = await world(
        allow("by-id", AclOperation.DESCRIBE, token(OTHER.token_id)),
        allow("by-owner", AclOperation.DESCRIBE_TOKENS, user("User:dave")),
        allow("by-name", AclOperation.DESCRIBE_TOKENS, user("dave")),
    )

    seen = [
        ids(asked(describe_delegation_token.API, ALL, node, 3, Principal("User", name)))
        for name in ("by-id", "by-owner", "by-name", "eve")
    ]

    assert seen == [[OTHER.token_id], [OTHER.token_id], [], []]


async def test_owner_filter_limits_the_response() -> None:
    node = await world()
    admin = Principal("User", "admin")

    assert ids(asked(describe_delegation_token.API, ALL, node, 3, admin)) == [
        TOKEN.token_id,
        OTHER.token_id,
    ]
    assert ids(asked(describe_delegation_token.API, owners(), node, 3, admin)) == []
    assert ids(asked(describe_delegation_token.API, owners(DAVE), node, 3, admin)) == [
        OTHER.token_id
    ]
    assert ids(asked(describe_delegation_token.API, owners(CAROL, DAVE), node, 3, admin)) == [
        TOKEN.token_id,
        OTHER.token_id,
    ]
    assert (
        ids(
            asked(describe_delegation_token.API, owners(Principal("Group", "dave")), node, 3, admin)
        )
        == []
    )


class CountedName(str):
    """A name that counts how often one looks at it, by its hash or by comparing it."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        CountedName.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        CountedName.looks += 1
        return super().__eq__(other)


@pytest.mark.parametrize("owner_count", [1, 1_000])
async def test_many_owners_do_not_slow_the_request(owner_count: int) -> None:
    node = await world()
    renewers = tuple(Principal("User", CountedName(f"renewer-{n}")) for n in range(20))
    many = [replace(TOKEN, token_id=f"id-{n}", owner=DAVE, renewers=renewers) for n in range(200)]
    node.tokens.given = [signed(each) for each in many]
    request = owners(*(Principal("User", f"owner-{number}") for number in range(owner_count)))

    CountedName.looks = 0
    assert ids(asked(describe_delegation_token.API, request, node, 3, ALICE)) == []
    assert CountedName.looks == 200 * 20


@pytest.mark.parametrize("request_", [ALL, owners()])
async def test_describe_rejections_precede_token_lookup(
    request_: DescribeDelegationTokenRequest,
) -> None:
    """64 for who may not ask here, before 61 for a node without a secret."""
    node = await world()
    node.tokens.is_enabled = False

    for circumstances in NOT_ALLOWED:
        assert (
            asked(describe_delegation_token.API, request_, node, 3, **circumstances).error_code
            == 64
        )
    assert asked(describe_delegation_token.API, request_, node, 3).error_code == 61


async def test_controller_does_not_support_describe() -> None:
    answer = asked(describe_delegation_token.API, ALL, await world(), 3, controller=True)

    assert (answer.error_code, answer.tokens) == (-1, ())


ALTERATION_VERSIONS = (0, 2)
EXPIRE = ExpireDelegationTokenRequest(hmac=b"hmac", expiry_time_period_ms=-1)
RENEW = RenewDelegationTokenRequest(hmac=b"hmac", renew_period_ms=-1)

ALTERATIONS = pytest.mark.parametrize(
    ("api", "request_", "change"),
    [
        pytest.param(expire_delegation_token.API, EXPIRE, Expiration, id="expire"),
        pytest.param(renew_delegation_token.API, RENEW, Renewal, id="renew"),
    ],
)


@ALTERATIONS
@pytest.mark.parametrize("version", ALTERATION_VERSIONS)
async def test_renewal_and_expiration_are_submitted(
    api: Api, request_: Any, change: type[Any], version: int
) -> None:
    """With the caller: the shell knows the tokens."""
    made = asked(api, request_, await node_of(), version, BOB)

    assert isinstance(made, Update)
    services: Any = RecordingServices(signed(TOKEN))
    answer = on_the_wire(made.respond(await made.apply(services)), version)
    assert services.asked == [change(b"hmac", -1, BOB)]
    assert (answer.error_code, answer.expiry_timestamp_ms) == (0, TOKEN.expiry_ms)


@ALTERATIONS
@pytest.mark.parametrize("code", [62, 63, 66])
async def test_rejected_alteration_has_no_time(
    api: Api, request_: Any, change: type[Any], code: int
) -> None:
    """A broker's controller leaves it at 0."""
    answer = on_the_wire(api.refuse(request_, 2, ApiError(ErrorCode(code))), 2)

    assert (answer.error_code, answer.expiry_timestamp_ms) == (code, 0)


@ALTERATIONS
@pytest.mark.parametrize("circumstances", [*NOT_ALLOWED, None])
async def test_alteration_rejections_precede_token_lookup(
    api: Api, request_: Any, change: type[Any], circumstances: dict[str, Any] | None
) -> None:
    """64 and -1 as the time for who may not ask here, before 61 for a node without a secret."""
    node = await node_of()
    node.tokens.is_enabled = False

    answer = asked(api, request_, node, 2, **(circumstances or {}))

    expected = (61, 0) if circumstances is None else (64, -1)
    assert (answer.error_code, answer.expiry_timestamp_ms) == expected
