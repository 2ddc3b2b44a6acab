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

VERSIONS = (0, 3)
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


async def test_others_need_a_permission() -> None:
    """DESCRIBE on the token's id, else DESCRIBE_TOKENS on the owner's whole principal."""
    node = await world(
        allow("by-id", AclOperation.DESCRIBE, token(OTHER.token_id)),
        allow("by-owner", AclOperation.DESCRIBE_TOKENS, user("User:dave")),
        allow("by-name", AclOperation.DESCRIBE_TOKENS, user("dave")),
    )

    seen = [
        ids(asked(API, ALL, node, 3, Principal("User", name)))
        for name in ("by-id", "by-owner", "by-name", "eve")
    ]

    assert seen == [[OTHER.token_id], [OTHER.token_id], [], []]


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


@pytest.mark.parametrize("owner_count", [1, 1_000])
async def test_many_owners_cost_no_more_than_few(owner_count: int) -> None:
    """A hostile request names many owners; each name in the tokens is looked at once."""
    node = await world()
    renewers = tuple(Principal("User", CountedName(f"renewer-{n}")) for n in range(20))
    many = [TOKEN._replace(token_id=f"id-{n}", owner=DAVE, renewers=renewers) for n in range(200)]
    node.tokens.given = [signed(each) for each in many]
    request = owners(*(Principal("User", f"owner-{number}") for number in range(owner_count)))

    CountedName.looks = 0
    assert ids(asked(API, request, node, 3, ALICE)) == []
    assert CountedName.looks == 200 * 20


@pytest.mark.parametrize("request_", [ALL, owners()])
async def test_refusals_before_any_token_is_looked_at(
    request_: DescribeDelegationTokenRequest,
) -> None:
    """64 for who may not ask here, before 61 for a node without a secret."""
    node = await world()
    node.tokens.is_enabled = False

    for circumstances in NOT_ALLOWED:
        assert asked(API, request_, node, 3, **circumstances).error_code == 64
    assert asked(API, request_, node, 3).error_code == 61


async def test_a_controller_fails() -> None:
    """It lists the API and does not know it."""
    answer = asked(API, ALL, await world(), 3, controller=True)

    assert (answer.error_code, answer.tokens) == (-1, ())
