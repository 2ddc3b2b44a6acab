"""What the APIs that change delegation tokens share."""

from __future__ import annotations

import pytest

from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.renew_delegation_token import API
from doorkeeper.handlers.token_alteration import alter_token, change_token
from doorkeeper.tokens.model import Expiration, Renewal
from doorkeeper_wire.messages.renew_delegation_token import RenewDelegationTokenResponse
from testkit.delegation_tokens import ALICE, TOKEN, context_of, signed
from testkit.nodes import arguments, node_of

WISHES: list[Renewal | Expiration] = [Renewal(b"hmac", 5, ALICE), Expiration(b"hmac", 5, ALICE)]


@pytest.mark.parametrize("wish", WISHES)
async def test_an_update_awaits_the_tokens(wish: Renewal | Expiration) -> None:
    """The response, of the class that is given, has the time or the code."""
    context = context_of(API, 2, ALICE)

    update = alter_token(wish, context, await node_of(), RenewDelegationTokenResponse)

    assert isinstance(update, Update)
    assert (update.operation, update.items) == ("tokens", 1)
    assert update.apply.func is change_token  # type: ignore[attr-defined]
    assert arguments(update) == (wish, context)
    altered = RenewDelegationTokenResponse(expiry_timestamp_ms=TOKEN.expiry_ms)
    assert update.respond([signed(TOKEN)]) == altered
    refused = update.respond([ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)])
    assert refused == RenewDelegationTokenResponse(error_code=66)


async def test_who_may_not_ask_is_not_told_that_there_are_no_tokens() -> None:
    """64 comes before 61, and alone has -1 as the time."""
    node = await node_of()
    node.tokens.is_enabled = False

    first = alter_token(
        WISHES[0], context_of(API, 2, ALICE, by_token=True), node, RenewDelegationTokenResponse
    )
    second = alter_token(WISHES[0], context_of(API, 2, ALICE), node, RenewDelegationTokenResponse)

    assert first == RenewDelegationTokenResponse(error_code=64, expiry_timestamp_ms=-1)
    assert second == RenewDelegationTokenResponse(error_code=61)
