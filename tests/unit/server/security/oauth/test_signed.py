"""Tokens that an identity provider has signed."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth.jwks import parse
from doorkeeper.server.security.oauth.signed import ClaimRules, SignedTokens
from testkit.tokens import NOW_MS, NOW_S, encoded, key_of, key_set, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from doorkeeper.server.security.oauth.jwks import KeySet

CLAIMS = {"sub": "alice", "iat": NOW_S - 10, "exp": NOW_S + 10}
ALGORITHMS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    "ES384": "P-384",
    "ES512": "P-521",
    "EdDSA": "Ed25519",
}


class Keys:
    """A source of keys; ``newer`` are those that it has when it looks again."""

    def __init__(self, keys: bytes, newer: bytes | None = None) -> None:
        self.keys: KeySet = parse(keys)
        self._newer = newer
        self.asked = 0

    def fetch_newer(self) -> Awaitable[None] | None:
        self.asked += 1
        return None if self._newer is None else self._look(self._newer)

    async def _look(self, newer: bytes) -> None:
        self.keys = parse(newer)


EC = Keys(key_set(key_of("EC", "k")))


def checked(token: str, keys: Keys = EC, **rules: Any) -> ValidatedToken:
    found = SignedTokens(keys, ClaimRules(**rules), lambda: NOW_MS)(token)
    assert isinstance(found, ValidatedToken)
    return found


def of(**claims: Any) -> str:
    """Return a good token, but for these claims; None leaves one out."""
    members = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    return signed(members, key_of("EC", "k"), "ES256")


@pytest.mark.parametrize(("algorithm", "kind"), ALGORITHMS.items())
def test_each_algorithm_is_accepted(algorithm: str, kind: str) -> None:
    key = key_of(kind, "k")

    found = checked(signed(CLAIMS, key, algorithm), Keys(key_set(key)))

    assert found == ValidatedToken("alice", (NOW_S + 10) * 1000, CLAIMS)


def test_token_without_key_id_tries_matching_keys() -> None:
    keys = Keys(key_set(key_of("EC", "a"), key_of("RSA", "b"), key_of("EC", "k")))
    token = signed(CLAIMS, key_of("EC"), "ES256")

    with pytest.raises(TokenRefused, match="signature is wrong"):
        checked(token, keys)
    assert checked(token, Keys(key_set(key_of("EC", "a"), key_of("EC")))).principal_name == "alice"


def confused() -> str:
    """Return a token signed with the public key as if it were a shared secret."""
    secret = key_of("RSA", "k").as_pem(private=False)  # type: ignore[union-attr]  # RSA has it
    text = f"{encoded({'alg': 'HS256', 'kid': 'k'})}.{encoded(CLAIMS)}"
    return f"{text}.{encoded(hmac.digest(secret, text.encode(), 'sha256'))}"


FORGED = {
    "no signature": unsigned(CLAIMS),
    "no signature, with its key": unsigned(CLAIMS, {"alg": "none", "kid": "k"}) + "x",
    "another key": signed(CLAIMS, key_of("EC"), "ES256", kid="k"),
    "a public key as a secret": confused(),
    "a shared secret": signed(CLAIMS, key_of("oct", "k"), "HS256"),
    "a key that is not here": signed(CLAIMS, key_of("EC"), "ES256", kid="other"),
    "a key of another kind": signed(CLAIMS, key_of("RSA", "k"), "RS256"),
    "a critical header": signed(CLAIMS, key_of("EC", "k"), "ES256", crit=["exp"], exp=1),
    "a compressed payload": signed(CLAIMS, key_of("EC", "k"), "ES256", zip="DEF"),
    "an id that is no text": signed(CLAIMS, key_of("EC"), "ES256", kid="7").replace(
        encoded({"alg": "ES256", "kid": "7"}), encoded({"alg": "ES256", "kid": 7})
    ),
    "other claims": of().replace(encoded(CLAIMS), encoded(CLAIMS | {"sub": "admin"})),
    "a signature of zeros": of().rpartition(".")[0] + "." + "A" * 86,
    "no algorithm": encoded({"kid": "k"}) + "." + encoded(CLAIMS) + ".AAAA",
    "no header": "." + of().partition(".")[2],
    "no JSON": "AAAA.AAAA.AAAA",
}


@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED)
def test_invalid_tokens_are_rejected(token: str) -> None:
    keys = Keys(key_set(key_of("EC", "k"), key_of("oct", "k")))
    keys_of_rsa = Keys(key_set(key_of("RSA", "k")))

    for source in (keys, keys_of_rsa) if token == FORGED["a public key as a secret"] else (keys,):
        with pytest.raises(TokenRefused) as refused:
            checked(token, source)
        assert refused.value.status == "invalid_token"
        assert "alice" not in str(refused.value)


def test_header_of_any_depth_makes_the_token_invalid() -> None:
    """Who has no key chooses the nesting; each parser gives up at another depth."""
    for depth in range(300, 1100):
        header = b'{"alg":"ES256","x":' + b"[" * depth + b"]" * depth + b"}"

        with pytest.raises(TokenRefused):
            checked(f"{encoded(header)}.{encoded(CLAIMS)}.{'A' * 86}")


def test_header_is_bounded_before_it_is_parsed() -> None:
    """Half a megabyte of numbers took 0.2 seconds of the loop, without any key."""
    key = key_of("EC", "k")

    assert checked(signed(CLAIMS, key, "ES256", x5c=["A" * 12_000])).principal_name == "alice"
    with pytest.raises(TokenRefused, match="at most 16384"):
        checked(signed(CLAIMS, key, "ES256", x=[1] * 6_000))


def test_payload_must_have_unique_names() -> None:
    key = key_of("EC", "k")
    twice = b'{"sub":"alice","sub":"bob","iat":0,"exp":' + str(NOW_S + 9).encode() + b"}"

    for payload in (twice, b"", b"[]", b"\xff", b"null"):
        with pytest.raises(TokenRefused):
            checked(signed(payload, key, "ES256"))


CLAIM_FAULTS: dict[str, dict[str, Any]] = {
    "no expiry": {"exp": None},
    "an expiry that is a text": {"exp": str(NOW_S + 10)},
    "an expiry out of range": {"exp": 1e300},
    "no time of issue": {"iat": None},
    "a time of issue that is negative": {"iat": -1},
    "expired": {"exp": NOW_S - 30},
    "expired before it was issued": {"iat": NOW_S + 11},
    "expired before it becomes valid": {"nbf": NOW_S + 11},
    "not valid yet": {"nbf": NOW_S + 31, "exp": NOW_S + 99},
    "no principal": {"sub": None},
    "a blank principal": {"sub": " "},
    "half a pair of surrogates": {"sub": "\ud800"},
    "a principal that is a number": {"sub": 7},
    "an audience": {"aud": "orders"},
    "an empty scope": {"scope": ""},
    "a scope twice": {"scope": ["a", " a "]},
    "a scope that is a number": {"scope": [1]},
}


@pytest.mark.parametrize("claims", CLAIM_FAULTS.values(), ids=CLAIM_FAULTS)
def test_claims_must_be_valid(claims: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused):
        checked(of(**claims))


def test_times_are_whole_seconds_with_skew() -> None:
    """Fractions are cut off, as Java's ``longValue`` does; the skew counts in both directions."""
    assert checked(of(exp=NOW_S - 29, iat=0)).expiry_ms == (NOW_S - 29) * 1000
    assert checked(of(exp=NOW_S + 10.9)).expiry_ms == (NOW_S + 10) * 1000
    assert checked(of(nbf=NOW_S + 30, exp=NOW_S + 99)).principal_name == "alice"
    with pytest.raises(TokenRefused):
        checked(of(exp=NOW_S), skew_s=0)


