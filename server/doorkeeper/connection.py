"""One connection without its socket: bytes in, answers out, in the order of the requests.

    again(data, now_s)  answers bytes that are one request which was answered before
    receive(data)       takes bytes, cut anywhere
    repeats(now_s, ..)  answers the frames that are next for as long as they were answered before
    advance(now_s)      handles the next complete frame and says what came of it:
        bytes           the answer, ready for the socket
        Update          the authorizer or the topics must change something first
        Lengthy         an answer whose body is made in pieces
        Authenticating  a mechanism takes its time over a token
        Refused         an authentication failed: answer and close, both after the delay
        Closed          nothing can be answered: close
        None            there is no complete frame
    finish(update, results)   makes the answer to an Update
    lengthened(lengthy, body)   makes the answer of a body that was made in pieces
    authenticated(pending, step, now_s)   goes on with an Authenticating

Nothing here logs, waits or knows what time it is. What somebody should read about is appended to
``notes``, and what is only counted to ``counts``.

Source: ``SocketServer``, ``RequestContext``, ``SaslServerAuthenticator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.acl_rows import Description
from doorkeeper.answer_codes import code_of
from doorkeeper.answering import End, encoded, framed, key_of, told_of, unfit
from doorkeeper.authn.contract import AuthenticationContext
from doorkeeper.authorizer.contract import AuthorizableRequestContext
from doorkeeper.client_limits import HOLDS_ACLS, ClientLimits
from doorkeeper.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.exchange import (
    UPDATES,
    Answered,
    Authenticating,
    Closed,
    Lengthy,
    Login,
    Note,
    Refused,
    Update,
)
from doorkeeper.node import RequestContext
from doorkeeper.plug_ins import one_line
from doorkeeper.remembering import recollection
from doorkeeper.session import Action, Reply, Session, State
from doorkeeper.unreadable import header_fault, size_fault, where
from doorkeeper_wire.api_keys import API_NAMES, ApiKey
from doorkeeper_wire.errors import InvalidFrame, Malformed, Unencodable, UnknownApi
from doorkeeper_wire.framing import FrameBuffer
from doorkeeper_wire.headers import decode_request_header
from doorkeeper_wire.reading import bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.api import Api
    from doorkeeper.authn.contract import OfferedMechanism, PrincipalBuilder, Step
    from doorkeeper.exchange import Advance, Counts, Peer
    from doorkeeper.limits import Limits
    from doorkeeper.node import Node, Response
    from doorkeeper.remembering import AnswerMemory
    from doorkeeper_wire.headers import RequestHeader

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)
UNSUPPORTED_VERSION: Final = ApiError(ErrorCode.UNSUPPORTED_VERSION)

NOBODY: Final = "no principal could be made"


class Connection:
    """The protocol's side of one connection."""

    __slots__ = (
        "_apis",
        "_client",
        "_counts",
        "_description",
        "_ended",
        "_fault",
        "_frames",
        "_input",
        "_limits",
        "_node",
        "_peer",
        "_queued",
        "_recollection",
        "_request_bytes",
        "_session",
        "answered",
        "answers",
        "notes",
    )

    def __init__(
        self,
        peer: Peer,
        *,
        node: Node,
        apis: Callable[[int], Api | None],
        mechanisms: Mapping[str, OfferedMechanism] | None,
        builder: PrincipalBuilder,
        limits: Limits,
        counts: Counts,
        memory: AnswerMemory | None = None,
    ) -> None:
        """Begin; ``mechanisms`` is None on a listener without SASL, ``builder`` the listener's.

        Without a ``memory`` every answer is made anew.
        """
        self._peer = peer
        self._node = node
        self._apis = apis
        self._limits = limits
        self._counts = counts
        context = AuthenticationContext(peer.listener_name, peer.security_protocol, peer.host)
        self._session = Session(mechanisms, context, builder)
        self._input = FrameBuffer(self._frame_bytes_max)
        self._frames: deque[bytes] = deque()
        self._queued = 0
        self._fault: InvalidFrame | None = None
        self._ended = False
        self._description = peer.description
        self._client = ClientLimits()
        self.notes: list[Note | Login] = []
        self.answered: list[tuple[int, int]] = []
        """What was answered: the key of each API, and the error code that stands for the answer.

        For who counts answers, and empties it. Bare frames have no API.
        """
        self._recollection = recollection(
            memory, peer, self._session, self._client, counts, self.answered
        )
        self.answers: list[Answered] | None = None
        """What was answered, for who tells of it and empties it; None while nobody does."""
        self._request_bytes = 0

    @property
    def peer(self) -> Peer:
        """Return who is connected to what."""
        return self._peer

    @property
    def session(self) -> Session:
        """Return the state of the authentication."""
        return self._session

    @property
    def waiting(self) -> bool:
        """Say whether ``advance`` has something to do."""
        return bool(self._frames) or (self._fault is not None and not self._ended)

    @property
    def is_empty(self) -> bool:
        """Say whether everything that was received has been handled."""
        return not self._frames and not self._input.buffered and self._fault is None

    @property
    def buffered(self) -> int:
        """Return how many bytes are held here: complete frames and the beginning of the next."""
        return self._queued + self._input.buffered

    def established(self, peer_certificates: tuple[bytes, ...] = ()) -> Closed | None:
        """Begin with what the transport has proved; say why where it ends at once.

        Certificates are in DER, the client's own first. To be called once, before ``receive``.
        """
        try:
            self._session.established(peer_certificates)
        except Exception as error:  # noqa: BLE001 - a plug-in raises what it likes
            self._ended = True
            self.notes += [_nobody(error), self._login(None, NOBODY)]
            return Closed("")
        if peer_certificates and self._session.is_open:
            self.notes.append(self._login(None))
        return None

    def again(self, data: bytes, now_s: float) -> bytes | None:
        """Answer at once what is one request and was answered before; else take nothing."""
        if (
            self._recollection is None
            or self.answers is not None
            or self._frames
            or self._ended
            or self._fault is not None
            or not self._input.is_between_frames
        ):
            return None
        return self._recollection.repeated(data[:8] + data[12:], data[8:12], now_s)

    def receive(self, data: bytes) -> None:
        """Take bytes from the peer."""
        if self._fault is not None or self._ended:
            return
        try:
            frames = self._input.receive(data)
        except InvalidFrame as fault:
            # Its traceback refers to this connection: a circle, which the collector may never see.
            self._fault = fault.with_traceback(None)
            return
        if frames:
            self._frames.extend(frames)
            self._queued += sum(map(len, frames))

    def repeats(self, now_s: float, answers_max: int, bytes_max: int) -> list[bytes]:
        """Answer what is next for as long as it was answered before, where more than one waits."""
        return self._repeated(now_s, answers_max, bytes_max) if len(self._frames) > 1 else []

    def advance(self, now_s: float) -> Advance:
        """Handle the next frame; ``now_s`` is read from a steady clock."""
        if self._ended:
            return None
        if self._frames:
            if repeated := self._repeated(now_s, 1, 1):
                return repeated[0]
        else:
            # The size behind the last frame is judged only now, by the cap that holds now.
            self.receive(b"")
        try:
            result = self._next(now_s)
        except End as end:
            result = end.closed
        return self._noted(result)

    def authenticated(self, pending: Authenticating, step: Step, now_s: float) -> Advance:
        """Go on with an authentication whose mechanism has taken its time."""
        return self._resumed(
            lambda: self._replied(pending.header, self._session.stepped(step, now_s))
        )

    def _resumed(self, work: Callable[[], Advance]) -> Advance:
        """Go on with what has waited."""
        try:
            result = work()
        except End as end:
            result = end.closed
        self._input.size_max = self._frame_bytes_max
        if self._recollection is not None:
            self._recollection.forget_asker()
        return self._noted(result)

    def _noted(self, result: Advance) -> Advance:
        """Forget what is left where the connection ends."""
        if isinstance(result, (Closed, Refused)):
            self._ended = True
            self._frames.clear()
            self._queued = 0
        return result

    def finish(self, update: Update, results: Sequence[Any]) -> bytes | Closed:
        """Make the answer to an update from the results of its items, which are in order."""
        try:
            response = update.outcome.finish(results)
            return self._answer(update.api, update.request, update.header, response)
        except End as end:
            return end.closed
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return self.refuse(update, error)

    def refuse(self, update: Update, error: BaseException) -> bytes | Closed:
        """Make the answer to an update that failed as a whole."""
        try:
            return self._refusal(update.api, update.request, update.header, error)
        except End as end:
            return end.closed

    def lengthened(self, lengthy: Lengthy, body: bytes | Exception) -> bytes | Closed:
        """Make the answer whose body has been made, or failed to be."""
        header = lengthy.header
        try:
            if isinstance(body, Unencodable):
                raise unfit(header, header.api_version, body)
            if isinstance(body, Exception):
                return self._refusal(lengthy.api, lengthy.request, header, body)
        except End as end:
            return end.closed
        answer = self._answered(header, lengthy.response, framed(header, body))
        if lengthy.left is not None and self._recollection is not None:
            self._recollection.keep(lengthy.left, lengthy.frame, answer, self.answered[-1])
        return answer

    # --- frames

    def _repeated(self, now_s: float, answers_max: int, bytes_max: int) -> list[bytes]:
        """Take frames that were answered before, where that is still true; return the answers."""
        if self._recollection is None or self.answers is not None:
            return []
        answers = self._recollection.repeated_in_a_row(self._frames, now_s, answers_max, bytes_max)
        self._queued -= sum(len(self._frames.popleft()) for _ in answers)
        return answers

    def _next(self, now_s: float) -> Advance:
        if self._frames:
            frame = self._frames.popleft()
            self._queued -= len(frame)
            return self._handled(frame, now_s)
        fault = self._fault
        if fault is None:
            return None
        if not self._session.is_open:
            return self._refused(b"", "Failing SASL authentication due to invalid receive size")
        raise End(*size_fault(fault))

    def _handled(self, frame: bytes, now_s: float) -> Advance:
        session = self._session
        if session.takes_bare_frames:
            result: Advance = self._bare(frame, now_s)
        else:
            frame = bounded(frame, self._limits.elements_max)
            self._request_bytes = len(frame)
            header, offset = self._header(frame)
            self._counts.requests += 1
            action = session.admit(header.api_key, now_s)
            if action is Action.SERVE:
                return self._serve(header, Body(frame, offset))
            result = self._authenticate(action, header, Body(frame, offset), now_s)
        if self._recollection is not None:
            self._recollection.forget_asker()
        self._input.size_max = self._frame_bytes_max
        return result

    @property
    def _frame_bytes_max(self) -> int:
        limits = self._limits
        return limits.frame_bytes_max if self._session.is_open else limits.sasl_frame_bytes_max

    def _bare(self, frame: bytes, now_s: float) -> bytes | Authenticating | Refused:
        """Take a frame without a header."""
        if self._session.admit_bare() is Action.FAIL:
            return self._replied(None, self._session.fail_changed_mechanism())
        return self._stepped(None, frame, now_s)

    def _stepped(
        self, header: RequestHeader | None, token: bytes, now_s: float
    ) -> bytes | Authenticating | Refused:
        reply = self._session.step(token, now_s)
        if isinstance(reply, Reply):
            return self._replied(header, reply)
        return Authenticating(reply, header)

    def _header(self, frame: bytes) -> tuple[RequestHeader, int]:
        try:
            return decode_request_header(frame)
        except (Malformed, UnknownApi) as error:
            raise End(*header_fault(error, is_open=self._session.is_open)) from None

    # --- requests of a client that may make them

    def _serve(self, header: RequestHeader, body: Body) -> Advance:
        api = self._api(header)
        if not api.min_version <= header.api_version <= api.max_version:
            return self._unsupported(api, header)
        recall = self._recollection
        watch = None if recall is None else recall.watch(api.key, self.notes)
        request = self._decoded(api, header, body)
        context = self._context(header)
        try:
            outcome: Any = api.handle(request, context, self._node)
        except Malformed as error:
            # The body is well-formed, but what it says is refused where a broker parses it.
            raise self._malformed(header, error) from None
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            return self._refusal(api, request, header, error)
        if outcome.__class__ in UPDATES:
            change: Any = outcome
            return Update(change, context, api, request, header)
        if outcome.__class__ is Description and outcome.is_long:
            left = None if watch is None or recall is None else recall.left(watch, self.notes)
            pieces = outcome.pieces(header.api_version)
            return Lengthy(pieces, outcome, api, request, header, body.frame, left)
        answer = self._answer(api, request, header, outcome)
        if watch is not None and recall is not None:
            left = recall.left(watch, self.notes)
            if left is not None:
                recall.keep(left, body.frame, answer, self.answered[-1])
        return answer

    def _api(self, header: RequestHeader) -> Api:
        """Return the API, if it is offered on this listener."""
        api = self._apis(header.api_key)
        if api is None or not (api.on_controller if self._peer.controller else api.on_broker):
            raise End(f"Received request for disabled api with key {key_of(header)}")
        return api

    def _unsupported(
        self, api: Api, header: RequestHeader, error: ApiError = UNSUPPORTED_VERSION
    ) -> bytes:
        """Answer a version that the API does not have: only ApiVersions gets an answer, in v0."""
        if api.key == API_VERSIONS:
            # The body is not read: nobody knows what it holds.
            response = api.refuse(None, header.api_version, error)
            assert response is not None, "ApiVersions has a form for errors"
            return self._encoded(header, response, version=0)
        raise End(
            f"Received request for api with key {key_of(header)} and unsupported version"
            f" {header.api_version}",
            told_of(header, self._session.principal),
        )

    def _decoded(self, api: Api, header: RequestHeader, body: Body) -> Any:  # noqa: ANN401 - the API's own class
        frame, offset = body
        try:
            request, end = api.request.decode(frame, offset, header.api_version)
        except Malformed as error:
            raise self._malformed(header, error) from None
        if end != len(frame):
            self._counts.trailing_bytes += len(frame) - end
        if api.key == API_VERSIONS:
            self._client.introduced(request, header.api_version)
        return request

    def _malformed(self, header: RequestHeader, error: Malformed) -> End:
        return End(
            f"Error getting request for apiKey: {API_NAMES[header.api_key]}, apiVersion:"
            f" {header.api_version}",
            {**told_of(header, self._session.principal), **where(error)},
        )

    def _answer(
        self, api: Api, request: object, header: RequestHeader, response: Response
    ) -> bytes:
        if response.__class__ in HOLDS_ACLS:
            return self._bearable(api, request, header, response)
        return self._encoded(header, response)

    def _bearable(
        self, api: Api, request: object, header: RequestHeader, response: Response
    ) -> bytes:
        """Answer as far as the client's software is known to take it."""
        settings = self._node.settings
        kept, withheld = self._client.readable(response, settings.clients_withhold)
        if withheld:
            self._counts.withheld_acls += withheld
            if note := self._client.first_note(withheld):
                self.notes.append(note)
        answer = encoded(header, kept)
        error = self._client.too_large(response, len(answer), settings.clients_answer_max_bytes)
        if error is not None:
            return self._refusal(api, request, header, error)
        return self._answered(header, kept, answer)

    def _context(self, header: RequestHeader) -> RequestContext:
        peer = self._peer
        return RequestContext(
            AuthorizableRequestContext(
                peer.listener_name,
                peer.security_protocol,
                self._session.principal,
                peer.host,
                header.api_key,
                header.api_version,
                header.client_id or "",
                header.correlation_id,
                self._client.software,
            ),
            self._description,
            peer.controller,
            self._session.token_authenticated,
        )

    def _refusal(
        self, api: Api, request: object, header: RequestHeader, error: BaseException
    ) -> bytes:
        """Answer a request that failed in the form of its own type."""
        if not isinstance(error, ApiError):
            fields = told_of(header, self._session.principal)
            if isinstance(error, AuthorizerFault):
                fields["authorizer"] = error.authorizer
            self.notes.append(Note("a request failed", fields, error))
        response = api.refuse(request, header.api_version, error)
        if response is None:
            raise End(
                f"{api.name} failed and has no form for errors",
                told_of(header, self._session.principal),
            )
        return self._encoded(header, response)

    # --- requests that have to do with authentication

    def _authenticate(
        self, action: Action, header: RequestHeader, body: Body, now_s: float
    ) -> Advance:
        session, version = self._session, header.api_version
        if action is Action.CLOSE:
            return self._unadmitted(header, now_s)
        if action is Action.VERSIONS:
            return self._versions(header, body)
        api = self._api(header)
        if action is Action.REFUSE:
            return self._out_of_place(api, header, body)
        if not api.min_version <= version <= api.max_version:
            self._unsupported(api, header)
        request = self._decoded(api, header, body)
        if action is Action.CHOOSE:
            return self._replied(header, session.choose(request, version, now_s))
        return self._stepped(header, request.auth_bytes, now_s)

    def _unadmitted(self, header: RequestHeader, now_s: float) -> Closed:
        if self._session.state(now_s) is State.EXPIRED:
            self._counts.killed_by_expiry += 1
            return Closed("")
        if self._session.state(now_s) is State.CLOSED:
            return Closed("")
        name = ApiKey(header.api_key).name
        return Closed(f"Unexpected Kafka request of type {name} during SASL handshake.")

    def _versions(self, header: RequestHeader, body: Body) -> bytes:
        """Answer ApiVersions to a stranger: in full, and the session moves on."""
        api = self._api(header)
        if not api.min_version <= header.api_version <= api.max_version:
            self._session.versions_answered(told=False)
            return self._unsupported(api, header)
        request = self._decoded(api, header, body)
        try:
            response: Any = api.handle(request, self._context(header), self._node)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is answered
            self._session.versions_answered(told=False)
            return self._refusal(api, request, header, error)
        self._session.versions_answered(told=response.error_code == 0)
        return self._encoded(header, response)

    def _out_of_place(self, api: Api, header: RequestHeader, body: Body) -> Refused:
        """Refuse a request that comes where only SaslAuthenticate may: in its own form."""
        name = ApiKey(header.api_key).name
        text = f"Unexpected Kafka request of type {name} during SASL authentication."
        error = ApiError(ErrorCode.ILLEGAL_SASL_STATE, text)
        if api.min_version <= header.api_version <= api.max_version:
            request = self._decoded(api, header, body)
            return self._refused(self._refusal(api, request, header, error), text, header)
        return self._refused(self._unsupported(api, header, error), text, header)

    def _encoded(
        self, header: RequestHeader, response: Response, *, version: int | None = None
    ) -> bytes:
        return self._answered(header, response, encoded(header, response, version=version))

    def _answered(self, header: RequestHeader, response: Response, answer: bytes) -> bytes:
        self.answered.append((header.api_key, code_of(response)))
        if self.answers is not None:
            # Without the four bytes of the size, as the request's size is.
            sizes = self._request_bytes, len(answer) - 4
            self.answers.append(Answered(header, self._client.software, response, *sizes))
        return answer

    def _replied(self, header: RequestHeader | None, reply: Reply) -> bytes | Refused:
        """Frame what the session answers; ``header`` is None where tokens come bare."""
        session = self._session
        if reply.fault is not None:
            self.notes += [_nobody(reply.fault), self._login(header, NOBODY)]
            self._counts.authentications[session.mechanism_name, False] += 1
        elif reply.failure is None and session.is_open:
            self._counts.authentications[session.mechanism_name, True] += 1
            self.notes.append(self._login(header))
        body = reply.body
        if body is None:
            answer = b""
        elif isinstance(body, bytes):
            answer = len(body).to_bytes(4) + body
        else:
            assert header is not None, "only bare frames have no header"
            answer = self._encoded(header, body)
        return answer if reply.failure is None else self._refused(answer, reply.failure, header)

    def _refused(self, answer: bytes, reason: str, header: RequestHeader | None = None) -> Refused:
        self._counts.failed_authentications += 1
        self._counts.authentications[self._session.mechanism_name, False] += 1
        self.notes.append(self._login(header, reason))
        return Refused(answer, reason, self._session.reauthenticating)

    def _login(self, header: RequestHeader | None, reason: str | None = None) -> Login:
        session = self._session
        return Login(
            self._peer,
            session.principal if reason is None else None,
            session.mechanism_name or ("TLS" if session.is_open else ""),
            session.reauthenticating,
            self._client.software,
            header,
            reason,
        )


class Body(NamedTuple):
    """A frame, and where the body of its request begins."""

    frame: bytes
    offset: int


def _nobody(error: BaseException) -> Note:
    """Say why there is no principal: a builder's own error has its name, rules say the name."""
    return Note("no principal could be made for a connection", {"cause": one_line(error)})
