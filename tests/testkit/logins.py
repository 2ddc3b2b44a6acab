"""Logins over a connection of frames, mechanism by mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.scram import ScramClient

if TYPE_CHECKING:
    from testkit.serving import Conversation


def chosen(conversation: Conversation, mechanism: str) -> None:
    """Choose a mechanism."""
    request = SaslHandshakeRequest(mechanism=mechanism)
    answer = conversation.call(request, SaslHandshakeResponse, 1)
    assert answer.error_code == 0, answer


def step(conversation: Conversation, token: bytes) -> SaslAuthenticateResponse:
    """Send a token; return the answer."""
    request = SaslAuthenticateRequest(auth_bytes=token)
    answer: SaslAuthenticateResponse = conversation.call(request, SaslAuthenticateResponse, 2)
    return answer


def plain(conversation: Conversation, name: str, password: str) -> SaslAuthenticateResponse:
    """Log in with PLAIN; return the last answer."""
    chosen(conversation, "PLAIN")
    return step(conversation, f"\0{name}\0{password}".encode())


def scram(
    conversation: Conversation, mechanism: str, name: str, password: str, extensions: str = ""
) -> SaslAuthenticateResponse:
    """Log in with SCRAM, or with a token and ``tokenauth=true``; return the last answer."""
    chosen(conversation, mechanism)
    client = ScramClient(mechanism, name, password, extensions=extensions)
    first = step(conversation, client.first())
    return first if first.error_code else step(conversation, client.final(first.auth_bytes))


def oauthbearer(conversation: Conversation, token: str) -> SaslAuthenticateResponse:
    """Log in with OAUTHBEARER; acknowledge a refusal, return the last answer."""
    chosen(conversation, "OAUTHBEARER")
    answer = step(conversation, f"n,,\1auth=Bearer {token}\1\1".encode())
    return step(conversation, b"\1") if answer.auth_bytes else answer