def test_audience_must_be_expected() -> None:
    expected: dict[str, Any] = {"audiences": frozenset({"orders", "doorkeeper"})}

    assert checked(of(aud="orders"), **expected)
    assert checked(of(aud=["x", "doorkeeper"]), **expected)
    for audience in (None, "x", [], ["x"], "orders,doorkeeper", ["orders", 1]):
        with pytest.raises(TokenRefused):
            checked(of(aud=audience), **expected)


KEY_IS_UNSET = "has an audience, and sasl.oauthbearer.expected.audience is not set"
ONLY_DOORKEEPER = frozenset({"doorkeeper"})


@pytest.mark.parametrize(
    ("audience", "expected", "said"),
    [
        ("orders", frozenset(), KEY_IS_UNSET),
        (["orders"], frozenset(), KEY_IS_UNSET),
        ("orders", ONLY_DOORKEEPER, "does not contain any of sasl.oauthbearer.expected.audience"),
        (None, ONLY_DOORKEEPER, "has no audience, and sasl.oauthbearer.expected.audience is set"),
    ],
)
def test_audience_errors_name_their_cause(
    audience: object, expected: frozenset[str], said: str
) -> None:
    with pytest.raises(TokenRefused) as refused:
        checked(of(aud=audience), audiences=expected)

    assert said in str(refused.value)


def test_issuer_must_match() -> None:
    assert checked(of(iss="https://a"), issuer="https://a")
    assert checked(of(iss="https://b"))
    for issuer in (None, "https://a/", "HTTPS://a"):
        with pytest.raises(TokenRefused):
            checked(of(iss=issuer), issuer="https://a")


async def test_unknown_key_triggers_a_refresh() -> None:
    rotated = key_set(key_of("EC", "k"), key_of("P-384", "new"))
    keys = Keys(key_set(key_of("EC", "k")), rotated)
    tokens = SignedTokens(keys, ClaimRules(), lambda: NOW_MS)

    known = tokens(of())
    later = tokens(signed(CLAIMS, key_of("P-384", "new"), "ES384"))

    assert isinstance(known, ValidatedToken)
    assert not isinstance(later, ValidatedToken)
    assert (await later).principal_name == "alice"
    assert keys.asked == 1


async def test_unknown_key_after_refresh_is_rejected() -> None:
    keys = Keys(key_set(key_of("EC", "k")), key_set(key_of("EC", "k")))
    tokens = SignedTokens(keys, ClaimRules(), lambda: NOW_MS)
    later = tokens(signed(CLAIMS, key_of("P-384", "new"), "ES384"))

    assert not isinstance(later, ValidatedToken)
    with pytest.raises(TokenRefused):
        await later


def test_token_without_key_id_triggers_no_refresh() -> None:
    keys = Keys(key_set(key_of("EC", "k")), key_set(key_of("EC", "k")))

    with pytest.raises(TokenRefused):
        checked(signed(CLAIMS, key_of("RSA"), "RS256"), keys)
    assert keys.asked == 0
