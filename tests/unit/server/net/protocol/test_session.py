"""The table of states of a session."""

from __future__ import annotations

from typing import cast

import pytest

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.server.net.protocol.session import (
    ADMISSIONS,
    TRANSITIONS,
    Reply,
    Session,
    SessionAction,
    SessionState,
)
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    OfferedMechanism,
    Step,
    Success,
)
from doorkeeper.server.security.plain import PlainMechanism, PlainUsers
from doorkeeper.server.security.principals import DefaultPrincipalBuilder
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.edge import plain

METADATA, HANDSHAKE, API_VERSIONS, AUTHENTICATE = 3, 17, 18, 36
ALICE = Principal("User", "alice")
CONTEXT = AuthenticationContext("CLIENTS", "SASL_PLAINTEXT", "127.0.0.1")


class Expiring(PlainMechanism):
    """PLAIN whose credential has expired already."""

    def step(self, token: bytes) -> Step:
        """Accept anyone, for no time at all."""
        return Success("alice", b"", -5)


class Deciding:
    """A mechanism that has decided already."""

    def __init__(self, outcome: Step) -> None:
        self._outcome = outcome

    def step(self, token: bytes) -> Step:
        return self._outcome


def session_with(max_reauth_ms: int = 0) -> Session:
    users = PlainUsers({"alice": "alice-secret", "bob": "bob-secret"})
    offers = {
        "PLAIN": OfferedMechanism(
            "PLAIN", lambda context: PlainMechanism(users, context), max_reauth_ms
        ),
        "OTHER": OfferedMechanism(
            "OTHER", lambda context: PlainMechanism(users, context), max_reauth_ms
        ),
        "EXPIRING": OfferedMechanism(
            "EXPIRING", lambda context: Expiring(users, context), max_reauth_ms
        ),
    }
    return Session(offers, CONTEXT, DefaultPrincipalBuilder())


def stepped(session: Session, token: bytes, now_s: float = 0.0) -> Reply:
    reply = session.step(token, now_s)
    assert isinstance(reply, Reply)
    return reply


def logged_in(max_reauth_ms: int = 0, mechanism: str = "PLAIN") -> Session:
    session = session_with(max_reauth_ms)
    session.choose(SaslHandshakeRequest(mechanism=mechanism), 1, 0.0)
    assert stepped(session, plain(), 0.0).failure is None
    return session


def authenticated(body: object) -> SaslAuthenticateResponse:
    assert isinstance(body, SaslAuthenticateResponse)
    return body


def test_without_sasl_clients_are_anonymous() -> None:
    session = Session(None, CONTEXT, DefaultPrincipalBuilder())

    assert session.is_past_login
    assert session.principal == ANONYMOUS
    assert {session.admit(key, 0.0) for key in (3, 17, 18, 36)} == {SessionAction.SERVE}


class Builder:
    """Builds a principal, or fails, and remembers the contexts."""

    def __init__(self, built: Principal | Exception) -> None:
        self._built = built
        self.contexts: list[AuthenticationContext] = []

    def build(self, context: AuthenticationContext) -> Principal:
        self.contexts.append(context)
        if isinstance(self._built, Exception):
            raise self._built
        return self._built


def test_without_sasl_the_builder_receives_certificates() -> None:
    good, bad = Builder(ALICE), Builder(LookupError("no name"))
    session, refused = Session(None, CONTEXT, good), Session(None, CONTEXT, bad)

    session.start((b"certificate",))
    with pytest.raises(LookupError):
        refused.start((b"certificate",))

    assert session.principal == ALICE
    assert good.contexts == [CONTEXT._replace(peer_certificates=(b"certificate",))]
    assert (session.is_past_login, refused.is_past_login) == (True, False)
    assert refused.admit(METADATA, 0.0) is SessionAction.CLOSE


def session_of(mechanism: Deciding, builder: Builder, max_reauth_ms: int = 0) -> Session:
    """Return a session that has begun and chosen a mechanism, behind TLS."""
    offer = OfferedMechanism("ANY", lambda _: mechanism, max_reauth_ms)
    session = Session({"ANY": offer}, CONTEXT, builder)
    session.start((b"certificate",))
    assert builder.contexts == []
    session.choose(SaslHandshakeRequest(mechanism="ANY"), 1, 0.0)
    return session


def test_builder_receives_the_authentication() -> None:
    success = Success("al", b"done", claims={"sub": "al"})
    good, bad = Builder(ALICE), Builder(LookupError("no name"))
    session, refused = session_of(Deciding(success), good), session_of(Deciding(success), bad)

    assert stepped(session, b"").fault is None
    reply = stepped(refused, b"")

    expected = CONTEXT._replace(
        peer_certificates=(b"certificate",),
        sasl_mechanism="ANY",
        authorization_id="al",
        claims={"sub": "al"},
    )
    assert good.contexts == bad.contexts == [expected]
    assert authenticated(reply.body).auth_bytes == b"done"
    assert isinstance(reply.fault, LookupError)
    assert refused.principal == ANONYMOUS
    assert refused.admit(METADATA, 0.0) is SessionAction.CLOSE


