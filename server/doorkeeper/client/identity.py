"""Who a client is to a cluster, as far as its configuration tells.

    login                          principal                        a broker may map it
    none, PLAINTEXT                User:ANONYMOUS
    none, TLS with a certificate   User: and its subject            ssl.principal.mapping.rules
    none, TLS without              User:ANONYMOUS
    PLAIN, SCRAM                   User: and the name
    a delegation token             not known: its owner
    OAUTHBEARER                    User: and the claim sub          sasl.oauthbearer.sub.claim.name

A class of ``principal.builder.class`` on the brokers may give any of them another name.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import NamedTuple

from msgspec import Struct

from doorkeeper.base.credentials import DIGESTS
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import LoginRefused
from doorkeeper.client.logins import Bearer, Password

ANONYMOUS = "User:ANONYMOUS"


class ScramLogin(NamedTuple):
    """The credential of SCRAM that a client logs in with."""

    user: str
    mechanism: str


class Identity(Struct, frozen=True):
    """The principal of a client, None if it is not known, and why brokers may map it.

    ``scram`` is None for other logins.
    """

    principal: str | None
    doubt: str = ""
    scram: ScramLogin | None = None


async def identity_of(config: ClientConfig) -> Identity:
    """Return who the clients of a configuration are."""
    login = config.login
    if login is None:
        if not config.certificate_name:
            return Identity(ANONYMOUS)
        return Identity(
            f"User:{config.certificate_name}",
            "assuming that brokers do not map certificate names",
        )
    if isinstance(login, Password):
        if login.by_token:
            return Identity(None)
        is_scram = login.mechanism in DIGESTS
        scram = ScramLogin(login.name, login.mechanism) if is_scram else None
        return Identity(f"User:{login.name}", scram=scram)
    if isinstance(login, Bearer):
        name = await _subject(login)
        if name:
            return Identity(f"User:{name}", "assuming that brokers use the claim sub")
    return Identity(None)


async def _subject(login: Bearer) -> str:
    """Return the claim ``sub`` of a token, which is not verified; empty if there is none."""
    try:
        part = (await login.token()).split(".")[1]
        claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    # The login itself reports what is wrong with a token.
    except (LoginRefused, ValueError, IndexError):
        return ""
    name = claims.get("sub") if isinstance(claims, dict) else None
    return name if isinstance(name, str) else ""
