"""The principal's name in the claims of a token.

Source: ``ClaimValidationUtils`` and ``OAuthBearerUnsecuredJws`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from doorkeeper.base.encodings import is_unicode
from doorkeeper.base.values import trim
from doorkeeper.server.security.handlers_contract import TokenRefused


def signed_subject(claims: Mapping[str, object], claim: str) -> str:
    """Return the name in a signed token, trimmed.

    Raises:
        TokenRefused: the claim is missing, blank, no text or not Unicode.
    """
    text_claim(claims, claim)
    name = trim(unsigned_subject(claims, claim))
    check_unicode(name, claim)
    return name


def check_unicode(name: str, claim: str) -> None:
    """Check the name that a claim has.

    Raises:
        TokenRefused: it has half of a pair of surrogates.
    """
    if not is_unicode(name):
        raise TokenRefused(f"the claim {claim} is not valid Unicode")


def unsigned_subject(claims: Mapping[str, object], claim: str) -> str:
    """Return the name in an unsigned token, as it is; it may not be Unicode.

    Raises:
        TokenRefused: the claim is missing, blank or no text.
    """
    name = claims.get(claim)
    if not isinstance(name, str) or not trim(name):
        raise TokenRefused(f"the claim {claim} is missing, blank or not a string")
    return name


def text_claim(claims: Mapping[str, object], name: str) -> str | None:
    """Return a claim that is a text; None if it is missing.

    Raises:
        TokenRefused: it is something else.
    """
    value = claims.get(name)
    if value is not None and not isinstance(value, str):
        raise TokenRefused(f"the claim {name} is not a string")
    return value
