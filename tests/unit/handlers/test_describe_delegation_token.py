"""DescribeDelegationToken: who sees which tokens."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation, Principal
from doorkeeper.handlers.describe_delegation_token import API
from doorkeeper_wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from testkit.acl import allow, token, user
from testkit.delegation_tokens import ALICE, BOB, CAROL, DAVE, NOT_ALLOWED, TOKEN, asked, signed
from testkit.nodes import ANode, node_of

VERSIONS = range(4)
OTHER = TOKEN._replace(token_id="id-of-daves", owner=DAVE, requester=DAVE, renewers=())


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


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_token_is_told_with_all_it_has(version: int) -> None:
    """The HMAC in clear; from version 3 on who asked for it."""
    (row,) = asked(API, ALL, await world(), version).tokens

    assert (row.principal_type, row.principal_name, row.token_id) == (
        "User",
        "alice",
        TOKEN.token_id,
    )
    assert row.hmac == signed(TOKEN).hmac
    assert (row.issue_timestamp, row.expiry_timestamp, row.max_timestamp) == TOKEN[4:]
    assert [(each.principal_type, each.principal_name) for each in row.renewers] == [
        ("User", "carol")
    ]
    requester = (row.token_requester_principal_type, row.token_requester_principal_name)
    assert requester == (("User", "bob") if version == 3 else ("", ""))


@pytest.mark.parametrize("caller", [ALICE, BOB, CAROL])
async def test_whom_a_token_concerns_sees_it(caller: Principal) -> None:
    """The owner, who asked for it, and who may renew it; nobody has to be asked."""
    node = await world()

    assert ids(asked(API, owners(caller), node, 3, caller)) == [TOKEN.token_id]
    assert node.lines() == []


async def test_others_see_nothing_and_no_error() -> None:
    """What may not be seen is left out."""
    assert ids(asked(API, ALL, await world(), 3, Principal("User", "eve"))) == []


async def test_a_permission_on_the_token_shows_it() -> None:
    """DESCRIBE on the token by its id."""
    eve = Principal("User", "eve")
    node = await world(allow("eve", AclOperation.DESCRIBE, token(OTHER.token_id)))

    assert ids(asked(API, ALL, node, 3, eve)) == [OTHER.token_id]


async def test_a_permission_on_the_owner_shows_it() -> None:
    """DESCRIBE_TOKENS on the user by its whole principal, asked only without the other."""
    eve = Principal("User", "eve")
    granted = await world(allow("eve", AclOperation.DESCRIBE_TOKENS, user("User:dave")))
    by_name = await world(allow("eve", AclOperation.DESCRIBE_TOKENS, user("dave")))

    assert ids(asked(API, ALL, granted, 3, eve)) == [OTHER.token_id]
    assert ids(asked(API, ALL, by_name, 3, eve)) == []
    assert len(granted.lines()) == 4


async def test_owners_narrow_what_is_told() -> None:
    """None asks for all, an empty list for none; one of them must be concerned."""
    node = await world()
    admin = Principal("User", "admin")

    assert ids(asked(API, ALL, node, 3, admin)) == [TOKEN.token_id, OTHER.token_id]
    assert ids(asked(API, owners(), node, 3, admin)) == []
    assert ids(asked(API, owners(DAVE), node, 3, admin)) == [OTHER.token_id]
    assert ids(asked(API, owners(CAROL, DAVE), node, 3, admin)) == [TOKEN.token_id, OTHER.token_id]
    assert ids(asked(API, owners(Principal("Group", "dave")), node, 3, admin)) == []


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


@pytest.mark.parametrize("owner_count", [1, 10_000])
async def test_many_owners_cost_no_more_than_few(owner_count: int) -> None:
    """Whoever may ask names 100,000 owners of many tokens: each name in them is looked at once."""
    node = await world()
    renewers = tuple(Principal("User", CountedName(f"renewer-{n}")) for n in range(20))
    many = [TOKEN._replace(token_id=f"id-{n}", owner=DAVE, renewers=renewers) for n in range(200)]
    node.tokens.given = [signed(each) for each in many]
    request = owners(*(Principal("User", f"owner-{number}") for number in range(owner_count)))

    CountedName.looks = 0
    assert ids(asked(API, request, node, 3, ALICE)) == []
    assert CountedName.looks == 200 * 20


@pytest.mark.parametrize("circumstances", NOT_ALLOWED)
async def test_who_has_proved_nothing_is_refused_first(circumstances: dict[str, Any]) -> None:
    """Before it is said whether there are tokens at all."""
    node = await world()
    node.tokens.is_enabled = False

    assert asked(API, owners(), node, 3, **circumstances).error_code == 64


@pytest.mark.parametrize("request_", [ALL, owners()])
async def test_without_a_secret_there_are_no_tokens(
    request_: DescribeDelegationTokenRequest,
) -> None:
    """Not even for nobody."""
    node = await world()
    node.tokens.is_enabled = False

    assert asked(API, request_, node, 3).error_code == 61


async def test_a_controller_fails() -> None:
    """It lists the API and does not know it."""
    answer = asked(API, ALL, await world(), 3, controller=True)

    assert (answer.error_code, answer.tokens) == (-1, ())
