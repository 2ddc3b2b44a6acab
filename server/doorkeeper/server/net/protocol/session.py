"""The authentication of a connection (SASL) as a state machine in two tables.

``ADMISSIONS`` maps a state and an arriving request to an action; without an entry, the connection
is closed without an answer. ``TRANSITIONS`` maps a state and the result of an action to the next
state. ``docs/reference/session.md`` is generated from both.

Without SASL a session is OPEN from the beginning, for ``User:ANONYMOUS``.

Source: ``SaslServerAuthenticator``, ``KafkaChannel`` and ``SocketServer`` of Kafka 4.3.1; KIP-43,
KIP-152, KIP-368.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.base.errors import ErrorCode
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    Failure,
    Mechanism,
    OfferedMechanism,
    PrincipalBuilder,
    Step,
    Success,
)
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse as Authenticated
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse as Handshaken

REAUTHENTICATION_INTERVAL_S: Final = 1.0
"""The least time between two authentications of a session; Kafka's constant."""


class SessionState(Enum):
    """The state of a session."""

    INITIAL = "no mechanism chosen: ApiVersions or SaslHandshake may come"
    HANDSHAKE = "versions answered: only a mechanism may be chosen"
    AUTHENTICATE = "tokens come in SaslAuthenticate requests"
    TOKENS = "tokens come as bare frames"
    OPEN = "authenticated, without a session lifetime"
    LIMITED = "authenticated, with a session lifetime"
    EXPIRED = "the session lifetime is over"
    BAD_MECHANISM = "re-authentication with another mechanism"
    CLOSED = "refused"


class Arrival(Enum):
    """The kind of an incoming request."""

    API_VERSIONS = "ApiVersions"
    HANDSHAKE = "SaslHandshake"
    EARLY_HANDSHAKE = "SaslHandshake within a second of the last"
    AUTHENTICATE = "SaslAuthenticate"
    OTHER = "any other request"
    BARE_FRAME = "a frame that is not read as a request"


class SessionAction(Enum):
    """The action for an incoming request."""

    SERVE = "its handler answers (SaslHandshake and SaslAuthenticate: error 34)"
    VERSIONS = "its handler answers, and the session moves on"
    CHOOSE = "the mechanism is chosen"
    STEP = "the mechanism takes the token"
    REFUSE = "error 34 in its own form, then close"
    FAIL = "no answer, close after the delay"
    CLOSE = "no answer, close"


class Result(Enum):
    """The result of an action, which selects the next state."""

    VERSIONS_ANSWERED = "versions answered"
    VERSIONS_REFUSED = "error 35 or 42"
    CHOSEN = "mechanism known, SaslHandshake 1"
    CHOSEN_BARE = "mechanism known, SaslHandshake 0"
    UNKNOWN_MECHANISM = "mechanism unknown, error 33 (no answer when re-authenticating)"
    OTHER_MECHANISM = "mechanism known, but not the first one"
    CHALLENGED = "another token is needed"
    AUTHENTICATED = "success"
    AUTHENTICATED_FOR_A_TIME = "success, with a session lifetime"
    NO_PRINCIPAL = "success, but the principal builder fails"
    FAILED = "failure"


_SERVED = {Arrival.API_VERSIONS: SessionAction.SERVE, Arrival.OTHER: SessionAction.SERVE}

ADMISSIONS: Final[dict[SessionState, dict[Arrival, SessionAction]]] = {
    SessionState.INITIAL: {
        Arrival.API_VERSIONS: SessionAction.VERSIONS,
        Arrival.HANDSHAKE: SessionAction.CHOOSE,
    },
    SessionState.HANDSHAKE: {
        Arrival.HANDSHAKE: SessionAction.CHOOSE,
    },
    SessionState.AUTHENTICATE: {
        Arrival.AUTHENTICATE: SessionAction.STEP,
        Arrival.API_VERSIONS: SessionAction.REFUSE,
        Arrival.HANDSHAKE: SessionAction.REFUSE,
        Arrival.OTHER: SessionAction.REFUSE,
    },
    SessionState.TOKENS: {
        Arrival.BARE_FRAME: SessionAction.STEP,
    },
    SessionState.OPEN: {
        **_SERVED,
        Arrival.HANDSHAKE: SessionAction.SERVE,
        Arrival.AUTHENTICATE: SessionAction.SERVE,
    },
    SessionState.LIMITED: {
        **_SERVED,
        Arrival.HANDSHAKE: SessionAction.CHOOSE,
        Arrival.EARLY_HANDSHAKE: SessionAction.SERVE,
        Arrival.AUTHENTICATE: SessionAction.SERVE,
    },
    SessionState.EXPIRED: {
        Arrival.HANDSHAKE: SessionAction.CHOOSE,
    },
    SessionState.BAD_MECHANISM: {
        Arrival.BARE_FRAME: SessionAction.FAIL,
    },
    SessionState.CLOSED: {},
}
"""An arrival without an entry closes the connection."""

