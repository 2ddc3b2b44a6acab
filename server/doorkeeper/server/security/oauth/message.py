"""The client's first message: ``n,a=<authzid>,^Aauth=Bearer <token>^A<name>=<value>^A^A``.

Source: ``OAuthBearerClientInitialResponse`` of kafka-clients 4.3.1; RFC 7628, section 3.1. A second
``auth`` is refused here, where Kafka uses the last one: Kafka's own client may not send one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

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


class InitialResponse(Struct, frozen=True):
    """The client's first message. ``authorization_id`` is empty if absent."""

    token: str
    authorization_id: str
    extensions: Mapping[str, str]

    def __repr__(self) -> str:
        # The token is a secret.
        return f"InitialResponse({len(self.token)} characters, {len(self.extensions)} extensions)"


def parse(data: bytes) -> InitialResponse:
    """Parse the first message.

    The authorization id stays escaped: Kafka does not resolve ``=2C`` and ``=3D`` in it.
    """
    match = _MESSAGE.fullmatch(data)
    if match is None:
        raise InvalidMessage("Invalid OAUTHBEARER client first message")
    authorization_id = (match[1] or b"").decode("ascii")
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
    return InitialResponse(token, authorization_id, {k: v for k, v in pairs if k != AUTH})
