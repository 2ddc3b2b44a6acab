"""ExpireDelegationToken: what the handler checks, and how the answer looks."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.expire_delegation_token import API
from doorkeeper.tokens.model import Expiration
from doorkeeper_wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from testkit.delegation_tokens import BOB, NOT_ALLOWED, TOKEN, asked, signed
from testkit.nodes import arguments, node_of, on_the_wire

VERSIONS = range(3)
REQUEST = ExpireDelegationTokenRequest(hmac=b"hmac", expiry_time_period_ms=-1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_wish_is_handed_on(version: int) -> None:
    """With the caller: the shell knows the tokens."""
    made = asked(API, REQUEST, await node_of(), version, BOB)

    assert isinstance(made, Update)
    assert arguments(made)[0] == Expiration(b"hmac", -1, BOB)
    answer = on_the_wire(made.respond([signed(TOKEN)]), version)
    assert (answer.error_code, answer.expiry_timestamp_ms) == (0, TOKEN.expiry_ms)


@pytest.mark.parametrize("code", [62, 63, 66])
async def test_a_refusal_has_no_time(code: int) -> None:
    """A broker's controller leaves it at 0."""
    made = asked(API, REQUEST, await node_of(), 2)

    answer = on_the_wire(made.respond([ApiError(ErrorCode(code))]), 2)

    assert (answer.error_code, answer.expiry_timestamp_ms) == (code, 0)


@pytest.mark.parametrize("version", VERSIONS)
async def test_without_a_secret_there_are_no_tokens(version: int) -> None:
    """Nobody looks for it."""
    node = await node_of()
    node.tokens.is_enabled = False

    answer = asked(API, REQUEST, node, version)

    assert (answer.error_code, answer.expiry_timestamp_ms) == (61, 0)


@pytest.mark.parametrize("circumstances", NOT_ALLOWED)
async def test_who_has_proved_nothing_is_refused_first(circumstances: dict[str, Any]) -> None:
    """With -1 as the time, where the broker itself refuses."""
    node = await node_of()
    node.tokens.is_enabled = False

    answer = asked(API, REQUEST, node, 2, **circumstances)

    assert (answer.error_code, answer.expiry_timestamp_ms) == (64, -1)


def test_an_error_of_the_whole_request_has_its_form() -> None:
    """The code, and nothing else."""
    answer = on_the_wire(API.refuse(REQUEST, 2, ApiError(ErrorCode.REQUEST_TIMED_OUT)), 2)

    assert (answer.error_code, answer.expiry_timestamp_ms) == (7, 0)