_CHOICE = {
    Result.CHOSEN: SessionState.AUTHENTICATE,
    Result.CHOSEN_BARE: SessionState.TOKENS,
    Result.UNKNOWN_MECHANISM: SessionState.CLOSED,
}
_NEW_CHOICE = {**_CHOICE, Result.OTHER_MECHANISM: SessionState.BAD_MECHANISM}
_EXCHANGE = {
    Result.AUTHENTICATED: SessionState.OPEN,
    Result.AUTHENTICATED_FOR_A_TIME: SessionState.LIMITED,
    Result.NO_PRINCIPAL: SessionState.CLOSED,
    Result.FAILED: SessionState.CLOSED,
}

TRANSITIONS: Final[dict[SessionState, dict[Result, SessionState]]] = {
    SessionState.INITIAL: {
        Result.VERSIONS_ANSWERED: SessionState.HANDSHAKE,
        Result.VERSIONS_REFUSED: SessionState.INITIAL,
        **_CHOICE,
    },
    SessionState.HANDSHAKE: _CHOICE,
    SessionState.AUTHENTICATE: {Result.CHALLENGED: SessionState.AUTHENTICATE, **_EXCHANGE},
    SessionState.TOKENS: {Result.CHALLENGED: SessionState.TOKENS, **_EXCHANGE},
    SessionState.LIMITED: _NEW_CHOICE,
    SessionState.EXPIRED: _NEW_CHOICE,
    SessionState.BAD_MECHANISM: {Result.FAILED: SessionState.CLOSED},
}

ARRIVALS: Final = {
    ApiVersionsRequest.API_KEY: Arrival.API_VERSIONS,
    SaslHandshakeRequest.API_KEY: Arrival.HANDSHAKE,
    SaslAuthenticateRequest.API_KEY: Arrival.AUTHENTICATE,
}
BARE_STATES: Final = frozenset({SessionState.TOKENS, SessionState.BAD_MECHANISM})
_BY_KEY: Final = {
    state: (
        {key: rules.get(arrival, SessionAction.CLOSE) for key, arrival in ARRIVALS.items()},
        rules.get(Arrival.OTHER, SessionAction.CLOSE),
    )
    for state, rules in ADMISSIONS.items()
}
OPEN_STATES: Final = frozenset({SessionState.OPEN, SessionState.LIMITED, SessionState.EXPIRED})


class Reply(Struct, frozen=True):
    """The answer of a session, and whether the session ends.

    ``body`` is a response, the bytes of a bare frame, or None for no answer. ``failure`` is the
    reason for the log, without secrets, if the client is refused: the answer is then delayed and
    the connection closed. ``fault`` is the exception of the principal builder: the answer is sent,
    and the next request closes the connection.
    """

    body: Handshaken | Authenticated | bytes | None
    failure: str | None = None
    fault: BaseException | None = None


