"""Answers that are given again: the last one of a connection, to the same request.

    repeatable    after an answer: what is kept of it, if nothing happened but that it was answered
    repeat        before a request is read: the answer again, while nothing has changed
    keep          puts an answer in the place of the last one

Clients ask for the versions with each connection, and for the metadata of the same topics every few
minutes or all the time. An answer depends on the state, the settings and the decisions taken for
it: each of them is compared by identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.server.net.protocol.exchange import RepeatableAnswer
from doorkeeper.server.net.protocol.responses import SIZE_BYTES, error_code_of
from doorkeeper.server.net.protocol.session import SessionAction
from doorkeeper_wire.api_keys import ApiKey

if TYPE_CHECKING:
    from doorkeeper.server.api.node import Response
    from doorkeeper.server.net.protocol.codec import ConnectionCodec
    from doorkeeper_wire.framing import RequestHeader

REPEATED_APIS: Final = frozenset(
    map(int, (ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS))
)
"""APIs of which some answers may be repeated. They are made of the state alone."""

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = SessionAction.SERVE


def repeat(connection: ConnectionCodec, data: bytes, now_s: float) -> bytes | None:
    """Answer data that is exactly one request, and the same as one before; else do nothing.

    To be called where nothing that was received is left.
    """
    known = connection.repeatable
    # Bytes 8 to 11 are the correlation id.
    if known is None or data[:8] + data[12:] != known.request:
        return None
    session = connection.session
    if known.state is not connection.node.state or known.settings is not connection.node.settings:
        # Its room is for answers that may be given again.
        keep(connection, None)
        return None
    if connection.request_records is not None or (
        session.expires_s is not None and session.admit(known.api_key, now_s) is not _SERVE
    ):
        return None
    decisions = known.decisions
    if decisions is not None and not decisions.guard.decide_again(decisions):
        return None
    connection.counts.requests += 1
    if connection.answer_codes is not None:
        connection.answer_codes.append((known.api_key, known.error_code))
    return known.size + data[8:12] + known.body


def repeatable(
    connection: ConnectionCodec,
    request: Any,  # noqa: ANN401 - the API's own class
    header: RequestHeader,
    frame: bytes,
    response: Response,
    answer: bytes,
    before: tuple[int, int] | None,
) -> RepeatableAnswer | None:
    """Return an answer for the same request, if nothing happens but that it is answered.

    The decisions that were taken for it, since ``before``, must be quiet: there is nothing
    that an audit log or an authorizer log would have to be told again.
    """
    # Trailing bytes are counted each time.
    if (
        not connection.is_whole
        or len(frame) + len(answer) > connection.limits.repeated_bytes_max_of_all
    ):
        return None
    node = connection.node
    decisions = None
    if node.authorizer is not None and _needs_permission(header, request):
        if node.decision_counts is None or before is None:
            return None
        decisions = node.decision_counts.quiet_since(before)
        if decisions is None:
            return None
    return RepeatableAnswer(
        len(frame).to_bytes(SIZE_BYTES) + frame[:4] + frame[8:],
        node.state,
        node.settings,
        decisions,
        bytes(answer[:4]),
        bytes(answer[8:]),
        header.api_key,
        error_code_of(response),
    )


def keep(connection: ConnectionCodec, answer: RepeatableAnswer | None) -> None:
    """Keep an answer in place of the last one; long ones only while there is room for them."""
    counts, limits, last = connection.counts, connection.limits, connection.repeatable
    if last is not None and last.bytes_held > limits.repeated_bytes_max:
        counts.repeated_bytes -= last.bytes_held
    connection.repeatable = None
    if answer is None:
        return
    size = answer.bytes_held
    if size > limits.repeated_bytes_max:
        if counts.repeated_bytes + size > limits.repeated_bytes_max_of_all:
            return
        counts.repeated_bytes += size
    connection.repeatable = answer


def _needs_permission(header: RequestHeader, request: Any) -> bool:  # noqa: ANN401 - of REPEATED_APIS
    """Return whether a request of ``REPEATED_APIS`` is authorized."""
    if header.api_key != ApiKey.METADATA:
        return header.api_key != ApiKey.API_VERSIONS
    return (
        request.topics != ()
        or not header.api_version  # all topics
        or request.include_cluster_authorized_operations
    )
