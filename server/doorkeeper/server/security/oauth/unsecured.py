"""Unsigned tokens, for development: any client can create one with any name.

They are accepted only if a listener's configuration names the handler for them. Claims are checked
as in Kafka, including the principal ``null`` of a claim that is null.

Source: ``OAuthBearerUnsecuredValidatorCallbackHandler``, ``OAuthBearerUnsecuredJws`` and
``OAuthBearerValidationUtils`` of kafka-clients 4.3.1. A header without ``alg``, for which Kafka
closes the connection with an internal error, makes the token invalid here; so does a principal with
a lone surrogate, which Kafka replaces by a question mark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from doorkeeper.base.values import INT_MAX, LONG_MAX, trim
from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth.json_text import (
    InvalidJson,
    decode_base64url,
    lenient_json_object,
)
from doorkeeper.server.security.oauth.subjects import check_unicode, unsigned_subject

PRINCIPAL_CLAIM_NAME: Final = "unsecuredValidatorPrincipalClaimName"
SCOPE_CLAIM_NAME: Final = "unsecuredValidatorScopeClaimName"
REQUIRED_SCOPE: Final = "unsecuredValidatorRequiredScope"
ALLOWABLE_CLOCK_SKEW_MS: Final = "unsecuredValidatorAllowableClockSkewMs"

# Anybody can send one, and the event loop takes 10 ms for the longest; half a megabyte took 0.2 s.
_CHARACTERS_MAX: Final = 16_384
_SCOPE_ITEM: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")


class UnsecuredTokens:
    """Validates unsigned tokens, with the options of the login module."""

    __slots__ = ("_now_ms", "_principal_claim", "_required", "_scope_claim", "_skew_ms")

    def __init__(self, options: Mapping[str, str], now_ms: Callable[[], int]) -> None:
        """Read the options ``unsecuredValidator...``; ``now_ms`` is the wall clock.

        Raises:
            ValueError: an option is wrong. Kafka detects that when a client logs in.
        """
        self._now_ms = now_ms
        self._principal_claim = principal_claim(options)
        self._scope_claim = _option(options, SCOPE_CLAIM_NAME) or "scope"
        self._required = _scope(_option(options, REQUIRED_SCOPE))
        self._skew_ms = _skew(_option(options, ALLOWABLE_CLOCK_SKEW_MS))

    def __call__(self, token: str) -> ValidatedToken:
        """Return the principal of a valid token."""
        claims = unsigned_claims(token)
        name = unsigned_subject(claims, self._principal_claim)
        scope = _scope_of(claims.get(self._scope_claim))
        expiry_s = _seconds(claims, "exp")
        if expiry_s is None:
            raise TokenRefused("no expiration time")
        self._check_times(_seconds(claims, "iat"), expiry_s)
        if not scope.issuperset(self._required):
            raise TokenRefused(
                "a required scope is missing",
                status="insufficient_scope",
                scope=f"[{', '.join(self._required)}]",
            )
        # Last, since Kafka writes ? for the half of a pair, and refuses such a token for the rest.
        check_unicode(name, self._principal_claim)
        # Rounded half up, like Java's ``Math.round``.
        expiry_ms = expiry_s * 1000
        rounded_ms = LONG_MAX if expiry_ms >= LONG_MAX else math.floor(expiry_ms + 0.5)
        return ValidatedToken(name, rounded_ms, claims)

    def _check_times(self, issued_s: float | None, expiry_s: float) -> None:
        now_ms = self._now_ms()
        if issued_s is not None and issued_s * 1000 > now_ms + self._skew_ms:
            raise TokenRefused("issued in the future")
        if now_ms - self._skew_ms >= expiry_s * 1000:
            raise TokenRefused("the token has expired")
        if issued_s is not None and expiry_s <= issued_s:
            raise TokenRefused("the token expires before it was issued")


def unsigned_claims(token: str) -> dict[str, object]:
    """Return the claims of a token whose header declares it unsigned.

    Raises:
        TokenRefused: it is another token, or malformed.
    """
    if len(token) > _CHARACTERS_MAX:
        raise TokenRefused(f"the token has {len(token)} characters; at most {_CHARACTERS_MAX}")
    parts = token.split(".")
    # Two dots in a row would be an empty claims part, or an empty header.
    if len(parts) != 3 or ".." in token:
        raise TokenRefused("expected an unsigned token: two parts, each followed by a dot")
    try:
        header, claims = (lenient_json_object(decode_base64url(part)) for part in parts[:2])
    except InvalidJson as error:
        raise TokenRefused(str(error)) from None
    # The third part is the signature, which stays empty.
    if _convert(header.get("alg")) != "none" or parts[2]:
        raise TokenRefused("found a signed token; expected: an unsigned token")
    return {name: _convert(value) for name, value in claims.items()}


def _convert(value: object) -> object:
    """Return a claim as Kafka keeps it: a text, a number, or a list of texts."""
    if isinstance(value, list):
        return [_text(item) for item in value]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else _text(value)


def _text(value: object) -> str:
    """Convert a value like Jackson's ``asText``: objects and lists become empty."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            return ""


def _seconds(claims: Mapping[str, object], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        raise TokenRefused(f"the claim {name} is not a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _scope_of(value: object) -> frozenset[str]:
    items = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(items, list):
        raise TokenRefused("the claim for the scope is neither a string nor a list")
    return frozenset(filter(None, map(trim, items)))


def principal_claim(options: Mapping[str, str]) -> str:
    """Return the claim that names the principal, by the options of the login module."""
    return _option(options, PRINCIPAL_CLAIM_NAME) or "sub"


def _option(options: Mapping[str, str], name: str) -> str:
    return trim(options.get(name, ""))


def _scope(text: str) -> tuple[str, ...]:
    items = tuple(item for item in text.split(" ") if item)
    # RFC 6749, 3.3: the characters of a scope token.
    if not all(map(_SCOPE_ITEM.fullmatch, items)):
        raise ValueError(
            f"{REQUIRED_SCOPE}: found an invalid character in a scope; allowed: printable ASCII"
            " characters except quote and backslash, with spaces between scopes"
        )
    return items


def _skew(text: str) -> int:
    if not text:
        return 0
    if _INTEGER.fullmatch(text) is None or not 0 <= int(text) <= INT_MAX:
        raise ValueError(f"{ALLOWABLE_CLOCK_SKEW_MS}: found {text!r}; allowed: 0 to {INT_MAX}")
    return int(text)