class Session:
    """The authentication of one connection. All times are seconds of one monotonic clock.

    ``token_authenticated``: the client logged in with a delegation token. ``is_past_login``: it
    authenticated, or need not. ``expires_s``: the end of the session, None without one.
    ``takes_bare_frames``: the next frame has no request header.
    ``refusal`` is why the login has failed while the client has yet to acknowledge it; else empty.
    """

    __slots__ = (
        "_admitted",
        "_began_s",
        "_builder",
        "_context",
        "_mechanism",
        "_mechanisms",
        "_offered",
        "_otherwise",
        "_state",
        "_wrong_mechanism",
        "expires_s",
        "is_past_login",
        "principal",
        "reauthenticating",
        "refusal",
        "takes_bare_frames",
        "token_authenticated",
    )

    def __init__(
        self,
        mechanisms: Mapping[str, OfferedMechanism] | None,
        context: AuthenticationContext,
        builder: PrincipalBuilder,
    ) -> None:
        """``mechanisms`` are the listener's, by name; None without SASL."""
        self.principal: Principal = ANONYMOUS
        self.token_authenticated = False
        self._context = context
        self._builder = builder
        self._mechanisms = mechanisms or {}
        self._mechanism: Mechanism | None = None
        self._offered: OfferedMechanism | None = None
        self._wrong_mechanism = ""
        self.refusal = ""
        self.reauthenticating = False
        """Whether this is not the first authentication of the connection."""
        self.expires_s: float | None = None
        self._began_s: float | None = None
        self._enter(SessionState.OPEN if mechanisms is None else SessionState.INITIAL)

    @property
    def mechanism_name(self) -> str:
        """Return Kafka's name of the mechanism chosen last; empty without one."""
        return self._offered.name if self._offered else ""

    def state(self, now_s: float) -> SessionState:
        """Return the state; LIMITED becomes EXPIRED at its time."""
        if (
            self._state is SessionState.LIMITED
            and self.expires_s is not None
            and now_s >= self.expires_s
        ):
            self._enter(SessionState.EXPIRED)
        return self._state

    def admit(self, api_key: int, now_s: float) -> SessionAction:
        """Return the action for a request of this API."""
        if self.expires_s is not None:
            self.state(now_s)
            if ARRIVALS.get(api_key) is Arrival.HANDSHAKE and self._is_early(now_s):
                return ADMISSIONS[self._state].get(Arrival.EARLY_HANDSHAKE, SessionAction.CLOSE)
        return self._admitted.get(api_key, self._otherwise)

    def admit_bare(self) -> SessionAction:
        """Return the action for a frame where ``takes_bare_frames`` is true."""
        return ADMISSIONS[self._state].get(Arrival.BARE_FRAME, SessionAction.CLOSE)

    def record_versions(self, *, success: bool) -> None:
        """Move on after ApiVersions was answered."""
        self._move(Result.VERSIONS_ANSWERED if success else Result.VERSIONS_REFUSED)

    def start(self, peer_certificates: tuple[bytes, ...]) -> None:
        """Take the certificates of the transport; without SASL, build the principal.

        Raises:
            Exception: of the principal builder; the session is then CLOSED.
        """
        self._context = self._context._replace(peer_certificates=peer_certificates)
        if self._state is not SessionState.OPEN:
            return
        try:
            self.principal = self._builder.build(self._context)
        except Exception:
            self._enter(SessionState.CLOSED)
            raise

    def choose(self, request: SaslHandshakeRequest, version: int, now_s: float) -> Reply:
        """Answer a SaslHandshake: the client names its mechanism."""
        if self.is_past_login:
            # From here a failure closes an open connection, and the principal must stay the same.
            self.reauthenticating = True
            self._began_s = now_s
        # In the order of sasl.enabled.mechanisms; a broker's order is that of a hash.
        names = tuple(self._mechanisms)
        before, chosen = self._offered, self._mechanisms.get(request.mechanism)
        if chosen is None:
            self._move(Result.UNKNOWN_MECHANISM)
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            # A broker keeps an answer for after the delay at the first authentication only.
            answer = (
                None if self.reauthenticating else Handshaken(error_code=code, mechanisms=names)
            )
            return Reply(answer, f"Unsupported SASL mechanism {request.mechanism}")
        if self.reauthenticating and before is not None and chosen.name != before.name:
            self._wrong_mechanism = chosen.name
            self._move(Result.OTHER_MECHANISM)
        else:
            self._offered, self._mechanism = chosen, chosen.begin(self._context)
            self._move(Result.CHOSEN if version >= 1 else Result.CHOSEN_BARE)
        return Reply(Handshaken(error_code=0, mechanisms=names))

    def step(self, token: bytes, now_s: float) -> Reply | Awaitable[Step]:
        """Pass a token to the mechanism, and return its reply.

        An awaitable is the mechanism's: pass its result to ``complete_step`` before anything else.
        """
        assert self._mechanism is not None, "STEP is admitted after CHOOSE only"
        outcome = self._mechanism.step(token)
        if isinstance(outcome, (Challenge, Success, Failure)):
            return self.complete_step(outcome, now_s)
        return outcome

    def complete_step(self, outcome: Step, now_s: float) -> Reply:
        """Reply to a token. A bare token has a bare reply; a bare failure has none."""
        bare = self._state is SessionState.TOKENS
        self.refusal = outcome.refusal if isinstance(outcome, Challenge) else ""
        if isinstance(outcome, Challenge):
            self._move(Result.CHALLENGED)
            return Reply(_token(outcome.token, bare=bare))
        if isinstance(outcome, Failure):
            return self._fail(outcome, bare=bare)
        try:
            context = self._context._replace(
                sasl_mechanism=self.mechanism_name,
                authorization_id=outcome.authorization_id,
                claims=outcome.claims,
            )
            principal = self._builder.build(context)
        except Exception as error:  # a plug-in raises what it likes
            # A broker asks for the principal when the first request comes: the success leaves.
            self._move(Result.NO_PRINCIPAL)
            return Reply(_token(outcome.token, bare=bare), fault=error)
        # A delegation token belongs to one principal; a principal builder of a listener may derive
        # another one from the same name.
        owner = outcome.token_owner
        if owner not in (None, principal):
            reason = f"the token is of {owner}, and its name makes {principal} here"
            return self._fail(Failure(None, reason), bare=bare)
        if self.reauthenticating and principal != self.principal:
            return self._fail(_principal_change(self.principal, principal), bare=bare)
        self.principal, self.token_authenticated = principal, outcome.token_authenticated
        lifetime_ms = self._begin_lifetime(outcome, now_s)
        return Reply(_token(outcome.token, bare=bare, session_lifetime_ms=lifetime_ms))

    def fail_changed_mechanism(self) -> Reply:
        """End a session whose client re-authenticates with another mechanism."""
        self._move(Result.FAILED)
        return Reply(
            None,
            f"SASL mechanism '{self._wrong_mechanism}' requested by client is not supported"
            f" for re-authentication of mechanism '{self.mechanism_name}'",
        )

    def _fail(self, failure: Failure, *, bare: bool) -> Reply:
        self._move(Result.FAILED)
        if bare or not failure.answered:
            return Reply(None, failure.reason)
        text = failure.text
        if text is None:
            what = "re-authentication" if self.reauthenticating else "authentication"
            text = (
                f"Authentication failed during {what} due to invalid credentials"
                f" with SASL mechanism {self.mechanism_name}"
            )
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
        return Reply(Authenticated(error_code=code, error_message=text), failure.reason)

    def _begin_lifetime(self, success: Success, now_s: float) -> int:
        """Open the session; return its lifetime in ms as on the wire, 0 for none.

        A credential that has already expired also returns 0; its next request closes the
        connection.
        """
        self._mechanism = None
        bound_ms = self._offered.max_reauth_ms if self._offered else 0
        bounds = [ms for ms in (success.lifetime_ms, bound_ms or None) if ms is not None]
        if not bounds:
            self.expires_s = None
            self._move(Result.AUTHENTICATED)
            return 0
        # The shorter one of the credential's lifetime and connections.max.reauth.ms, as in KIP-368.
        lifetime_ms = max(0, min(bounds))
        # Relative to the monotonic clock: a change of the wall clock does not end sessions.
        self.expires_s = now_s + lifetime_ms / 1000
        self._move(Result.AUTHENTICATED_FOR_A_TIME)
        return lifetime_ms

    def _is_early(self, now_s: float) -> bool:
        return (
            self.is_past_login
            and self._began_s is not None
            and now_s - self._began_s < REAUTHENTICATION_INTERVAL_S
        )

    def _move(self, result: Result) -> None:
        self._enter(TRANSITIONS[self._state][result])

    def _enter(self, state: SessionState) -> None:
        """Enter a state, and precompute its rules, so that each request costs one look-up."""
        self._state = state
        self.is_past_login = state in OPEN_STATES
        self.takes_bare_frames = state in BARE_STATES
        self._admitted, self._otherwise = _BY_KEY[state]


def _principal_change(before: Principal, after: Principal) -> Failure:
    text = (
        "Cannot change principals during re-authentication from"
        f" {before.principal_type}.{before.name}: {after.principal_type}.{after.name}"
    )
    return Failure(text, text)


def _token(token: bytes, *, bare: bool, session_lifetime_ms: int = 0) -> Authenticated | bytes:
    """Wrap a token; the text of a success is empty, as a broker's is, and not null."""
    if bare:
        return token
    return Authenticated(
        error_message="", auth_bytes=token, session_lifetime_ms=session_lifetime_ms
    )
