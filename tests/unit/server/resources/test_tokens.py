"""Delegation tokens as values: when they end, and who may say so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.tokens import (
    TIME_MAX,
    Expiration,
    Lifetimes,
    NewToken,
    Renewal,
    SignedToken,
    Token,
    hmac_of,
    may_ask,
)
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext

ALICE, BOB, CAROL, DAVE = (Principal("User", name) for name in ("alice", "bob", "carol", "dave"))
NOW = 1_700_000_000_000
LIFETIMES = Lifetimes(max_ms=1000, expiry_ms=100)
TOKEN = Token("id", ALICE, BOB, (CAROL,), NOW - 50, NOW + 50, NOW + 950)
GONE = replace(TOKEN, expiry_ms=NOW - 1)


@pytest.mark.parametrize(
    ("wanted_ms", "expiry_ms", "max_ms"),
    [(-1, 100, 1000), (0, 100, 1000), (500, 100, 500), (50, 50, 50), (5000, 100, 1000)],
)
def test_token_lifetime_is_the_shortest_bound(wanted_ms: int, expiry_ms: int, max_ms: int) -> None:
    new = NewToken(ALICE, BOB, (CAROL,), wanted_ms)
    endless = replace(new, max_lifetime_ms=-1).issue("id", NOW, Lifetimes(TIME_MAX, TIME_MAX))

    assert new.issue("id", NOW, LIFETIMES) == Token(
        "id", ALICE, BOB, (CAROL,), NOW, NOW + expiry_ms, NOW + max_ms
    )
    assert endless.expiry_ms == endless.max_ms == TIME_MAX


@pytest.mark.parametrize(
    ("period_ms", "expiry_ms"), [(-1, 100), (0, 100), (20, 20), (100, 100), (101, 100)]
)
@pytest.mark.parametrize("caller", [ALICE, CAROL])
def test_renewal_counts_from_now(period_ms: int, expiry_ms: int, caller: Principal) -> None:
    """A period of 0 or less stands for the server's."""
    renewed = Renewal(b"hmac", period_ms, caller).of(TOKEN, NOW, LIFETIMES)

    assert renewed == replace(TOKEN, expiry_ms=NOW + expiry_ms)


def test_renewal_is_limited_by_the_maximum_lifetime() -> None:
    renewed = Renewal(b"hmac", -1, ALICE).of(TOKEN, NOW, Lifetimes(1000, 5000))

    assert renewed.expiry_ms == TOKEN.max_ms


@pytest.mark.parametrize("token", [GONE, replace(TOKEN, max_ms=NOW - 1)])
def test_expired_token_cannot_be_renewed(token: Token) -> None:
    with pytest.raises(ApiError) as refused:
        Renewal(b"hmac", -1, DAVE).of(token, NOW, LIFETIMES)

    assert refused.value.code is ErrorCode.DELEGATION_TOKEN_EXPIRED


@pytest.mark.parametrize("caller", [BOB, DAVE, Principal("Group", "alice")])
def test_only_owner_and_renewers_may_alter(caller: Principal) -> None:
    with pytest.raises(ApiError) as renewal:
        Renewal(b"hmac", -1, caller).of(TOKEN, NOW, LIFETIMES)
    with pytest.raises(ApiError) as end:
        Expiration(b"hmac", -1, caller).of(GONE, NOW)

    assert renewal.value.code is end.value.code is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


@pytest.mark.parametrize(("period_ms", "expiry_ms"), [(0, 0), (10, 10), (9999, 950)])
def test_expiry_may_be_later_or_earlier(period_ms: int, expiry_ms: int) -> None:
    ended = Expiration(b"hmac", period_ms, CAROL).of(TOKEN, NOW)

    assert ended == replace(TOKEN, expiry_ms=NOW + expiry_ms)


def test_token_expires_immediately() -> None:
    assert Expiration(b"hmac", -1, ALICE).of(GONE, NOW) is None
    with pytest.raises(ApiError) as refused:
        Expiration(b"hmac", 0, ALICE).of(GONE, NOW)
    assert refused.value.code is ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_hmac_matches_kafka() -> None:
    """HmacSHA512 of the id under the secret."""
    found = hmac_of("key", "The quick brown fox jumps over the lazy dog").hex()

    assert found == (
        "b42af09057bac1e2d41708e48a902e09b5ff7f12ab428a4fe86653c73dd248fb"
        "82f948a549f7b791a5b41915ee4d1ec3935357e4e2317250d0372afa2ebeeb3a"
    )


def test_repr_hides_the_hmac() -> None:
    shown = repr(
        (SignedToken(TOKEN, b"hm-ac"), Renewal(b"hm-ac", 1, ALICE), Expiration(b"hm-ac", 1, ALICE))
    )

    assert "hm-ac" not in shown


@pytest.mark.parametrize(
    ("protocol", "principal", "by_token", "allowed"),
    [
        ("PLAINTEXT", ANONYMOUS, False, False),
        ("PLAINTEXT", ALICE, False, False),
        ("SSL", ANONYMOUS, False, False),
        ("SSL", ALICE, False, True),
        ("SASL_PLAINTEXT", ALICE, False, True),
        ("SASL_SSL", ANONYMOUS, False, True),
        ("SASL_SSL", ALICE, True, False),
    ],
)
def test_token_request_requires_another_authentication(
    protocol: str, principal: Principal, *, by_token: bool, allowed: bool
) -> None:
    asked = AuthorizableRequestContext("L", protocol, principal, "10.0.0.7", 38, 3, "c", 1)
    context = RequestContext(asked, "", controller_listener=False, token_authenticated=by_token)

    assert may_ask(context) is allowed
