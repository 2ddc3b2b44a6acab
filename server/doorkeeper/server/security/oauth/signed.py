"""Signed tokens: verifies the signature, then the claims.

Source: ``BrokerJwtValidator`` and ``ClaimValidationUtils`` of kafka-clients 4.3.1, with the rules
of the jose4j release that it uses. Refused here and accepted there: HMAC, a critical header
(``crit``), standard base64 instead of base64url.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import Final, Protocol

from cryptography.exceptions import UnsupportedAlgorithm
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode
from msgspec import Struct

from doorkeeper.base.values import LONG_MAX, trim
from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth.json_text import (
    InvalidJson,
    decode_base64url,
    json_object,
)
from doorkeeper.server.security.oauth.jwks import ALGORITHMS, KeySet, VerificationKey
from doorkeeper.server.security.oauth.subjects import (
    signed_subject,
    text_claim,
)

KEYS_TRIED_MAX: Final = 4
"""The number of keys tried for a token that names none; a verification costs 0.1 ms."""

# Parsed before the signature is verified, at 5 ms for the longest; a chain of certificates fits.
_HEADER_CHARACTERS_MAX: Final = 16_384


class KeySource(Protocol):
    """A source of verification keys."""

    @property
    def keys(self) -> KeySet: ...

    def fetch_newer(self) -> Awaitable[object] | None:
        """Fetch newer keys, since a token names an unknown one.

        Return None if there is nothing to wait for: loading is complete, or it is too soon to try
        again.
        """
        ...


class ClaimRules(Struct, frozen=True, kw_only=True):
    """The required claims.

    Without audiences a token must not have one; without issuer any is accepted.
    """

    audiences: frozenset[str] = frozenset()
    issuer: str | None = None
    scope_claim: str = "scope"
    subject_claim: str = "sub"
    skew_s: int = 30


class SignedTokens:
    """Validates signed tokens."""

    __slots__ = ("_now_ms", "_rules", "_source")

    def __init__(self, source: KeySource, rules: ClaimRules, now_ms: Callable[[], int]) -> None:
        """Use the keys of the source; ``now_ms`` is the wall clock."""
        self._source = source
        self._rules = rules
        self._now_ms = now_ms

    def __call__(self, token: str) -> ValidatedToken | Awaitable[ValidatedToken]:
        """Return the principal of a valid token; later if its key must be fetched first."""
        parts = token.split(".")
        if len(parts) != 3 or not all(parts):
            raise TokenRefused("expected a signed token: three parts separated by dots")
        kid, algorithm = _header(parts[0])
        keys = self._keys(kid, algorithm)
        # Only a named key can be missing for now: the provider may have rotated its keys since.
        if not keys and kid is not None:
            newer = self._source.fetch_newer()
            if newer is not None:
                return self._later(token, kid, algorithm, newer)
            keys = self._keys(kid, algorithm)
        return self._validate(token, algorithm, keys)

    async def _later(
        self, token: str, kid: str, algorithm: str, newer: Awaitable[object]
    ) -> ValidatedToken:
        await newer
        return self._validate(token, algorithm, self._keys(kid, algorithm))

    def _keys(self, kid: str | None, algorithm: str) -> list[VerificationKey]:
        # Bounded, because anyone who can connect may send such tokens.
        return list(islice(self._source.keys.candidates(kid, algorithm), KEYS_TRIED_MAX))

    def _validate(self, token: str, algorithm: str, keys: list[VerificationKey]) -> ValidatedToken:
        if not keys:
            raise TokenRefused("no key matches the token")
        for key in keys:
            payload = _verify(token, algorithm, key)
            if payload is not None:
                return validate_claims(payload, self._rules, self._now_ms())
        raise TokenRefused("the signature is wrong")


def validate_claims(payload: bytes, rules: ClaimRules, now_ms: int) -> ValidatedToken:
    """Validate the claims of a token whose signature is verified."""
    try:
        claims = json_object(payload)
    except InvalidJson as error:
        raise TokenRefused(str(error)) from None
    expiry_s = _check_times(claims, rules.skew_s, now_ms // 1000)
    _check_audience(claims.get("aud"), rules.audiences)
    issuer = text_claim(claims, "iss")
    if rules.issuer is not None and issuer != rules.issuer:
        raise TokenRefused(f"the issuer is not the expected one: {rules.issuer}")
    for name in ("sub", "jti"):
        text_claim(claims, name)
    _check_scope(claims.get(rules.scope_claim))
    return ValidatedToken(signed_subject(claims, rules.subject_claim), expiry_s * 1000, claims)


def _header(part: str) -> tuple[str | None, str]:
    """Return the key id, if any, and the algorithm."""
    if len(part) > _HEADER_CHARACTERS_MAX:
        raise TokenRefused(
            f"the header has {len(part)} characters; at most {_HEADER_CHARACTERS_MAX}"
        )
    try:
        header = json_object(decode_base64url(part))
    except InvalidJson as error:
        raise TokenRefused(str(error)) from None
    kid, algorithm = header.get("kid"), header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenRefused(
            f"found an algorithm that is not allowed; allowed: {', '.join(sorted(ALGORITHMS))}"
        )
    if kid is not None and not isinstance(kid, str):
        raise TokenRefused("the id of the key is not a string")
    if "crit" in header or "b64" in header:
        raise TokenRefused("the token has the header crit or b64, which is not supported")
    # A header of encrypted tokens (RFC 7516): whoever set it expects another payload.
    if "zip" in header:
        raise TokenRefused("the token has the header zip, which is not allowed in a signed token")
    return kid, algorithm


def _verify(token: str, algorithm: str, key: VerificationKey) -> bytes | None:
    """Return the payload of a token, or None if its signature is wrong."""
    # Without joserfc's parser, which fails on a header that is nested deeply by the client.
    try:
        signed, _, signature = token.encode().rpartition(b".")
        verify = JWSRegistry.algorithms[algorithm].verify
        if not verify(signed, urlsafe_b64decode(signature), key.key):
            return None
        return urlsafe_b64decode(signed.partition(b".")[2])
    except (JoseError, UnsupportedAlgorithm, ValueError, TypeError):
        return None


def _check_times(claims: Mapping[str, object], skew_s: int, now_s: int) -> int:
    """Return the expiry in seconds."""
    expiry_s, issued_s, not_before_s = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
    if expiry_s is None or issued_s is None:
        raise TokenRefused(f"the claim {'exp' if expiry_s is None else 'iat'} is missing")
    if now_s - skew_s >= expiry_s:
        raise TokenRefused("the token has expired")
    if expiry_s < issued_s or (not_before_s is not None and expiry_s < not_before_s):
        raise TokenRefused("the token expires before it becomes valid")
    if not_before_s is not None and now_s + skew_s < not_before_s:
        raise TokenRefused("the token is not valid yet")
    if issued_s < 0:
        raise TokenRefused("the claim iat is negative")
    return expiry_s


def _seconds(claims: Mapping[str, object], name: str) -> int | None:
    """Return a claim in whole seconds, truncated like Java's ``longValue``."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TokenRefused(f"the claim {name} is not a number")
    if abs(value) > LONG_MAX // 1000:
        raise TokenRefused(f"the claim {name} is out of range")
    return int(value)


def _check_audience(value: object, expected: frozenset[str]) -> None:
    if value is None:
        if expected:
            raise TokenRefused(
                "the token has no audience, and sasl.oauthbearer.expected.audience is set"
            )
        return
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise TokenRefused("the audience is neither a string nor a list of strings")
    if not expected:
        raise TokenRefused(
            "the token has an audience, and sasl.oauthbearer.expected.audience is not set"
        )
    if expected.isdisjoint(items):
        raise TokenRefused(
            "the audience does not contain any of sasl.oauthbearer.expected.audience"
        )


def _check_scope(value: object) -> None:
    """Reject a scope that Kafka cannot parse; signed tokens need no particular scope."""
    if value is None or not isinstance(value, (str, list)):
        return
    items = [value] if isinstance(value, str) else value
    names = [trim(item) for item in items if isinstance(item, str)]
    if len(names) != len(items) or not all(names) or len(set(names)) != len(names):
        raise TokenRefused("the scope contains an invalid or duplicate name")
