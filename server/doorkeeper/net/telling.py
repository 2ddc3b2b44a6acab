"""What the log and the trail are told of one connection: its logins, its faults, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.exchange import Login
from doorkeeper.net.updates import OPERATIONS
from doorkeeper.node import CreateAcls, DeleteAcls

if TYPE_CHECKING:
    from doorkeeper.connection import Connection
    from doorkeeper.exchange import Closed, Refused, Update
    from doorkeeper.net.surroundings import Surroundings
    from doorkeeper.net.updates import Items

REASON_CHARACTERS_MAX: Final = 500
"""More of why a login failed is not told."""


def tell_notes(connection: Connection, around: Surroundings) -> None:
    """Tell what somebody should read of the requests so far, and forget it."""
    notes, connection.notes = connection.notes, []
    for note in notes:
        if isinstance(note, Login):
            if around.trail is not None:
                around.trail.logged_in(note)
            continue
        peer_id = connection.peer.connection_id
        if note.error is None:
            around.logger.warning(note.event, connection=peer_id, **note.fields)
            continue
        around.logger.error(note.event, connection=peer_id, **note.fields, exc_info=note.error)


def tell_errors(
    items: Items[Any], update: Update, peer_id: str, around: Surroundings, *, awaited: bool
) -> None:
    """Tell which items of an update failed or took too long.

    ``awaited`` says that the client has waited for them, so that its request can be named.
    """
    if not items.errors and not items.timed_out:
        return
    if items.timed_out and around.requests is not None:
        operation = OPERATIONS[update.outcome.__class__]
        around.requests.timed_out(operation, items.timed_out)
    fields: dict[str, object] = {"connection": peer_id, "items": len(items)}
    if awaited:
        fields["api"] = update.api.name
        fields["correlation_id"] = update.header.correlation_id
        if isinstance(update.outcome, (CreateAcls, DeleteAcls)) and around.authorizer:
            fields["authorizer"] = around.authorizer.name
    if items.timed_out:
        around.logger.warning("items of an update timed out", timed_out=items.timed_out, **fields)
    if items.errors:
        around.logger.error(
            "items of an update failed",
            failed=len(items.errors),
            **fields,
            exc_info=items.errors[0],
        )


def tell_refusal(end: Refused, peer_id: str, around: Surroundings) -> None:
    """Tell why a login failed."""
    event = "failed re-authentication" if end.reauthentication else "failed authentication"
    around.logger.info(event, connection=peer_id, reason=bounded(end.reason))


def tell_end(end: Closed, peer_id: str, around: Surroundings) -> None:
    """Tell why a connection is closed, where that is worth a line."""
    if end.reason:
        around.logger.warning(
            "closing connection", connection=peer_id, reason=end.reason, **end.fields
        )


def bounded(reason: str) -> str:
    """Return what a line of the log may hold of a reason: names in it are the client's."""
    if len(reason) <= REASON_CHARACTERS_MAX:
        return reason
    return f"{reason[:REASON_CHARACTERS_MAX]}... ({len(reason)} characters)"
