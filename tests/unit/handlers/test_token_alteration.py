"""ExpireDelegationToken and RenewDelegationToken: checks before a change, and the responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers import expire_delegation_token, renew_delegation_token
from doorkeeper.tokens.model import Expiration, Renewal
from doorkeeper_wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from doorkeeper_wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from testkit.delegation_tokens import BOB, NOT_ALLOWED, TOKEN, asked, signed
from testkit.nodes import arguments, node_of, on_the_wire

if TYPE_CHECKING:
    from doorkeeper.api.declaration import Api

VERSIONS = (0, 2)
EXPIRE = ExpireDelegationTokenRequest(hmac=b"hmac", expiry_time_period_ms=-1)
RENEW = RenewDelegationTokenRequest(hmac=b"hmac", renew_period_ms=-1)

BOTH = pytest.mark.parametrize(
    ("api", "request_", "change"),
    [
        pytest.param(expire_delegation_token.API, EXPIRE, Expiration, id="expire"),
        pytest.param(renew_delegation_token.API, RENEW, Renewal, id="renew"),
    ],
)


@BOTH
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_wish_is_handed_on(
    api: Api, request_: Any, change: type[Any], version: int
) -> None:
    """With the caller: the shell knows the tokens."""
    made = asked(api, request_, await node_of(), version, BOB)

    assert isinstance(made, Update)
    assert arguments(made)[0] == change(b"hmac", -1, BOB)
    answer = on_the_wire(made.respond([signed(TOKEN)]), version)
    assert (answer.error_code, answer.expiry_timestamp_ms) == (0, TOKEN.expiry_ms)


@BOTH
@pytest.mark.parametrize("code", [62, 63, 66])
async def test_a_refusal_has_no_time(api: Api, request_: Any, change: type[Any], code: int) -> None:
    """A broker's controller leaves it at 0."""
    made = asked(api, request_, await node_of(), 2)

    answer = on_the_wire(made.respond([ApiError(ErrorCode(code))]), 2)

    assert (answer.error_code, answer.expiry_timestamp_ms) == (code, 0)


@BOTH
@pytest.mark.parametrize("circumstances", [*NOT_ALLOWED, None])
async def test_refusals_before_any_token_is_looked_for(
    api: Api, request_: Any, change: type[Any], circumstances: dict[str, Any] | None
) -> None:
    """64 and -1 as the time for who may not ask here, before 61 for a node without a secret."""
    node = await node_of()
    node.tokens.is_enabled = False

    answer = asked(api, request_, node, 2, **(circumstances or {}))

    expected = (61, 0) if circumstances is None else (64, -1)
    assert (answer.error_code, answer.expiry_timestamp_ms) == expected
