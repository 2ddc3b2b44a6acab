"""Who a connection speaks for: SASL authentication as a table of states.

Two tables hold the rules. ``ADMISSIONS`` says what is done with a request that arrives in a state;
``TRANSITIONS`` says which state follows from what came of it. All that is missing from the first
closes the connection without an answer. ``docs/session.md`` is drawn from both.

On a listener without SASL a session is OPEN from the beginning, for ``User:ANONYMOUS``.

Source: ``SaslServerAuthenticator``, ``KafkaChannel`` and ``SocketServer`` of Kafka 4.3.1; KIP-43,
KIP-152, KIP-368.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acl.model import ANONYMOUS, Principal
from doorkeeper.authn.contract import Challenge, Failure, Success
from doorkeeper.errors import ErrorCode
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse as Authenticated
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse as Handshaken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from doorkeeper.authn.contract import (
        AuthenticationContext,
        Mechanism,
        OfferedMechanism,
        PrincipalBuilder,
        Step,
    )

REAUTHENTICATION_INTERVAL_S: Final = 1.0
"""A session is not authenticated anew within this time of the last beginning; Kafka's constant."""


class State(Enum):
    """Where a session stands."""

    INITIAL = "nothing agreed yet: the versions may be asked, a mechanism chosen"
    HANDSHAKE = "the versions are told: only a mechanism may be chosen"
    AUTHENTICATE = "tokens come in SaslAuthenticate requests"
    TOKENS = "tokens come as bare frames"
    OPEN = "authenticated, without a limit of time"
    LIMITED = "authenticated for a time"
    EXPIRED = "that time is over"
    BAD_MECHANISM = "another mechanism was asked for than the session began with"
    CLOSED = "refused"


class Arrival(Enum):
    """What came in, as far as a session cares."""

    API_VERSIONS = "ApiVersions"
    HANDSHAKE = "SaslHandshake"
    EARLY_HANDSHAKE = "SaslHandshake within a second of the last"
    AUTHENTICATE = "SaslAuthenticate"
    OTHER = "any other request"
    BARE_FRAME = "a frame that is not read as a request"


class Action(Enum):
    """What is done with it."""

    SERVE = "its handler answers (SaslHandshake and SaslAuthenticate: error 34)"
    VERSIONS = "its handler answers, and the session moves on"
    CHOOSE = "the mechanism is chosen"
    STEP = "the mechanism takes the token"
    REFUSE = "error 34 in its own form, then close"
    FAIL = "no answer, close after the delay"
    CLOSE = "no answer, close"


class Result(Enum):
    """What came of an action that moves the session."""

    VERSIONS_TOLD = "versions told"
    VERSIONS_REFUSED = "error 35 or 42"
    CHOSEN = "mechanism known, SaslHandshake 1"
    CHOSEN_BARE = "mechanism known, SaslHandshake 0"
    UNKNOWN_MECHANISM = "mechanism unknown, error 33 (no answer when authenticating anew)"
    OTHER_MECHANISM = "mechanism known, but not the one before"
    CHALLENGED = "another token is needed"
    AUTHENTICATED = "success"
    AUTHENTICATED_FOR_A_TIME = "success, with a session lifetime"
    NOBODY = "success, but no principal can be made of it"
    FAILED = "failure"


_SERVED = {Arrival.API_VERSIONS: Action.SERVE, Arrival.OTHER: Action.SERVE}

ADMISSIONS: Final[dict[State, dict[Arrival, Action]]] = {
    State.INITIAL: {
        Arrival.API_VERSIONS: Action.VERSIONS,
        Arrival.HANDSHAKE: Action.CHOOSE,
    },
    State.HANDSHAKE: {
        Arrival.HANDSHAKE: Action.CHOOSE,
    },
    State.AUTHENTICATE: {
        Arrival.AUTHENTICATE: Action.STEP,
        Arrival.API_VERSIONS: Action.REFUSE,
        Arrival.HANDSHAKE: Action.REFUSE,
        Arrival.OTHER: Action.REFUSE,
    },
    State.TOKENS: {
        Arrival.BARE_FRAME: Action.STEP,
    },
    State.OPEN: {
        **_SERVED,
        Arrival.HANDSHAKE: Action.SERVE,
        Arrival.AUTHENTICATE: Action.SERVE,
    },
    State.LIMITED: {
        **_SERVED,
        Arrival.HANDSHAKE: Action.CHOOSE,
        Arrival.EARLY_HANDSHAKE: Action.SERVE,
        Arrival.AUTHENTICATE: Action.SERVE,
    },
    State.EXPIRED: {
        Arrival.HANDSHAKE: Action.CHOOSE,
    },
    State.BAD_MECHANISM: {
        Arrival.BARE_FRAME: Action.FAIL,
    },
    State.CLOSED: {},
}
"""What is missing is closed."""

