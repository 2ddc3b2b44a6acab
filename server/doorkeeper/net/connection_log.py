"""The log lines of one connection: its authentications, failed updates, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.api.node import ACL_UPDATE
from doorkeeper.connection.exchange import Login

if TYPE_CHECKING:
    from doorkeeper.connection.connection import Connection
    from doorkeeper.connection.exchange import Closed, PendingUpdate, Refused
    from doorkeeper.net.context import ServerContext
    from doorkeeper.state.outcome import Results

REASON_CHARACTERS_MAX: Final = 500
"""A longer reason for a failed login is cut."""


def log_notes(connection: Connection, server: ServerContext) -> None:
    """Log the events of the requests so far, record logins, and clear both."""
    notes, connection.notes = connection.notes, []
    for note in notes:
        if isinstance(note, Login):
            if server.audit_log is not None:
                server.audit_log.logged_in(note)
            continue
        peer_id = connection.peer.connection_id
        if note.error is None:
            server.logger.warning(note.event, connection=peer_id, **note.fields)
            continue
        server.logger.error(note.event, connection=peer_id, **note.fields, exc_info=note.error)


def log_failures(
    results: Results,
    pending: PendingUpdate,
    peer_id: str,
    server: ServerContext,
    *,
    answered: bool,
) -> None:
    """Log and count the items of an update that failed or were not complete in time.

    ``answered`` says that a response has waited for them, so that the request can be named.
    """
    if not results.errors and not results.timed_out:
        return
    operation, items = pending.update.operation, pending.update.items
    if results.timed_out and server.requests is not None:
        server.requests.timed_out(operation, results.timed_out)
    fields: dict[str, object] = {"connection": peer_id, "items": items}
    if answered:
        fields["api"] = pending.api.name
        fields["correlation_id"] = pending.header.correlation_id
        if operation == ACL_UPDATE and server.authorizer:
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
    """Log why an authentication failed."""
    event = "failed re-authentication" if end.reauthentication else "failed authentication"
    server.logger.info(event, connection=peer_id, reason=shortened(end.reason))


def log_end(end: Closed, peer_id: str, server: ServerContext) -> None:
    """Log why a connection is closed, unless the reason is empty."""
    if end.reason:
        server.logger.warning(
            "closing connection", connection=peer_id, reason=end.reason, **end.fields
        )


def shortened(reason: str) -> str:
    """Cut a reason that is too long for the log: names in it are the client's."""
    if len(reason) <= REASON_CHARACTERS_MAX:
        return reason
    return f"{reason[:REASON_CHARACTERS_MAX]}... ({len(reason)} characters)"