async def test_mechanism_may_be_asynchronous() -> None:
    async def think() -> Step:
        return Challenge(b"more")

    mechanism = Deciding(cast("Step", think()))
    session = session_of(mechanism, Builder(ALICE))

    outcome = session.step(b"", 0.0)
    assert not isinstance(outcome, Reply)
    reply = session.complete_step(await outcome, 0.0)

    assert authenticated(reply.body).auth_bytes == b"more"
    assert session.state(0.0) is SessionState.AUTHENTICATE
    assert session.admit(AUTHENTICATE, 0.0) is SessionAction.STEP


def test_renewal_without_expiry_keeps_the_session() -> None:
    session = session_of(Deciding(Success("alice", lifetime_ms=2000)), Builder(ALICE))
    stepped(session, b"")
    ends_s = [session.expires_s]

    session._mechanisms = {"ANY": OfferedMechanism("ANY", lambda _: Deciding(Success("alice")))}
    session.choose(SaslHandshakeRequest(mechanism="ANY"), 1, 1.0)
    stepped(session, b"", 1.0)

    assert [*ends_s, session.expires_s] == [2.0, None]
    assert session.admit(METADATA, 3.0) is SessionAction.SERVE


@pytest.mark.parametrize("state", list(SessionState))
def test_state_tables_are_complete(state: SessionState) -> None:
    moving = {SessionAction.VERSIONS, SessionAction.CHOOSE, SessionAction.STEP, SessionAction.FAIL}

    assert state in ADMISSIONS
    assert (state in TRANSITIONS) == bool(moving & set(ADMISSIONS[state].values()))


def test_unauthenticated_client_may_choose_a_mechanism() -> None:
    session = session_with()

    admitted = [session.admit(key, 0.0) for key in (API_VERSIONS, HANDSHAKE, METADATA, 36)]

    assert admitted == [
        SessionAction.VERSIONS,
        SessionAction.CHOOSE,
        SessionAction.CLOSE,
        SessionAction.CLOSE,
    ]
    assert not session.is_past_login


def test_api_versions_is_answered_once() -> None:
    session = session_with()

    session.record_versions(success=False)
    assert session.admit(API_VERSIONS, 0.0) is SessionAction.VERSIONS
    session.record_versions(success=True)

    assert session.admit(API_VERSIONS, 0.0) is SessionAction.CLOSE
    assert session.admit(HANDSHAKE, 0.0) is SessionAction.CHOOSE


def test_unknown_mechanism_ends_the_session() -> None:
    """Error 33 with the mechanisms that there are, in their order; nothing more is admitted."""
    session = session_with()

    reply = session.choose(SaslHandshakeRequest(mechanism="NONSENSE"), 1, 0.0)

    assert isinstance(reply.body, SaslHandshakeResponse)
    assert reply.body.error_code == 33
    assert reply.body.mechanisms == ("PLAIN", "OTHER", "EXPIRING")
    assert reply.failure == "Unsupported SASL mechanism NONSENSE"
    assert session.state(0.0) is SessionState.CLOSED
    assert session.admit(HANDSHAKE, 0.0) is SessionAction.CLOSE


def test_other_requests_during_authentication_are_rejected() -> None:
    """After SaslHandshake 1 all but SaslAuthenticate is refused in its own form."""
    session = session_with()
    session.choose(SaslHandshakeRequest(mechanism="PLAIN"), 1, 0.0)

    admitted = [session.admit(key, 0.0) for key in (AUTHENTICATE, API_VERSIONS, HANDSHAKE, 3)]

    assert admitted == [
        SessionAction.STEP,
        SessionAction.REFUSE,
        SessionAction.REFUSE,
        SessionAction.REFUSE,
    ]


def test_success_without_a_limit() -> None:
    """PLAIN alone sets no limit: the lifetime is 0, the text empty, the session stays open."""
    session = session_with()
    session.choose(SaslHandshakeRequest(mechanism="PLAIN"), 1, 0.0)

    body = authenticated(stepped(session, plain(), 0.0).body)

    assert (body.error_code, body.error_message, body.session_lifetime_ms) == (0, "", 0)
    assert session.principal == ALICE
    assert session.state(1e9) is SessionState.OPEN
    assert session.admit(HANDSHAKE, 5.0) is SessionAction.SERVE


def test_failed_authentication_stays_anonymous() -> None:
    """A wrong password is 58 with Kafka's text, and the session is over."""
    session = session_with()
    session.choose(SaslHandshakeRequest(mechanism="PLAIN"), 1, 0.0)

    reply = stepped(session, plain("alice", "wrong"), 0.0)

    body = authenticated(reply.body)
    assert body.error_code == 58
    assert body.error_message == "Authentication failed: Invalid username or password"
    assert reply.failure == body.error_message
    assert session.principal == ANONYMOUS
    assert not session.is_past_login


