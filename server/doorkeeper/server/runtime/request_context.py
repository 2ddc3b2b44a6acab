"""The context of a request, for authorizers (KIP-504) and for handlers."""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct

from doorkeeper.acls.model import Principal

OPERATOR: Final = Principal("Server", "doorkeeper")
"""The principal of a command on a stopped store: this object, which no client can have."""


class AuthorizableRequestContext(NamedTuple):
    """The client of a request and its connection.

    ``client_address`` is the text of Java's ``InetAddress.getHostAddress``: ``10.0.0.7``,
    ``0:0:0:0:0:0:0:1``. ``request_type`` is the API key. ``client_software`` is the client's
    ``name/version``; empty if it has not sent them.
    """

    listener_name: str
    security_protocol: str
    principal: Principal
    client_address: str
    request_type: int
    request_version: int
    client_id: str
    correlation_id: int
    client_software: str = ""


class RequestContext(Struct, frozen=True):
    """The context for authorizers, and the fields that only handlers use."""

    authorizable: AuthorizableRequestContext
    description: str
    """The text ``Request(...)`` that a broker's refusals contain."""
    controller_listener: bool
    """True on a listener named in ``controller.listener.names``."""
    token_authenticated: bool = False
    """True where the client logged in with a delegation token."""
    connection: int = 0
    """The number of the connection: no open one has the same."""
