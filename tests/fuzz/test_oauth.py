"""Messages, tokens and sets of keys that nobody would write."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from doorkeeper.authn.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.authn.oauth import jwks
from doorkeeper.authn.oauth.message import InvalidMessage, parse
from doorkeeper.authn.oauth.signed import ClaimRules, SignedTokens, validate_claims
from doorkeeper.authn.oauth.unsecured import UnsecuredTokens
from testkit.fuzzing import fuzz
from testkit.tokens import (
    NOW_MS,
    NOW_S,
    encoded,
    first_message,
    key_of,
    key_set,
    signed,
    unsigned,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = "doorkeeper.authn.oauth"
MODULES = tuple(
    f"{PACKAGE}.{name}" for name in ("message", "json_text", "unsecured", "signed", "jwks")
)
CLAIMS = {
    "sub": "alice",
    "iat": NOW_S - 9,
    "exp": NOW_S + 9,
    "scope": ["a"],
    "aud": "x",
    "iss": "y",
}
KEY = key_of("EC", "k")
UNSECURED = UnsecuredTokens({"unsecuredValidatorRequiredScope": "a"}, lambda: NOW_MS)
RULES = ClaimRules(audiences=frozenset({"x"}), issuer="y")


class Keys:
    """One key."""

    keys = jwks.parse(key_set(KEY))

    def fetch_newer(self) -> None:
        """There are no newer ones."""


SIGNED = SignedTokens(Keys(), RULES, lambda: NOW_MS)


def message(data: bytes) -> None:
    """Read a first message: what is read is of the characters that it may have."""
    with suppress(InvalidMessage):
        found = parse(data)
        assert found.token.isascii()
        assert "auth" not in found.extensions


def unsecured(data: bytes) -> None:
    """Read the two parts of an unsigned token, cut at a zero byte, and then the whole as text."""
    header, _, claims = data.partition(b"\0")
    for token in (f"{encoded(header)}.{encoded(claims)}.", data.decode("latin-1")):
        with suppress(TokenRefused):
            assert UNSECURED(token).principal_name.encode()


def token(data: bytes) -> None:
    """Read a signed token, and a payload as if its signature were good; nobody gets in without."""
    with suppress(TokenRefused):
        assert not isinstance(SIGNED(data.decode("latin-1")), ValidatedToken)
    with suppress(TokenRefused):
        assert validate_claims(data, RULES, NOW_MS).principal_name.strip().encode()


def keys(data: bytes) -> None:
    """Read a set of keys."""
    with suppress(ValueError):
        assert jwks.parse(data).keys


SEEDS = (
    first_message("a.b.c", "traceId=42", authorization_id="alice"),
    b'{"alg":"none"}\0{"sub":"alice","iat":1699999991,"exp":1700000009,"scope":["a"]}',
    unsigned(CLAIMS).encode(),
    signed(CLAIMS, KEY, "ES256")[:-2].encode(),
    b'{"sub":"alice","iat":1699999991,"exp":1700000009,"aud":["x"],"iss":"y","nbf":0}',
    key_set(KEY, key_of("Ed25519")),
)


@pytest.mark.slow
@pytest.mark.parametrize("target", [message, unsecured, token, keys])
def test_any_bytes_are_read_or_refused(target: Callable[[bytes], None]) -> None:
    """Nothing but the error of a refusal comes out."""
    fuzz(target, SEEDS, modules=MODULES)
