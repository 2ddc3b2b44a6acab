"""Options of a listener: address, protocol, and how clients authenticate."""

from __future__ import annotations

from collections.abc import Mapping
from ssl import SSLContext
from typing import Final

from msgspec import Struct

from doorkeeper.base.values import INT_MAX
from doorkeeper.server.security.contract import OfferedMechanism, PrincipalBuilder
from doorkeeper.server.security.principals import DefaultPrincipalBuilder


class ConnectionSecurity(Struct, frozen=True):
    """How new connections of a listener authenticate.

    ``mechanisms`` are by name, in the order of SaslHandshake responses; None without SASL. ``tls``
    is None for connections without encryption.
    """

    mechanisms: Mapping[str, OfferedMechanism] | None
    builder: PrincipalBuilder
    tls: SSLContext | None = None


ENCRYPTED: Final = frozenset({"SSL", "SASL_SSL"})
"""The protocols that begin with a TLS handshake."""

UNAUTHENTICATED = ConnectionSecurity(None, DefaultPrincipalBuilder())
"""No authentication: every client is ``User:ANONYMOUS``."""


class ListenerSpec(Struct, frozen=True, kw_only=True):
    """The configuration of one listener.

    An empty ``host`` is every address of the machine; port 0 takes a free one. ``controller``: the
    listener is named in ``controller.listener.names``. ``security`` is its initial one.
    """

    name: str
    security_protocol: str
    host: str
    port: int
    controller: bool = False
    security: ConnectionSecurity = UNAUTHENTICATED
    max_connections: int = INT_MAX