_CHOICE = {
    Result.CHOSEN: State.AUTHENTICATE,
    Result.CHOSEN_BARE: State.TOKENS,
    Result.UNKNOWN_MECHANISM: State.CLOSED,
}
_NEW_CHOICE = {**_CHOICE, Result.OTHER_MECHANISM: State.BAD_MECHANISM}
_EXCHANGE = {
    Result.AUTHENTICATED: State.OPEN,
    Result.AUTHENTICATED_FOR_A_TIME: State.LIMITED,
    Result.NOBODY: State.CLOSED,
    Result.FAILED: State.CLOSED,
}

TRANSITIONS: Final[dict[State, dict[Result, State]]] = {
    State.INITIAL: {
        Result.VERSIONS_TOLD: State.HANDSHAKE,
        Result.VERSIONS_REFUSED: State.INITIAL,
        **_CHOICE,
    },
    State.HANDSHAKE: _CHOICE,
    State.AUTHENTICATE: {Result.CHALLENGED: State.AUTHENTICATE, **_EXCHANGE},
    State.TOKENS: {Result.CHALLENGED: State.TOKENS, **_EXCHANGE},
    State.LIMITED: _NEW_CHOICE,
    State.EXPIRED: _NEW_CHOICE,
    State.BAD_MECHANISM: {Result.FAILED: State.CLOSED},
}

ARRIVALS: Final = {
    ApiVersionsRequest.API_KEY: Arrival.API_VERSIONS,
    SaslHandshakeRequest.API_KEY: Arrival.HANDSHAKE,
    SaslAuthenticateRequest.API_KEY: Arrival.AUTHENTICATE,
}
BARE_STATES: Final = frozenset({State.TOKENS, State.BAD_MECHANISM})
_BY_KEY: Final = {
    state: (
        {key: rules.get(arrival, Action.CLOSE) for key, arrival in ARRIVALS.items()},
        rules.get(Arrival.OTHER, Action.CLOSE),
    )
    for state, rules in ADMISSIONS.items()
}
OPEN_STATES: Final = frozenset({State.OPEN, State.LIMITED, State.EXPIRED})


class Reply(NamedTuple):
    """What a session answers, and whether it ends there.

    ``body`` is a response, the bytes of a bare frame, or None for no answer. ``failure`` is the
    reason for the log, without secrets, when the client is refused: the answer is then delayed
    and the connection closed. ``fault`` is what the principal builder raised: the answer leaves,
    and the next request closes the connection.
    """

    body: Handshaken | Authenticated | bytes | None
    failure: str | None = None
    fault: BaseException | None = None


