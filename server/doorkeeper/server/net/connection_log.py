"""Log lines of one connection: authentications, failed updates, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.api.node import UpdateOperation
from doorkeeper.server.net.protocol.exchange import Login

if TYPE_CHECKING:
    from doorkeeper.server.net.context import ServerContext
    from doorkeeper.server.net.protocol.connection import Connection
    from doorkeeper.server.net.protocol.exchange import Closed, PendingUpdate, Refused
    from doorkeeper.server.state.outcome import Results


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


def log_failures(
    results: Results,
    pending: PendingUpdate,
    peer_id: str,
    server: ServerContext,
    *,
    answered: bool,
) -> None:
    """Log and count the items of an update that failed or timed out.

    ``answered`` says that a client waited for the update, so that its request can be named.
    """
    operation, items = pending.update.operation, pending.update.items
    if results.timed_out and server.requests is not None:
        server.requests.record_timeout(operation, results.timed_out)
    fields: dict[str, object] = {"connection": peer_id, "items": items}
    if answered:
        fields["api"] = pending.api.name
        fields["correlation_id"] = pending.header.correlation_id
        if operation == UpdateOperation.ACLS and server.authorizer:
            fields["authorizer"] = server.authorizer.name
    if results.timed_out:
        server.logger.warning("items of an update timed out", timed_out=results.timed_out, **fields)
    if results.errors:
        server.logger.error(
            "items of an update failed",
            failed=len(results.errors),
            **fields,
            exc_info=results.errors[0],
        )


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
