"""Log lines of one connection: authentications, its end."""

from __future__ import annotations

from doorkeeper.server.net.context import ServerContext
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import Closed, Login, Refused


def log_events(connection: Connection, server: ServerContext) -> None:
    """Log the events of a connection, record its logins, and clear both."""
    events, connection.events = connection.events, []
    for event in events:
        if isinstance(event, Login):
            if server.audit_log is not None:
                server.audit_log.record_login(event)
            continue
        peer_id = connection.peer.connection_id
        if event.error is None:
            server.peer_log.warning(event.event, connection=peer_id, **event.fields)
            continue
        server.peer_log.error(event.event, connection=peer_id, **event.fields, exc_info=event.error)


def log_refusal(end: Refused, peer_id: str, server: ServerContext) -> None:
    event = "failed re-authentication" if end.reauthentication else "failed authentication"
    # Info and not warning: a wrong password is no fault of the server.
    server.peer_log.info(event, connection=peer_id, reason=end.reason)


def log_end(end: Closed, peer_id: str, server: ServerContext) -> None:
    """Log the reason for closing, unless it is empty."""
    if end.reason:
        server.peer_log.warning(
            "closing connection", connection=peer_id, reason=end.reason, **end.fields
        )