def test_session_expires() -> None:
    session = logged_in(max_reauth_ms=2000)

    assert session.admit(METADATA, 1.9) is SessionAction.SERVE
    assert session.admit(METADATA, 2.0) is SessionAction.CLOSE
    assert session.admit(AUTHENTICATE, 2.0) is SessionAction.CLOSE
    assert session.admit(API_VERSIONS, 2.0) is SessionAction.CLOSE
    assert session.admit(HANDSHAKE, 2.0) is SessionAction.CHOOSE


def test_expired_credential_ends_on_next_request() -> None:
    """A lifetime below 0 is told as 0, which means none, and yet it is over at once."""
    session = session_with()
    session.choose(SaslHandshakeRequest(mechanism="EXPIRING"), 1, 0.0)

    body = authenticated(stepped(session, b"x", 0.0).body)

    assert body.session_lifetime_ms == 0
    assert session.admit(METADATA, 0.0) is SessionAction.CLOSE


def test_reauthentication() -> None:
    """A handshake on a limited session begins anew; success gives it its whole time again."""
    session = logged_in(max_reauth_ms=2000)

    assert session.admit(HANDSHAKE, 1.5) is SessionAction.CHOOSE
    session.choose(SaslHandshakeRequest(mechanism="PLAIN"), 1, 1.5)
    assert session.reauthenticating
    assert not session.is_past_login
    assert session.principal == ALICE
    body = authenticated(stepped(session, plain(), 1.6).body)

    assert body.session_lifetime_ms == 2000
    assert session.state(3.5) is SessionState.LIMITED
    assert session.state(3.6) is SessionState.EXPIRED


def test_reauthentication_is_limited_to_once_a_second() -> None:
    """A handshake within a second of the last beginning is an ordinary request: error 34."""
    session = logged_in(max_reauth_ms=500)
    session.choose(SaslHandshakeRequest(mechanism="PLAIN"), 1, 0.25)
    stepped(session, plain(), 0.25)

    assert session.admit(HANDSHAKE, 0.7) is SessionAction.SERVE
    assert session.admit(HANDSHAKE, 0.8) is SessionAction.CLOSE  # too early, and expired
    assert session.admit(HANDSHAKE, 1.25) is SessionAction.CHOOSE  # a second later


def test_principal_cannot_change() -> None:
    """Another user on the same connection is 58, whose text names both."""
    session = logged_in(max_reauth_ms=60_000)
    session.choose(SaslHandshakeRequest(mechanism="PLAIN"), 1, 5.0)

    body = authenticated(stepped(session, plain("bob"), 5.0).body)

    assert body.error_code == 58
    assert body.error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )
    assert session.principal == ALICE
    assert not session.is_past_login


@pytest.mark.parametrize(("owner", "is_past_login"), [("User", True), ("Role", False)])
def test_token_authenticates_only_its_owner(owner: str, is_past_login: bool) -> None:
    success = Success("alice", token_authenticated=True, token_owner=Principal(owner, "alice"))
    offers = {"TOKEN": OfferedMechanism("TOKEN", lambda _: Deciding(success))}
    session = Session(offers, CONTEXT, DefaultPrincipalBuilder())
    session.choose(SaslHandshakeRequest(mechanism="TOKEN"), 1, 0.0)

    reply = stepped(session, b"")

    assert session.is_past_login is is_past_login
    assert session.token_authenticated is is_past_login
    assert session.principal == (ALICE if is_past_login else ANONYMOUS)
    text = (
        "Authentication failed during authentication due to invalid credentials with SASL"
        " mechanism TOKEN"
    )
    assert authenticated(reply.body).error_message == ("" if is_past_login else text)
    reason = "the token is of Role:alice, and its name makes User:alice here"
    assert reply.failure == (None if is_past_login else reason)


def test_unknown_mechanism_at_reauthentication_is_not_answered() -> None:
    """Who comes back with a mechanism that is not enabled is closed without error 33, as on a
    broker, which answers it to strangers only.
    """
    session = logged_in(max_reauth_ms=60_000)

    reply = session.choose(SaslHandshakeRequest(mechanism="NONE"), 1, 5.0)

    assert reply == Reply(None, "Unsupported SASL mechanism NONE")
    assert session.state(5.0) is SessionState.CLOSED


def test_mechanism_cannot_change() -> None:
    session = logged_in(max_reauth_ms=60_000)

    reply = session.choose(SaslHandshakeRequest(mechanism="OTHER"), 1, 5.0)

    assert isinstance(reply.body, SaslHandshakeResponse)
    assert reply.body.error_code == 0
    assert session.takes_bare_frames
    assert session.admit_bare() is SessionAction.FAIL
    reason = (
        "SASL mechanism 'OTHER' requested by client is not supported for re-authentication of"
        " mechanism 'PLAIN'"
    )
    assert session.fail_changed_mechanism() == Reply(None, reason)
    assert session.state(5.0) is SessionState.CLOSED
