"""Tokens without a signature, for development: anybody can make one with any name in it.

They are taken only where a listener's configuration names the handler for them. What is taken is
what Kafka's takes, claim by claim: the principal ``null`` of a claim that is null included.

Source: ``OAuthBearerUnsecuredValidatorCallbackHandler``, ``OAuthBearerUnsecuredJws`` and
``OAuthBearerValidationUtils`` of kafka-clients 4.3.1. A header without ``alg``, which makes Kafka
close the connection with an error of its own, is an invalid token here; so is a principal with
half a pair of surrogates, in place of which Kafka writes a question mark.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from doorkeeper.authn.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.authn.oauth.json_text import InvalidJson, decoded, is_unicode, lenient_json_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PRINCIPAL_CLAIM_NAME: Final = "unsecuredValidatorPrincipalClaimName"
SCOPE_CLAIM_NAME: Final = "unsecuredValidatorScopeClaimName"
REQUIRED_SCOPE: Final = "unsecuredValidatorRequiredScope"
ALLOWABLE_CLOCK_SKEW_MS: Final = "unsecuredValidatorAllowableClockSkewMs"

JAVA_WHITE_SPACE: Final = "".join(map(chr, range(33)))
"""What Java's ``String.trim`` takes away."""

_LONG_MAX: Final = (1 << 63) - 1
_INT_MAX: Final = (1 << 31) - 1
_SCOPE_ITEM: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")


class UnsecuredTokens:
    """What a listener takes for a good token, from the options of its login module."""

    __slots__ = ("_now_ms", "_principal_claim", "_required", "_scope_claim", "_skew_ms")

    def __init__(self, options: Mapping[str, str], now_ms: Callable[[], int]) -> None:
        """Take the options ``unsecuredValidator...``, and the wall clock.

        Raises:
            ValueError: one is wrong. Kafka finds that when a client logs in.

        """
        self._now_ms = now_ms
        self._principal_claim = _trimmed(options, PRINCIPAL_CLAIM_NAME) or "sub"
        self._scope_claim = _trimmed(options, SCOPE_CLAIM_NAME) or "scope"
        self._required = _scope(_trimmed(options, REQUIRED_SCOPE))
        self._skew_ms = _skew(_trimmed(options, ALLOWABLE_CLOCK_SKEW_MS))

    def __call__(self, token: str) -> ValidatedToken:
        """Return whose the token is.

        Raises:
            TokenRefused: it is not good.

        """
        claims = _claims(token)
        name = claims.get(self._principal_claim)
        if not isinstance(name, str) or not name.strip(JAVA_WHITE_SPACE):
            raise TokenRefused("the claim for the principal is missing, blank or no text")
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
        if not is_unicode(name):
            raise TokenRefused("the claim for the principal is not Unicode")
        return ValidatedToken(name, _rounded(expiry_s * 1000), claims)

    def _check_times(self, issued_s: float | None, expiry_s: float) -> None:
        now_ms = self._now_ms()
        if issued_s is not None and issued_s * 1000 > now_ms + self._skew_ms:
            raise TokenRefused("issued in the future")
        if now_ms - self._skew_ms >= expiry_s * 1000:
            raise TokenRefused("the token has expired")
        if issued_s is not None and expiry_s <= issued_s:
            raise TokenRefused("it expires before it was issued")


def _claims(token: str) -> dict[str, object]:
    """Return the claims of a token whose header says that nobody has signed it."""
    parts = token.split(".")
    if len(parts) != 3 or ".." in token:
        raise TokenRefused("a token without a signature has two parts with a dot behind each")
    try:
        header, claims = (lenient_json_object(decoded(part)) for part in parts[:2])
    except InvalidJson as error:
        raise TokenRefused(str(error)) from None
    if _converted(header.get("alg")) != "none" or parts[2]:
        raise TokenRefused("the token has a signature, and no signatures are checked here")
    return {name: _converted(value) for name, value in claims.items()}


def _converted(value: object) -> object:
    """Return a claim as Kafka keeps it: a text, a number, or a list of texts."""
    if isinstance(value, list):
        return [_text(item) for item in value]
    return value if _is_number(value) else _text(value)


def _text(value: object) -> str:
    """Return what Jackson's ``asText`` does: nothing for an object or a list."""
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


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _seconds(claims: Mapping[str, object], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        raise TokenRefused(f"the claim {name} is no number")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _rounded(ms: float) -> int:
    """Return a time as Java's ``Math.round`` does."""
    return _LONG_MAX if ms >= _LONG_MAX else math.floor(ms + 0.5)


def _scope_of(value: object) -> frozenset[str]:
    if isinstance(value, str):
        items: Sequence[str] = (value,)
    elif isinstance(value, list):
        items = value
    elif value is None:
        items = ()
    else:
        raise TokenRefused("the claim for the scope is neither a text nor a list")
    return frozenset(filter(None, (item.strip(JAVA_WHITE_SPACE) for item in items)))


def _trimmed(options: Mapping[str, str], name: str) -> str:
    return options.get(name, "").strip(JAVA_WHITE_SPACE)


def _scope(text: str) -> tuple[str, ...]:
    items = tuple(item for item in text.split(" ") if item)
    if not all(map(_SCOPE_ITEM.fullmatch, items)):
        raise ValueError(
            f"{REQUIRED_SCOPE}: found a scope with a character that is not allowed; allowed are"
            " printable ASCII characters but quote and backslash, and spaces between scopes"
        )
    return items


def _skew(text: str) -> int:
    if not text:
        return 0
    if _INTEGER.fullmatch(text) is None or not 0 <= int(text) <= _INT_MAX:
        raise ValueError(f"{ALLOWABLE_CLOCK_SKEW_MS}: found {text!r}; allowed: 0 to {_INT_MAX}")
    return int(text)