class Session:
    """The authentication of one connection. All times are seconds of one steady clock.

    ``principal`` is who the client is; ``token_authenticated`` says that it logged in with a
    delegation token. ``is_open`` says that it has authenticated, or need not; ``expires_s`` when
    the time of that is over, None where it has no end; ``takes_bare_frames`` that the next frame
    has no request header.
    """

    __slots__ = (
        "_admitted",
        "_began_s",
        "_builder",
        "_context",
        "_mechanism",
        "_offered",
        "_offers",
        "_otherwise",
        "_reauthenticating",
        "_state",
        "_wrong_mechanism",
        "expires_s",
        "is_open",
        "principal",
        "takes_bare_frames",
        "token_authenticated",
    )

    def __init__(
        self,
        offers: Mapping[str, OfferedMechanism] | None,
        context: AuthenticationContext,
        builder: PrincipalBuilder,
    ) -> None:
        """Begin; ``offers`` are the listener's mechanisms by name, None without SASL."""
        self.principal: Principal = ANONYMOUS
        self.token_authenticated = False
        self._context = context
        self._builder = builder
        self._offers = offers or {}
        self._mechanism: Mechanism | None = None
        self._offered: OfferedMechanism | None = None
        self._wrong_mechanism = ""
        self._reauthenticating = False
        self.expires_s: float | None = None
        self._began_s: float | None = None
        self._enter(State.OPEN if offers is None else State.INITIAL)

    @property
    def mechanism_name(self) -> str:
        """Return Kafka's name of the mechanism that was agreed on last; empty without one."""
        return self._offered.name if self._offered else ""

    @property
    def reauthenticating(self) -> bool:
        """Say whether this is not the first authentication of the connection."""
        return self._reauthenticating

    def state(self, now_s: float) -> State:
        """Return the state; a session that is LIMITED becomes EXPIRED when its time is over."""
        if self._state is State.LIMITED and self.expires_s is not None and now_s >= self.expires_s:
            self._enter(State.EXPIRED)
        return self._state

    def admit(self, api_key: int, now_s: float) -> Action:
        """Say what to do with a request of this API."""
        if self.expires_s is not None:
            self.state(now_s)
            if ARRIVALS.get(api_key) is Arrival.HANDSHAKE and self._is_early(now_s):
                return ADMISSIONS[self._state].get(Arrival.EARLY_HANDSHAKE, Action.CLOSE)
        return self._admitted.get(api_key, self._otherwise)

    def admit_bare(self) -> Action:
        """Say what to do with a frame, where ``takes_bare_frames`` is true."""
        return ADMISSIONS[self._state].get(Arrival.BARE_FRAME, Action.CLOSE)

    def versions_answered(self, *, told: bool) -> None:
        """Note that ApiVersions was answered; ``told`` is false when it was with an error."""
        self._move(Result.VERSIONS_TOLD if told else Result.VERSIONS_REFUSED)

    def established(self, peer_certificates: tuple[bytes, ...]) -> None:
        """Take what the transport has proved; without SASL that makes the principal.

        Raises:
            Exception: whatever the principal builder raises; the session is CLOSED then.

        """
        self._context = self._context._replace(peer_certificates=peer_certificates)
        if self._state is not State.OPEN:
            return
        try:
            self.principal = self._builder.build(self._context)
        except Exception:
            self._enter(State.CLOSED)
            raise

    def choose(self, request: SaslHandshakeRequest, version: int, now_s: float) -> Reply:
        """Answer a handshake: the client names the mechanism that it wants."""
        if self.is_open:
            self._reauthenticating = True
            self._began_s = now_s
        names = tuple(self._offers)
        before, chosen = self._offered, self._offers.get(request.mechanism)
        if chosen is None:
            self._move(Result.UNKNOWN_MECHANISM)
            code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            # A broker keeps an answer for after the delay at the first authentication only.
            told = None if self._reauthenticating else Handshaken(error_code=code, mechanisms=names)
            return Reply(told, f"Unsupported SASL mechanism {request.mechanism}")
        if self._reauthenticating and before is not None and chosen.name != before.name:
            self._wrong_mechanism = chosen.name
            self._move(Result.OTHER_MECHANISM)
        else:
            self._offered, self._mechanism = chosen, chosen.begin(self._context)
            self._move(Result.CHOSEN if version >= 1 else Result.CHOSEN_BARE)
        return Reply(Handshaken(error_code=0, mechanisms=names))

    def step(self, token: bytes, now_s: float) -> Reply | Awaitable[Step]:
        """Give the mechanism a token, and the client what comes of it.

        An awaitable is the mechanism's: ``stepped`` takes what it gives, before anything else.
        """
        assert self._mechanism is not None, "STEP is admitted after CHOOSE only"
        outcome = self._mechanism.step(token)
        if isinstance(outcome, (Challenge, Success, Failure)):
            return self.stepped(outcome, now_s)
        return outcome

    def stepped(self, outcome: Step, now_s: float) -> Reply:
        """Take what came of a token. Bare tokens get bare answers, and a bare failure none."""
        bare = self._state is State.TOKENS
        if isinstance(outcome, Challenge):
            self._move(Result.CHALLENGED)
            return Reply(_token(outcome.token, bare=bare))
        if isinstance(outcome, Failure):
            return self._failed(outcome, bare=bare)
        try:
            principal = self._builder.build(self._proved(outcome))
        except Exception as error:  # noqa: BLE001 - a plug-in raises what it likes
            # A broker asks for the principal when the first request comes: the success leaves.
            self._move(Result.NOBODY)
            return Reply(_token(outcome.token, bare=bare), fault=error)
        if outcome.token_owner not in (None, principal):
            return self._failed(_of_another(outcome.token_owner, principal), bare=bare)
        if self._reauthenticating and principal != self.principal:
            return self._failed(_changed(self.principal, principal), bare=bare)
        self.principal, self.token_authenticated = principal, outcome.token_authenticated
        lifetime_ms = self._begin_lifetime(outcome, now_s)
        return Reply(_token(outcome.token, bare=bare, session_lifetime_ms=lifetime_ms))

    def fail_changed_mechanism(self) -> Reply:
        """End a session whose client came back with another mechanism."""
        self._move(Result.FAILED)
        before = self.mechanism_name
        return Reply(
            None,
            f"SASL mechanism '{self._wrong_mechanism}' requested by client is not supported"
            f" for re-authentication of mechanism '{before}'",
        )

    def _proved(self, success: Success) -> AuthenticationContext:
        return self._context._replace(
            sasl_mechanism=self._offered.name if self._offered else "",
            authorization_id=success.authorization_id,
            claims=success.claims,
        )

    def _failed(self, failure: Failure, *, bare: bool) -> Reply:
        self._move(Result.FAILED)
        if bare or not failure.answered:
            return Reply(None, failure.reason)
        text = failure.text
        if text is None:
            what = "re-authentication" if self._reauthenticating else "authentication"
            name = self.mechanism_name
            text = (
                f"Authentication failed during {what} due to invalid credentials"
                f" with SASL mechanism {name}"
            )
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
        return Reply(Authenticated(error_code=code, error_message=text), failure.reason)

    def _begin_lifetime(self, success: Success, now_s: float) -> int:
        """Open the session; return its lifetime in ms as the wire has it, 0 for none.

        A credential that has expired already is sent as 0 too, and dies on its next request.
        """
        self._mechanism = None
        bound_ms = self._offered.max_reauth_ms if self._offered else 0
        bounds = [ms for ms in (success.lifetime_ms, bound_ms or None) if ms is not None]
        if not bounds:
            self.expires_s = None
            self._move(Result.AUTHENTICATED)
            return 0
        lifetime_ms = max(0, min(bounds))
        self.expires_s = now_s + lifetime_ms / 1000
        self._move(Result.AUTHENTICATED_FOR_A_TIME)
        return lifetime_ms

    def _is_early(self, now_s: float) -> bool:
        return (
            self.is_open
            and self._began_s is not None
            and now_s - self._began_s < REAUTHENTICATION_INTERVAL_S
        )

    def _move(self, result: Result) -> None:
        self._enter(TRANSITIONS[self._state][result])

    def _enter(self, state: State) -> None:
        """Take a state, and what follows from it, so that a request costs one look-up."""
        self._state = state
        self.is_open = state in OPEN_STATES
        self.takes_bare_frames = state in BARE_STATES
        self._admitted, self._otherwise = _BY_KEY[state]


def _of_another(owner: Principal | None, principal: Principal) -> Failure:
    return Failure(None, f"the token is of {owner}, and its name makes {principal} here")


def _changed(before: Principal, after: Principal) -> Failure:
    text = (
        "Cannot change principals during re-authentication from"
        f" {before.principal_type}.{before.name}: {after.principal_type}.{after.name}"
    )
    return Failure(text, text)


def _token(token: bytes, *, bare: bool, session_lifetime_ms: int = 0) -> Authenticated | bytes:
    """Wrap a token of ours; the text of a success is empty, as a broker's is, and not null."""
    if bare:
        return token
    return Authenticated(
        error_message="", auth_bytes=token, session_lifetime_ms=session_lifetime_ms
    )
