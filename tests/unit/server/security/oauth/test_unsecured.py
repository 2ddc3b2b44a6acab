"""Tokens without a signature."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth.unsecured import UnsecuredTokens
from testkit.tokens import NOW_MS, NOW_S, encoded, unsigned

CLAIMS = {"sub": "alice", "iat": NOW_S - 10.5, "exp": NOW_S + 10.5}


def checked(token: str, **options: str) -> ValidatedToken:
    given = {f"unsecuredValidator{name}": value for name, value in options.items()}
    return UnsecuredTokens(given, lambda: NOW_MS)(token)


def test_unsigned_token_has_principal_and_expiry() -> None:
    found = checked(unsigned(CLAIMS))

    assert found == ValidatedToken("alice", NOW_MS + 10_500, CLAIMS)


def test_principal_claim_is_configurable() -> None:
    token = unsigned(CLAIMS | {"user": "bob"})

    assert checked(token, PrincipalClaimName=" user ").principal_name == "bob"
    assert checked(token, PrincipalClaimName="  ").principal_name == "alice"


REFUSED: dict[str, str] = {
    "two parts": encoded({"alg": "none"}) + "." + encoded(CLAIMS),
    "four parts": unsigned(CLAIMS) + ".x",
    "a signature": unsigned(CLAIMS) + "sig",
    "an algorithm": unsigned(CLAIMS, {"alg": "HS256"}),
    "no algorithm": unsigned(CLAIMS, {}),
    "no JSON": unsigned(b"{"),
    "no principal": unsigned(CLAIMS | {"sub": {}}),
    "a principal that is a number": unsigned(CLAIMS | {"sub": 1}),
    "half a pair of surrogates": unsigned(b'{"sub":"\\ud800","exp":1e30}'),
    "no expiry": unsigned({"sub": "alice"}),
    "expired just now": unsigned(CLAIMS | {"exp": NOW_S}),
    "issued in the future": unsigned(CLAIMS | {"iat": NOW_S + 0.001}),
    "issued as a text": unsigned(CLAIMS | {"iat": "now"}),
    "a scope that is a number": unsigned(CLAIMS | {"scope": 1}),
}


@pytest.mark.parametrize("token", REFUSED.values(), ids=REFUSED)
def test_invalid_tokens_are_rejected(token: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        checked(token)

    assert (refused.value.status, refused.value.scope) == ("invalid_token", None)
    assert "alice" not in str(refused.value)


def test_long_tokens_are_rejected_before_they_are_parsed() -> None:
    """Half a megabyte of numbers would hold the event loop for 0.2 s, and needs no login."""
    with pytest.raises(TokenRefused, match="characters; at most 16384"):
        checked(unsigned(CLAIMS | {"x": [1] * 6000}))
    assert checked(unsigned(CLAIMS | {"x": [1] * 3000})).principal_name == "alice"


def test_clock_skew_is_configurable() -> None:
    late = unsigned(CLAIMS | {"exp": NOW_S - 1})
    early = unsigned({"sub": "a", "iat": NOW_S + 1, "exp": NOW_S + 5})

    assert checked(late, AllowableClockSkewMs="1001").expiry_ms == NOW_MS - 1000
    assert checked(early, AllowableClockSkewMs=" 1000 ").principal_name == "a"
    with pytest.raises(TokenRefused):
        checked(late, AllowableClockSkewMs="1000")
    with pytest.raises(TokenRefused):
        checked(unsigned({"sub": "a", "iat": NOW_S, "exp": NOW_S}), AllowableClockSkewMs="5000")


@pytest.mark.parametrize("scope", [None, "read write", ["reads"], []])
def test_missing_scope_is_reported(scope: Any) -> None:
    """The client is told every scope that is required, as Java prints a list."""
    token = unsigned(CLAIMS | ({} if scope is None else {"scope": scope}))

    with pytest.raises(TokenRefused) as refused:
        checked(token, RequiredScope="read  admin")

    assert refused.value.status == "insufficient_scope"
    assert refused.value.scope == "[read, admin]"


def test_missing_scope_is_reported_before_a_principal_that_is_not_unicode() -> None:
    """Kafka writes ? for half a pair of surrogates, and judges the scope."""
    with pytest.raises(TokenRefused) as refused:
        checked(unsigned(b'{"sub":"\\ud800","exp":1e30}'), RequiredScope="read")

    assert refused.value.status == "insufficient_scope"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("RequiredScope", 'a"b'),
        ("RequiredScope", "ä"),
        ("AllowableClockSkewMs", "-1"),
        ("AllowableClockSkewMs", "2147483648"),
    ],
)
def test_invalid_options_stop_the_start(option: str, value: str) -> None:
    """The error names the option; Kafka finds it when a client logs in."""
    with pytest.raises(ValueError, match=f"^unsecuredValidator{option}: found"):
        checked("", **{option: value})
