"""The circumstances of a request: what an authorizer may know (KIP-504), and what handlers need."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.acl.model import Principal


class AuthorizableRequestContext(NamedTuple):
    """Who sent a request, from where and how.

    ``client_address`` is the text of Java's ``InetAddress.getHostAddress``: ``10.0.0.7``,
    ``0:0:0:0:0:0:0:1``. ``request_type`` is the API key. ``client_software`` is what the client
    says it is, ``name/version``; empty where it has not said it.
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


class RequestContext(NamedTuple):
    """A request's circumstances: what the authorizer may know, and what only handlers need."""

    authorizable: AuthorizableRequestContext
    description: str
    """The text ``Request(...)`` that a broker's refusals contain."""
    controller_listener: bool
    """True on a listener named in ``controller.listener.names``."""
    token_authenticated: bool = False
    """True where the client logged in with a delegation token."""
