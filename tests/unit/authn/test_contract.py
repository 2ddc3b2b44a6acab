"""The contract of mechanisms: one that needs several steps fits a session as it is."""

from __future__ import annotations

from doorkeeper.acl.model import Principal
from doorkeeper.authn.contract import (
    AuthenticationContext,
    Challenge,
    Failure,
    OfferedMechanism,
    Step,
    Success,
)
from doorkeeper.authn.principals import DefaultPrincipalBuilder
from doorkeeper.connection.session import Reply, Session, SessionState
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest


class Riddle:
    """Asks for ``moon`` twice; the credential lives for 7 seconds."""

    def __init__(self) -> None:
        self._asked = 0

    def step(self, token: bytes) -> Step:
        """Ask, then decide."""
        self._asked += 1
        if token != b"moon":
            return Failure(None, "wrong word")
        if self._asked == 1:
            return Challenge(b"again")
        return Success("poet", b"welcome", 7000)


def riddle_session(version: int = 1) -> Session:
    session = Session(
        {"RIDDLE": OfferedMechanism("RIDDLE", lambda _context: Riddle())},
        AuthenticationContext("CLIENTS", "SASL_PLAINTEXT", "127.0.0.1"),
        DefaultPrincipalBuilder(),
    )
    session.choose(SaslHandshakeRequest(mechanism="RIDDLE"), version, 0.0)
    return session


def stepped(session: Session, token: bytes) -> Reply:
    reply = session.step(token, 0.0)
    assert isinstance(reply, Reply)
    return reply


def test_a_challenge_keeps_the_exchange_open() -> None:
    """A challenge goes to the client, the next token decides, the credential's life is told."""
    session = riddle_session()

    asked = stepped(session, b"moon").body
    told = stepped(session, b"moon").body

    assert isinstance(asked, SaslAuthenticateResponse)
    assert isinstance(told, SaslAuthenticateResponse)
    assert asked.auth_bytes == b"again"
    assert (told.auth_bytes, told.session_lifetime_ms) == (b"welcome", 7000)
    assert session.principal == Principal("User", "poet")
    assert session.state(6.9) is SessionState.LIMITED
    assert session.state(7.0) is SessionState.EXPIRED


def test_bare_tokens_get_bare_challenges() -> None:
    """After SaslHandshake 0 a challenge is only its bytes."""
    session = riddle_session(version=0)

    assert stepped(session, b"moon").body == b"again"
    assert stepped(session, b"moon").body == b"welcome"


def test_a_failure_without_words_gets_those_of_kafka() -> None:
    """The client reads the general text; the log gets the reason."""
    reply = stepped(riddle_session(), b"sun")

    assert isinstance(reply.body, SaslAuthenticateResponse)
    assert reply.failure == "wrong word"
    assert reply.body.error_message == (
        "Authentication failed during authentication due to invalid credentials"
        " with SASL mechanism RIDDLE"
    )
