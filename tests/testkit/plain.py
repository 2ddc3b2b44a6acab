"""PLAIN with users, for tests that do without a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from doorkeeper.server.app.listeners import ServerSecurity
from doorkeeper.server.net.options import ConnectionSecurity
from doorkeeper.server.security.contract import OfferedMechanism
from doorkeeper.server.security.plain import PlainUsers
from doorkeeper.server.security.principals import DefaultPrincipalBuilder
from doorkeeper.server.security.provider import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.config.listeners import Listener

USERS = {"alice": "alice-secret", "bob": "bob-secret"}


def plain_offers(users: Mapping[str, str] = USERS, *, max_reauth_ms: int = 0) -> ConnectionSecurity:
    """Return what a listener with PLAIN offers."""
    begin = PlainUsers(users).begin
    plain = OfferedMechanism("PLAIN", begin, max_reauth_ms)
    return ConnectionSecurity({"PLAIN": plain}, DefaultPrincipalBuilder())


LOGIN = plain_offers()

NO_SOURCES = Sources(
    scram_credential=lambda _mechanism, _name: None,
    scram_iterations=lambda _mechanism: 4096,
    token_login=lambda _token_id: None,
    salt_key=b"a key of thirty-two bytes, secret",
    now_ms=lambda: 1_700_000_000_000,
    logger=structlog.get_logger("authn"),
)
"""Nobody has a credential or a token."""


async def offers_of(listener: Listener) -> ConnectionSecurity:
    """Return what a listener offers by its configuration, where nobody has a credential."""
    doors = ServerSecurity(NO_SOURCES, structlog.get_logger("doors"))
    return doors.use(await doors.prepare([listener], {}))[listener.name]
