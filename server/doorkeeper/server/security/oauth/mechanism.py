"""The exchange of OAUTHBEARER: one message with a token, and a refusal in two steps.

An invalid token gets a challenge, a JSON text with the general reason. The client acknowledges it
with one byte, and only then is refused, with the same text.

Source: ``OAuthBearerSaslServer`` of kafka-clients 4.3.1; RFC 7628, section 3.2.2. Kafka treats
anything but that byte as a new first message, so that a client can try tokens without the delay of
a failed login; here it ends the exchange.

The first message is ``n,a=<authzid>,^Aauth=Bearer <token>^A<name>=<value>^A^A``.

Source: ``OAuthBearerClientInitialResponse``; RFC 7628, section 3.1. A second ``auth`` is refused,
where Kafka uses the last one: Kafka's own client may not send one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

from doorkeeper.server.security.contract import Challenge, Failure, Step, Success
from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken

Validate = Callable[[str], ValidatedToken | Awaitable[ValidatedToken]]
"""Validates a token, at once if possible; raises TokenRefused."""

ACKNOWLEDGED: Final = b"\x01"


class OAuthBearerMechanism:
    """One authentication."""

    __slots__ = ("_now_ms", "_refusal", "_validate")

    def __init__(self, validate: Validate, now_ms: Callable[[], int]) -> None:
        """Check tokens with ``validate``; ``now_ms`` is the wall clock."""
        self._validate = validate
        self._now_ms = now_ms
        self._refusal: Failure | None = None

    def step(self, token: bytes) -> Step | Awaitable[Step]:
        """Process the message with the token, or the acknowledgement of a refusal."""
        if self._refusal is not None:
            if token == ACKNOWLEDGED:
                return self._refusal
            return Failure(
                None, f"{self._refusal.reason}; the client did not acknowledge the error"
            )
        try:
            bearer_token, requested = parse_first(token)
            validated = self._validate(bearer_token)
        except InvalidMessage as error:
            return Failure(None, str(error))
        except TokenRefused as refused:
            return self._challenge(refused)
        if isinstance(validated, ValidatedToken):
            return self._success(requested, validated)
        return self._later(requested, validated)

    async def _later(self, requested: str, validated: Awaitable[ValidatedToken]) -> Step:
        try:
            return self._success(requested, await validated)
        except TokenRefused as refused:
            return self._challenge(refused)

    def _success(self, requested: str, token: ValidatedToken) -> Step:
        name = token.principal_name
        if requested not in ("", name):
            text = (
                f"Authentication failed: Client requested an authorization id ({requested}) that is"
                f" different from the token's principal name ({name})"
            )
            return Failure(text, text)
        lifetime_ms = token.expiry_ms - self._now_ms()
        return Success(name, lifetime_ms=lifetime_ms, claims=token.claims)

    def _challenge(self, refused: TokenRefused) -> Challenge:
        text = refusal_text(refused)
        self._refusal = Failure(text, f"{text}: {refused}")
        return Challenge(text.encode(), self._refusal.reason)


def refusal_text(refused: TokenRefused) -> str:
    """Return the JSON text of a refusal, as Kafka writes it."""
    # Built by hand: Kafka's text is not escaped, and has its own spacing.
    members = [f'"status":"{refused.status}"']
    if refused.scope is not None:
        members.append(f'"scope":"{refused.scope}"')
    if refused.openid_configuration is not None:
        members.append(f'"openid-configuration":"{refused.openid_configuration}"')
    return f"{{{', '.join(members)}}}"


# --- the client's first message

AUTH: Final = "auth"
"""The pair that holds the token; extensions must not have this name."""

# At most a thousand pairs: Kafka parses as many as fit in half a megabyte, which would cost
# the loop a tenth of a second before authentication.
_MESSAGE: Final = re.compile(
    rb"n,(?:a=((?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++))?,\x01"
    rb"((?:[A-Za-z]++=[\x21-\x7e \t\r\n]++\x01){0,1000}+)\x01"
)
_AUTH_VALUE: Final = re.compile(r"(\w+) +([-_~+/.a-zA-Z0-9]+=*)")


class InvalidMessage(ValueError):
    """The message is malformed; the error text contains no part of it."""


def parse_first(data: bytes) -> tuple[str, str]:
    """Return the token of the first message, and its authorization id, empty if absent.

    The id stays escaped: Kafka does not resolve ``=2C`` and ``=3D`` in it. Extensions are valid
    pairs, and have no effect.
    """
    match = _MESSAGE.fullmatch(data)
    if match is None:
        raise InvalidMessage("Invalid OAUTHBEARER client first message")
    pairs = [pair.partition("=")[::2] for pair in match[2].decode("ascii").split("\x01")[:-1]]
    auth = [value for name, value in pairs if name == AUTH]
    if not auth:
        raise InvalidMessage("Invalid OAUTHBEARER client first message: 'auth' not specified")
    if len(auth) > 1:
        raise InvalidMessage("Extension name auth is invalid")
    parts = _AUTH_VALUE.fullmatch(auth[0])
    if parts is None:
        raise InvalidMessage("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    scheme, token = parts.groups()
    if scheme.lower() != "bearer":
        raise InvalidMessage("Invalid scheme in OAUTHBEARER client first message")
    return token, (match[1] or b"").decode("ascii")
