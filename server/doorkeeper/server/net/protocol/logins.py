"""The requests of a client before and in an authentication: ApiVersions, SASL.

A reauthentication is one too (KIP-368). What comes out of place is refused as a broker refuses it.

Source: ``SaslServerAuthenticator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.conversation import Conversation
from doorkeeper.server.net.protocol.exchange import (
    Authenticating,
    Body,
    Closed,
    LogEvent,
    Login,
    Refused,
)
from doorkeeper.server.net.protocol.session import Reply, SessionAction, SessionState
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.framing import RequestHeader

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api

NO_PRINCIPAL: Final = "cannot build the principal"


def close_unadmitted(conversation: Conversation, header: RequestHeader, now_s: float) -> Closed:
    if conversation.session.state(now_s) is SessionState.EXPIRED:
        conversation.counts.killed_by_expiry += 1
        return Closed("")
    if conversation.session.state(now_s) is SessionState.CLOSED:
        return Closed("")
    name = ApiKey(header.api_key).name
    return Closed(f"Unexpected Kafka request of type {name} during SASL handshake.")


def answer_versions(conversation: Conversation, header: RequestHeader, body: Body) -> bytes:
    """Answer ApiVersions before the authentication, and move the session."""
    api = conversation.api(header)
    if not api.min_version <= header.api_version <= api.max_version:
        conversation.session.record_versions(success=False)
        return conversation.answer_unsupported(api, header)
    request = conversation.decode(api, header, body)
    try:
        response: Any = api.handle(request, conversation.context(header), conversation.node)
    except Exception as error:  # whatever a handler raises is answered
        conversation.session.record_versions(success=False)
        return conversation.refuse(api, request, header, error)
    conversation.session.record_versions(success=response.error_code == 0)
    return conversation.encode(header, response)


def refuse_out_of_place(
    conversation: Conversation, api: Api, header: RequestHeader, body: Body
) -> Refused:
    """Refuse a request where only SaslAuthenticate is allowed, in its own response."""
    name = ApiKey(header.api_key).name
    text = f"Unexpected Kafka request of type {name} during SASL authentication."
    error = ApiError(ErrorCode.ILLEGAL_SASL_STATE, text)
    if api.min_version <= header.api_version <= api.max_version:
        request = conversation.decode(api, header, body)
        return refuse_login(
            conversation, conversation.refuse(api, request, header, error), text, header
        )
    return refuse_login(
        conversation, conversation.answer_unsupported(api, header, error), text, header
    )


def take_bare(
    conversation: Conversation, frame: bytes, now_s: float
) -> bytes | Authenticating | Refused:
    """Handle a frame without a request header."""
    if conversation.session.admit_bare() is SessionAction.FAIL:
        return reply_frame(conversation, None, conversation.session.fail_changed_mechanism())
    return step(conversation, None, frame, now_s)


def step(
    conversation: Conversation, header: RequestHeader | None, token: bytes, now_s: float
) -> bytes | Authenticating | Refused:
    reply = conversation.session.step(token, now_s)
    if isinstance(reply, Reply):
        return reply_frame(conversation, header, reply)
    return Authenticating(reply, header)


def reply_frame(
    conversation: Conversation, header: RequestHeader | None, reply: Reply
) -> bytes | Refused:
    """Encode a reply of the session; ``header`` is None for bare tokens."""
    session = conversation.session
    if reply.fault is not None:
        conversation.events += [
            principal_fault(reply.fault),
            login(conversation, header, NO_PRINCIPAL),
        ]
        conversation.counts.authentications[session.mechanism_name, False] += 1
    elif reply.failure is None and session.is_past_login:
        conversation.counts.authentications[session.mechanism_name, True] += 1
        conversation.events.append(login(conversation, header))
    body = reply.body
    if body is None:
        answer = b""
    elif isinstance(body, bytes):
        answer = len(body).to_bytes(4) + body
    else:
        assert header is not None, "only bare frames have no header"
        answer = conversation.encode(header, body)
    return (
        answer
        if reply.failure is None
        else refuse_login(conversation, answer, reply.failure, header)
    )


def refuse_login(
    conversation: Conversation, answer: bytes, reason: str, header: RequestHeader | None = None
) -> Refused:
    conversation.counts.failed_authentications += 1
    conversation.counts.authentications[conversation.session.mechanism_name, False] += 1
    conversation.events.append(login(conversation, header, reason))
    return Refused(answer, reason, conversation.session.reauthenticating)


def login(
    conversation: Conversation, header: RequestHeader | None, reason: str | None = None
) -> Login:
    session = conversation.session
    return Login(
        conversation.peer,
        session.principal if reason is None else None,
        session.mechanism_name or ("TLS" if session.is_past_login else ""),
        session.reauthenticating,
        conversation.client_software,
        header,
        reason,
    )


def principal_fault(error: BaseException) -> LogEvent:
    return LogEvent("cannot build the principal for a connection", {"cause": one_line(error)})
