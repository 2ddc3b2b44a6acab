"""The requests of a client before and in an authentication: ApiVersions, SASL.

A reauthentication is one too (KIP-368). What comes out of place is refused as a broker refuses it.

Source: ``SaslServerAuthenticator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.exchange import (
    Authenticating,
    Closed,
    LogEvent,
    Login,
    Refused,
    Request,
)
from doorkeeper.server.net.protocol.responses import unsupported_version
from doorkeeper.server.net.protocol.session import Reply, SessionAction, SessionState
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.framing import RequestHeader

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.codec import ConnectionCodec

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)
UNSUPPORTED_VERSION: Final = ApiError(ErrorCode.UNSUPPORTED_VERSION)


def authenticate(
    connection: ConnectionCodec,
    action: SessionAction,
    header: RequestHeader,
    frame: bytes,
    body_at: int,
    now_s: float,
) -> bytes | Authenticating | Refused | Closed:
    """Handle a request that the session admits for any other ``action`` than to be served."""
    session = connection.session
    if action is SessionAction.CLOSE:
        return close_unadmitted(connection, header, now_s)
    request = connection.request(header, frame, body_at)
    if action is SessionAction.VERSIONS:
        return answer_versions(connection, request)
    if action is SessionAction.REFUSE:
        return refuse_out_of_place(connection, request)
    if not request.is_supported:
        return answer_unsupported(connection, request)
    connection.decode(request)
    if action is SessionAction.CHOOSE:
        reply = session.choose(request.body, header.api_version, now_s)
        return reply_frame(connection, header, reply)
    return step(connection, header, request.body.auth_bytes, now_s)


def close_unadmitted(connection: ConnectionCodec, header: RequestHeader, now_s: float) -> Closed:
    if connection.session.state(now_s) is SessionState.EXPIRED:
        connection.counts.killed_by_expiry += 1
        return Closed("")
    if connection.session.state(now_s) is SessionState.CLOSED:
        return Closed("")
    name = ApiKey(header.api_key).name
    return Closed(f"Unexpected Kafka request of type {name} during SASL handshake.")


def answer_versions(connection: ConnectionCodec, request: Request) -> bytes:
    """Answer ApiVersions before the authentication, and move the session."""
    if not request.is_supported:
        connection.session.record_versions(success=False)
        return answer_unsupported(connection, request)
    connection.decode(request)
    context = connection.context(request.header)
    try:
        response: Any = request.api.handle(request.body, context, connection.node)
    except Exception as error:  # whatever a handler raises is answered
        connection.session.record_versions(success=False)
        return connection.refuse(request, error)
    connection.session.record_versions(success=response.error_code == 0)
    return connection.encode(request.header, response)


def answer_unsupported(
    connection: ConnectionCodec, request: Request, error: ApiError = UNSUPPORTED_VERSION
) -> bytes:
    """Answer an unsupported version; only ApiVersions has an answer, in version 0."""
    api, header = request.api, request.header
    if api.key == API_VERSIONS:
        # The body is not read: the layout of the version is unknown.
        response = api.refuse(None, header.api_version, error)
        assert response is not None, "ApiVersions has a form for errors"
        # Version 0 is the only one that every client can read (KIP-511).
        return connection.encode(header, response, version=0)
    raise unsupported_version(header, connection.session.principal)


def refuse_out_of_place(connection: ConnectionCodec, request: Request) -> Refused:
    """Refuse a request where only SaslAuthenticate is allowed, in its own response."""
    name = ApiKey(request.header.api_key).name
    text = f"Unexpected Kafka request of type {name} during SASL authentication."
    error = ApiError(ErrorCode.ILLEGAL_SASL_STATE, text)
    if request.is_supported:
        connection.decode(request)
        answer = connection.refuse(request, error)
    else:
        answer = answer_unsupported(connection, request, error)
    return refuse_login(connection, answer, text, request.header)


def take_bare(
    connection: ConnectionCodec, frame: bytes, now_s: float
) -> bytes | Authenticating | Refused:
    """Handle a frame without a request header."""
    if connection.session.admit_bare() is SessionAction.FAIL:
        return reply_frame(connection, None, connection.session.fail_changed_mechanism())
    return step(connection, None, frame, now_s)


def step(
    connection: ConnectionCodec, header: RequestHeader | None, token: bytes, now_s: float
) -> bytes | Authenticating | Refused:
    reply = connection.session.step(token, now_s)
    if isinstance(reply, Reply):
        return reply_frame(connection, header, reply)
    return Authenticating(reply, header)


def reply_frame(
    connection: ConnectionCodec, header: RequestHeader | None, reply: Reply
) -> bytes | Refused:
    """Encode a reply of the session; ``header`` is None for bare tokens."""
    session = connection.session
    if reply.fault is not None:
        record_principal_fault(connection, reply.fault, header)
        connection.counts.authentications[session.mechanism_name, False] += 1
    elif reply.failure is None and session.is_past_login:
        connection.counts.authentications[session.mechanism_name, True] += 1
        connection.events.append(login(connection, header))
    body = reply.body
    if body is None:
        answer = b""
    elif isinstance(body, bytes):
        answer = len(body).to_bytes(4) + body
    else:
        assert header is not None, "only bare frames have no header"
        answer = connection.encode(header, body)
    return (
        answer if reply.failure is None else refuse_login(connection, answer, reply.failure, header)
    )


def refuse_login(
    connection: ConnectionCodec, answer: bytes, reason: str, header: RequestHeader | None = None
) -> Refused:
    connection.counts.failed_authentications += 1
    connection.counts.authentications[connection.session.mechanism_name, False] += 1
    connection.events.append(login(connection, header, reason))
    return Refused(answer, reason, connection.session.reauthenticating)


def login(
    connection: ConnectionCodec, header: RequestHeader | None, reason: str | None = None
) -> Login:
    session = connection.session
    return Login(
        connection.peer,
        session.principal if reason is None else None,
        session.mechanism_name or ("TLS" if session.is_past_login else ""),
        session.reauthenticating,
        connection.client_software,
        header,
        reason,
    )


def record_principal_fault(
    connection: ConnectionCodec, error: BaseException, header: RequestHeader | None = None
) -> None:
    text = "cannot build the principal"
    fault = LogEvent(f"{text} for a connection", {"cause": one_line(error)})
    connection.events += [fault, login(connection, header, text)]


def abandon(connection: ConnectionCodec) -> Refused | None:
    """Forget the last answer; return the refusal of a login that the client hung up on."""
    connection.keep(None)
    refusal = connection.session.refusal
    if not refusal or connection.is_ended:
        return None
    return refuse_login(connection, b"", f"{refusal}; the client hung up")
