"""One connection without its socket: bytes in, answers out, in the order of the requests.

    receive(data)     takes bytes, cut anywhere
    advance(now_s)    handles the next complete frame and returns one of:
        bytes             the answer, ready for the socket
        PendingUpdate     a change must be made first: ``complete`` builds the answer
        PendingResponse   an event must happen first: ``complete`` builds the answer
        LargeRequest      a thread handles it first: ``complete_large`` has the result
        PendingDecision   the authorizer asks elsewhere: ``complete_decision`` handles it again
        ChunkedResponse   the body is built in chunks: ``complete_chunked`` builds the answer
        Authenticating    a mechanism verifies a token: ``complete_authentication`` answers
        Refused           an authentication failed: answer and close, both after the delay
        Closed            close without an answer
        None              there is no complete frame

Nothing here logs, waits or reads a clock: events for the log are appended to ``events``.

Source: ``SocketServer``, ``RequestContext``, ``SaslServerAuthenticator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self, cast

from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.node import DelayedResponse, Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.authorizer.one_request import reads_of
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.client_limits import HOLDS_ACLS, ClientLimits
from doorkeeper.server.net.protocol.exchange import (
    Authenticating,
    Body,
    ChunkedResponse,
    Closed,
    CompletedRequest,
    Counts,
    LogEvent,
    Login,
    PendingDecision,
    PendingResponse,
    PendingUpdate,
    Refused,
    SideEffects,
)
from doorkeeper.server.net.protocol.large_request import LargeRequest, arrays_of
from doorkeeper.server.net.protocol.response_cache import CACHED_APIS, ConnectionCache
from doorkeeper.server.net.protocol.responses import (
    End,
    add_header,
    error_code_of,
    request_fields,
    unencodable,
)
from doorkeeper.server.net.protocol.session import Reply, Session, SessionAction, SessionState
from doorkeeper.server.net.protocol.undecided import undecided
from doorkeeper.server.net.protocol.unreadable import (
    body_fault,
    disabled_api,
    header_fault,
    size_fault,
    unsupported_version,
)
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.features import release_of
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.errors import InvalidFrame, Malformed, Unencodable, UnknownApi
from doorkeeper_wire.framing import FrameBuffer
from doorkeeper_wire.headers import decode_request_header, encode_response
from doorkeeper_wire.reading import limit_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.authorizer.one_request import RequestAuthorizer
    from doorkeeper.server.net.protocol.exchange import Advance, AnyBytes, Peer
    from doorkeeper.server.net.protocol.response_cache import ResponseCache
    from doorkeeper.server.runtime.limits import Limits
    from doorkeeper.server.security.contract import OfferedMechanism, PrincipalBuilder, Step
    from doorkeeper_wire.headers import RequestHeader

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)
UNSUPPORTED_VERSION: Final = ApiError(ErrorCode.UNSUPPORTED_VERSION)

DECODED_HERE_BYTES_MAX: Final = 8_192
"""Larger requests are decoded in a thread: 2,700 texts of one letter take 2 ms."""

HANDLED_HERE_ELEMENTS_MAX: Final = 64
"""Requests of more elements are handled in a thread: each may take 10 us, and 20 if denied."""

SIZE_BYTES: Final = 4
"""The length of the size prefix of a frame, which does not count itself."""

NO_EFFECTS: Final = (0, 0, 0)

NO_PRINCIPAL: Final = "no principal could be made"


class Connection:
    """The protocol side of one connection."""

    __slots__ = (
        "_apis",
        "_cache",
        "_client",
        "_counts",
        "_description",
        "_ended",
        "_fault",
        "_input",
        "_limits",
        "_node",
        "_queued",
        "_request_bytes",
        "answer_codes",
        "arrays",
        "events",
        "frames",
        "peer",
        "request_records",
        "session",
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
        cache: ResponseCache | None = None,
    ) -> None:
        """``mechanisms`` is None on a listener without SASL, ``builder`` the listener's."""
        self.peer = peer
        self._node = node
        self._apis = apis
        self._limits = limits
        self._counts = counts
        context = AuthenticationContext(peer.listener_name, peer.security_protocol, peer.host)
        # One for the whole connection: a reauthentication continues it (KIP-368).
        self.session = session = Session(mechanisms, context, builder)
        self._input = FrameBuffer(self._frame_bytes_max)
        self.frames: deque[bytes] = deque()
        self._queued = 0
        self._fault: InvalidFrame | None = None
        self._ended = False
        self._description = peer.description(release_of(node.state.features))
        self._client = ClientLimits()
        self.events: list[LogEvent | Login] = []
        self.answer_codes: list[tuple[int, int]] | None = [] if counts.answers else None
        """API key and error code of each answer; the channel counts and clears them."""
        self._cache: ConnectionCache | None = None
        if cache is not None:
            self._cache = ConnectionCache(cache, peer, session, self._client, self.answer_codes)
        self.request_records: list[CompletedRequest] | None = None
        """Requests for the request log, which clears it; None while that is off."""
        self._request_bytes = 0
        self.arrays: list[list[Any]] | None = None
        """Of a copy for a thread: long arrays, which the thread frees."""

    @property
    def waiting(self) -> bool:
        """Return whether ``advance`` has work."""
        return bool(self.frames) or (self._fault is not None and not self._ended)

    @property
    def is_empty(self) -> bool:
        """Return whether all received bytes have been handled."""
        return not self.frames and not self._input.buffered and self._fault is None

    @property
    def buffered_bytes(self) -> int:
        """Return the size of unhandled frames, the incomplete one included."""
        return self._queued + self._input.buffered

    def start(self, peer_certificates: tuple[bytes, ...] = ()) -> Closed | None:
        """Take the client's certificates, in DER, its own first. Call it before ``receive``."""
        try:
            self.session.start(peer_certificates)
        except Exception as error:  # a plug-in raises what it likes
            self._ended = True
            self.events += [_principal_fault(error), self._login(None, NO_PRINCIPAL)]
            return Closed("")
        if peer_certificates and self.session.is_open:
            self.events.append(self._login(None))
        return None

    def cached_answer(self, data: bytes, now_s: float) -> bytes | None:
        """Answer data that is exactly one cached request; else leave it untouched."""
        # Bytes 4 and 5 are the key of the API: others cost no look-up.
        if (
            self._cache is None
            or data[5:6] not in _CACHED_KEYS
            or self.request_records is not None
            or self.frames
            or self._ended
            or self._fault is not None
            or not self._input.is_between_frames
        ):
            return None
        # Bytes 8 to 11 are the correlation id, which the key must not contain.
        answer = self._cache.get(data[:8] + data[12:], data[8:12], now_s)
        if answer is not None:
            self._counts.requests += 1
        return answer

    def receive(self, data: bytes) -> None:
        # After an invalid size the rest of the stream has no frame boundaries.
        if self._fault is not None or self._ended:
            return
        try:
            frames = self._input.receive(data)
        except InvalidFrame as fault:
            # Its traceback refers to this connection: a circle, which the collector may never see.
            self._fault = fault.with_traceback(None)
            return
        if frames:
            self.frames.extend(frames)
            # Counted here, so that the channel need not sum the queue for each request.
            self._queued += sum(map(len, frames))

    def cached_answers(self, now_s: float, answers_max: int, bytes_max: int) -> list[bytes]:
        """Answer the next frames for as long as their responses are cached."""
        if self._cache is None or self.request_records is not None:
            return []
        answers = self._cache.get_all(islice(self.frames, answers_max), now_s, bytes_max)
        for _ in answers:
            self._queued -= len(self.frames.popleft())
        self._counts.requests += len(answers)
        return answers

    def advance(self, now_s: float) -> Advance:
        """Handle the next frame; ``now_s`` is read from a monotonic clock."""
        if self._ended:
            return None
        frames = self.frames
        if not frames:
            # The size behind the last frame is judged only now, by the cap that holds now.
            self.receive(b"")
        try:
            if not frames:
                result = self._without_frame()
            elif frames[0][1:2] in _CACHED_KEYS and (cached := self.cached_answers(now_s, 1, 1)):
                return cached[0]
            else:
                frame = frames.popleft()
                self._queued -= len(frame)
                result = self._handle(frame, now_s)
        except End as end:
            result = end.closed
        except Exception as error:  # a request without an answer would hang
            result = self._close_after_fault(error)
        if result.__class__ in _ENDS:
            self._end()
        return result

    def complete_authentication(self, pending: Authenticating, step: Step, now_s: float) -> Advance:
        """Continue after the mechanism has verified the token."""
        return self._resume(
            lambda: self._frame_reply(pending.header, self.session.complete_step(step, now_s))
        )

    def complete_large(self, large: LargeRequest) -> Advance:
        """Continue a large request after the thread."""
        return self._resume(lambda: self._take_large(large))

    def complete_decision(self, pending: PendingDecision, error: BaseException | None) -> Advance:
        """Handle a request again once its decision is known; else answer the error."""
        decision, api, request, header, body = pending
        if error is None:
            if self._is_large(api, body):
                return self._large(api, header, body, request)
            counters = self.effect_counters()
            return self._resume(lambda: self._call(api, header, body, request, counters))
        if isinstance(error, TimeoutError):
            error = decision
        elif not isinstance(error, ApiError):
            decision.__cause__ = error
            error = decision
        fault = error
        return self._resume(lambda: self._error_answer(api, request, header, fault))

    def _resume(self, work: Callable[[], Advance]) -> Advance:
        """Continue a request that has waited."""
        try:
            result = work()
        except End as end:
            result = end.closed
        except Exception as error:  # a request without an answer would hang
            result = self._close_after_fault(error)
        self._client_changed()
        if result.__class__ in _ENDS:
            self._end()
        return result

    def _close_after_fault(self, error: Exception) -> Closed:
        """Log an error for which there is no answer; the connection closes.

        Raises:
            MemoryError: the process cannot go on.
        """
        if isinstance(error, MemoryError):
            raise error
        self.events.append(LogEvent("a request cannot be answered", {}, error))
        return Closed("a request cannot be answered", {"cause": one_line(error)})

    def _end(self) -> None:
        """Drop all frames: the connection ends."""
        self._ended = True
        self.frames.clear()
        self._queued = 0

    def _client_changed(self) -> None:
        """Apply the frame limit and cache key of the principal or software of now."""
        self._input.size_max = self._frame_bytes_max
        if self._cache is not None:
            self._cache.client_changed()

    def complete(
        self,
        pending: PendingUpdate | PendingResponse,
        result: Any,  # noqa: ANN401 - see below
        error: BaseException | None = None,
    ) -> bytes | Closed:
        """Build the answer to a request that waited, or answer with the error.

        ``result`` is the list of values of an update's results, or the response of a delayed
        request.
        """
        waited, api, request, header = pending
        try:
            if error is None:
                try:
                    response = waited.respond(result) if isinstance(waited, Update) else result
                    return self._answer(api, request, header, response)
                except Exception as fault:  # whatever a handler raises is answered
                    error = fault
            if isinstance(error, End):
                return error.closed
            return self._error_answer(api, request, header, error)
        except End as end:
            return end.closed
        except Exception as fault:  # a request without an answer would hang
            return self._close_after_fault(fault)

    def complete_chunked(
        self, chunked: ChunkedResponse, answer: bytearray | Exception
    ) -> bytes | bytearray | Closed:
        """Build the answer from a body that was built in chunks, or from its error.

        The header is written into bytes that the body reserves: copying a large body takes too
        long.
        """
        header = chunked.header
        try:
            if isinstance(answer, Exception):
                return self._error_answer(chunked.api, chunked.request, header, answer)
        except End as end:
            return end.closed
        except Exception as fault:  # a request without an answer would hang
            return self._close_after_fault(fault)
        head = add_header(header, b"")
        # In place: a join would copy tens of megabytes in one turn of the loop.
        answer[: len(head)] = head
        answer[:SIZE_BYTES] = (len(answer) - SIZE_BYTES).to_bytes(SIZE_BYTES)
        self._record_answer(header, chunked.response, answer)
        if chunked.effects is not None and self._cache is not None:
            counted = self.answer_codes[-1] if self.answer_codes else (header.api_key, 0)
            self._cache.put(chunked.frame, answer, counted, chunked.effects)
        return answer

    # --- frames

    def _without_frame(self) -> Advance:
        fault = self._fault
        if fault is None:
            return None
        if not self.session.is_open:
            return self._refuse_authentication(
                b"", "Failing SASL authentication due to invalid receive size"
            )
        raise size_fault(fault)

    def _handle(self, frame: bytes, now_s: float) -> Advance:
        session = self.session
        if session.takes_bare_frames:
            result: Advance = self._take_bare(frame, now_s)
        else:
            limits = self._limits
            elements_max = limits.elements_max if session.is_open else limits.sasl_elements_max
            # The limit travels with the bytes: the generated decoders count elements against it.
            # Each element takes at least one byte.
            if len(frame) > HANDLED_HERE_ELEMENTS_MAX or len(frame) > elements_max:
                frame = limit_elements(frame, elements_max)
            self._request_bytes = len(frame)
            try:
                header, offset = decode_request_header(frame)
            except (Malformed, UnknownApi) as error:
                raise header_fault(error, is_open=session.is_open) from None
            self._counts.requests += 1
            # An open session without an end admits every request.
            if session.is_open and session.expires_s is None:
                return self._serve(header, Body(frame, offset))
            action = session.admit(header.api_key, now_s)
            if action is SessionAction.SERVE:
                return self._serve(header, Body(frame, offset))
            result = self._authenticate(action, header, Body(frame, offset), now_s)
        self._client_changed()
        return result

    @property
    def _frame_bytes_max(self) -> int:
        limits = self._limits
        return limits.frame_bytes_max if self.session.is_open else limits.sasl_frame_bytes_max

    def _take_bare(self, frame: bytes, now_s: float) -> bytes | Authenticating | Refused:
        """Handle a frame without a request header."""
        if self.session.admit_bare() is SessionAction.FAIL:
            return self._frame_reply(None, self.session.fail_changed_mechanism())
        return self._step(None, frame, now_s)

    def _step(
        self, header: RequestHeader | None, token: bytes, now_s: float
    ) -> bytes | Authenticating | Refused:
        reply = self.session.step(token, now_s)
        if isinstance(reply, Reply):
            return self._frame_reply(header, reply)
        return Authenticating(reply, header)

    # --- requests of a client that may make them

    def _serve(self, header: RequestHeader, body: Body) -> Advance:
        api = self._api(header)
        if not api.min_version <= header.api_version <= api.max_version:
            return self._answer_unsupported(api, header)
        # After the version check: an unsupported version must not cost a thread.
        if len(body.frame) > DECODED_HERE_BYTES_MAX:
            return self._large(api, header, body, None)
        # Only cached responses need them.
        counters = NO_EFFECTS if self._cache is None else self.effect_counters()
        request = self._decode(api, header, body)
        if len(body.frame) > HANDLED_HERE_ELEMENTS_MAX and self._is_large(api, body):
            return self._large(api, header, body, request)
        return self._call(api, header, body, request, counters)

    def _is_large(self, api: Api, body: Body) -> bool:
        """Return whether a thread handles this decoded request."""
        frame: Any = body.frame
        if len(frame) <= HANDLED_HERE_ELEMENTS_MAX or not api.in_thread:
            return False
        elements: int = self._limits.elements_max - frame.elements_left
        return elements > HANDLED_HERE_ELEMENTS_MAX

    def _call(
        self,
        api: Api,
        header: RequestHeader,
        body: Body,
        request: Any,  # noqa: ANN401 - the API's own class
        counters: tuple[int, int, int],
    ) -> Advance:
        """Call the handler; ``counters`` are from before the request was decoded."""
        cache = self._cache if api.key in CACHED_APIS else None
        recording = None if cache is None else cache.begin(api.key)
        effects = None
        try:
            outcome: Any = api.handle(request, self._context(header), self._node)
        except Malformed as error:
            # The body is well-formed, but what it says is refused where a broker parses it.
            raise body_fault(header, self.session.principal, error) from None
        except Exception as error:  # whatever a handler raises is answered
            return (
                # A handler changes nothing, so it can be called again.
                PendingDecision(error, api, request, header, body)
                if isinstance(error, DecisionPending)
                else self._error_answer(api, request, header, error)
            )
        finally:
            if cache is not None and recording is not None:
                effects = cache.end(recording)
        # Exact classes, not isinstance: this is the path of every request.
        if outcome.__class__ in _WAITING:
            waiting: Any = outcome
            return (
                PendingUpdate(waiting, api, request, header)
                if waiting.__class__ is Update
                else PendingResponse(waiting.response, api, request, header)
            )
        # A long body would hold up all other connections if it were built in one turn.
        if outcome.__class__ is Description and outcome.is_long:
            kept = effects if counters == self.effect_counters() else None
            chunks = outcome.chunks(header.api_version, len(add_header(header, b"")))
            return ChunkedResponse(chunks, outcome, api, request, header, body.frame, kept)
        if self.arrays is not None:
            self.arrays += arrays_of(outcome)
        answer = self._answer(api, request, header, outcome)
        if cache is not None and effects is not None and counters == self.effect_counters():
            counted = self.answer_codes[-1] if self.answer_codes else (api.key, 0)
            cache.put(body.frame, answer, counted, effects)
        return answer

    # --- large requests

    def _large(
        self,
        api: Api,
        header: RequestHeader,
        body: Body,
        request: Any,  # noqa: ANN401 - the API's own class, or None
    ) -> LargeRequest:
        """Return a request for the thread; ``request`` is None where it is not decoded yet."""
        cache = self._cache if api.key in CACHED_APIS else None
        version = None if cache is None else cache.version()
        return LargeRequest(self, api, header, body, request, version)

    def for_thread(self, on_loop: Callable[[object], Any]) -> tuple[Self, RequestAuthorizer | None]:
        """Return a copy, whose node stays at the present state, and its authorizer."""
        reads, authorizer = reads_of(self._node.authorizer, on_loop)
        other = copy(self)
        other.detach(self._node.at_one_state(reads, on_loop))
        return other, authorizer

    def detach(self, node: Node) -> None:
        """Note for itself what the connection takes later, in a new copy."""
        self._node = node
        self._cache = None
        self._counts = Counts(answers=self._counts.answers)
        self.arrays = []
        self.events = []
        self.answer_codes = None if self.answer_codes is None else []
        self.request_records = None if self.request_records is None else []

    def handle_large(self, large: LargeRequest) -> Advance:
        """Handle a large request, or only decode it, in any thread."""
        api, header, body = large.api, large.header, large.body
        if large.request is None:
            large.request = self._decode(api, header, body)
        if not api.in_thread:
            return None
        return self._call(api, header, body, large.request, NO_EFFECTS)

    def _take_large(self, large: LargeRequest) -> Advance:
        """Take what the copy has noted, and the outcome."""
        other = cast("Connection", large.connection)
        trailing, withheld, events = noted = other.effect_counters()
        self._counts.trailing_bytes += trailing
        self._counts.withheld_acls += withheld
        if events:
            self.events += other.events
        codes, records = other.answer_codes, other.request_records
        if self.answer_codes is not None and codes:
            self.answer_codes += codes
        if self.request_records is not None and records:
            self.request_records += records
        outcome: Advance = large.outcome()
        api, header, body = large.api, large.header, large.body
        if not api.in_thread:
            return self._call(api, header, body, large.request, self.effect_counters())
        allowed, denied, lines = large.counts
        can_repeat = not lines and noted == NO_EFFECTS
        if self._cache and large.version and can_repeat and isinstance(outcome, bytes):
            effects = SideEffects(large.version, allowed, denied, tuple(large.recorded))
            counted = codes[-1] if codes else (api.key, 0)
            self._cache.put(body.frame, outcome, counted, effects)
        return outcome

    def effect_counters(self) -> tuple[int, int, int]:
        """Return counters that change where a request has effects that cannot be replayed."""
        return self._counts.trailing_bytes, self._counts.withheld_acls, len(self.events)

    def _api(self, header: RequestHeader) -> Api:
        """Return the API if this listener serves it, or has a refusal for it."""
        api = self._apis(header.api_key)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            api = _refusing_api(header, api)
        if api is None or not (api.on_controller if self.peer.controller else api.on_broker):
            raise disabled_api(header)
        return api

    def _answer_unsupported(
        self, api: Api, header: RequestHeader, error: ApiError = UNSUPPORTED_VERSION
    ) -> bytes:
        """Answer an unsupported version; only ApiVersions has an answer, in version 0."""
        if api.key == API_VERSIONS:
            # The body is not read: the layout of the version is unknown.
            response = api.refuse(None, header.api_version, error)
            assert response is not None, "ApiVersions has a form for errors"
            # Version 0 is the only one that every client can read (KIP-511).
            return self._encode(header, response, version=0)
        raise unsupported_version(header, self.session.principal)

    def _decode(self, api: Api, header: RequestHeader, body: Body) -> Any:  # noqa: ANN401 - the API's own class
        frame, offset = body
        try:
            request, end = api.request.decode(frame, offset, header.api_version)
        except Malformed as error:
            raise body_fault(header, self.session.principal, error) from None
        # A broker ignores trailing bytes; they are counted, because no correct client sends them.
        if end != len(frame):
            self._counts.trailing_bytes += len(frame) - end
        if api.key == API_VERSIONS:
            self._client.identify(request, header.api_version)
        return request

    def _answer(
        self, api: Api, request: object, header: RequestHeader, response: Response | None
    ) -> bytes:
        """Return the frame of a response; no bytes where the client wants none."""
        if response is None:
            return b""
        try:
            if response.__class__ in HOLDS_ACLS:
                settings = self._node.settings
                if settings.clients_withhold or settings.clients_answer_max_bytes:
                    return self._answer_limited(api, request, header, response)
            return self._encode_frame(header, response, header.api_version)
        except Unencodable as error:
            # As KafkaApis.handle does with an error of the serialization: -1 in every row.
            return self._error_answer(api, request, header, error)

    def _answer_limited(
        self, api: Api, request: object, header: RequestHeader, response: Response
    ) -> bytes:
        """Answer within the limits of the client's software."""
        settings = self._node.settings
        kept = self._client.withhold(response, settings, self._counts, self.events)
        answer = add_header(header, kept.encode(header.api_version))
        error = self._client.too_large(response, len(answer), settings.clients_answer_max_bytes)
        if error is not None:
            return self._error_answer(api, request, header, error)
        return self._record_answer(header, kept, answer)

    def _context(self, header: RequestHeader) -> RequestContext:
        peer = self.peer
        return RequestContext(
            AuthorizableRequestContext(
                peer.listener_name,
                peer.security_protocol,
                self.session.principal,
                peer.host,
                header.api_key,
                header.api_version,
                header.client_id or "",
                header.correlation_id,
                self._client.software,
            ),
            self._description,
            peer.controller,
            self.session.token_authenticated,
        )

    def _error_answer(
        self, api: Api, request: object, header: RequestHeader, error: BaseException
    ) -> bytes:
        """Answer a failed request with an error response of its own API.

        Raises:
            MemoryError: the process cannot go on.
        """
        if isinstance(error, MemoryError):
            raise error
        if not isinstance(error, ApiError):
            self.events.append(self._failure_event(header, error))
        if isinstance(error, DecisionPending):
            error = undecided(api.key)
        response = api.refuse(request, header.api_version, error)
        if response is None:
            raise End(
                f"{api.name} failed and has no form for errors",
                request_fields(header, self.session.principal),
            )
        return self._encode(header, response)

    def _failure_event(self, header: RequestHeader, error: BaseException) -> LogEvent:
        fields = request_fields(header, self.session.principal)
        if isinstance(error, Unencodable):
            return LogEvent("a response does not fit", {**fields, "cause": one_line(error)})
        if isinstance(error, DecisionPending):
            cause = error.__cause__
            fields["cause"] = "it took too long" if cause is None else one_line(cause)
            return LogEvent("the authorizer did not decide a request", fields)
        if isinstance(error, AuthorizerFault):
            fields["authorizer"] = error.authorizer
            if isinstance(error.cause, ApiError):
                # Raised on purpose: the client gets its code, and there is no fault to look for.
                fields["error"] = error.cause.code.name
                fields["cause"] = one_line(error.cause)
                return LogEvent("the authorizer refused a request", fields)
        return LogEvent("a request failed", fields, error)

    # --- requests that have to do with authentication

    def _authenticate(
        self, action: SessionAction, header: RequestHeader, body: Body, now_s: float
    ) -> Advance:
        session, version = self.session, header.api_version
        if action is SessionAction.CLOSE:
            return self._close_unadmitted(header, now_s)
        if action is SessionAction.VERSIONS:
            return self._answer_versions(header, body)
        api = self._api(header)
        if action is SessionAction.REFUSE:
            return self._refuse_out_of_place(api, header, body)
        if not api.min_version <= version <= api.max_version:
            return self._answer_unsupported(api, header)
        request = self._decode(api, header, body)
        if action is SessionAction.CHOOSE:
            return self._frame_reply(header, session.choose(request, version, now_s))
        return self._step(header, request.auth_bytes, now_s)

    def _close_unadmitted(self, header: RequestHeader, now_s: float) -> Closed:
        if self.session.state(now_s) is SessionState.EXPIRED:
            self._counts.killed_by_expiry += 1
            return Closed("")
        if self.session.state(now_s) is SessionState.CLOSED:
            return Closed("")
        name = ApiKey(header.api_key).name
        return Closed(f"Unexpected Kafka request of type {name} during SASL handshake.")

    def _answer_versions(self, header: RequestHeader, body: Body) -> bytes:
        """Answer ApiVersions before the authentication, and move the session."""
        api = self._api(header)
        if not api.min_version <= header.api_version <= api.max_version:
            self.session.record_versions(success=False)
            return self._answer_unsupported(api, header)
        request = self._decode(api, header, body)
        try:
            response: Any = api.handle(request, self._context(header), self._node)
        except Exception as error:  # whatever a handler raises is answered
            self.session.record_versions(success=False)
            return self._error_answer(api, request, header, error)
        self.session.record_versions(success=response.error_code == 0)
        return self._encode(header, response)

    def _refuse_out_of_place(self, api: Api, header: RequestHeader, body: Body) -> Refused:
        """Refuse a request where only SaslAuthenticate is allowed, in its own response."""
        name = ApiKey(header.api_key).name
        text = f"Unexpected Kafka request of type {name} during SASL authentication."
        error = ApiError(ErrorCode.ILLEGAL_SASL_STATE, text)
        if api.min_version <= header.api_version <= api.max_version:
            request = self._decode(api, header, body)
            return self._refuse_authentication(
                self._error_answer(api, request, header, error), text, header
            )
        return self._refuse_authentication(
            self._answer_unsupported(api, header, error), text, header
        )

    def _encode(
        self, header: RequestHeader, response: Response, *, version: int | None = None
    ) -> bytes:
        if version is None:
            version = header.api_version
        try:
            return self._encode_frame(header, response, version)
        except Unencodable as error:
            raise unencodable(header, version, error) from None

    def _encode_frame(self, header: RequestHeader, response: Response, version: int) -> bytes:
        body = response.encode(version)
        answer = encode_response(header.api_key, version, header.correlation_id, body)
        # The usual case without metrics: no call for the records.
        if self.answer_codes is None and self.request_records is None:
            return answer
        return self._record_answer(header, response, answer)

    def _record_answer(
        self, header: RequestHeader, response: Response, answer: AnyBytes
    ) -> AnyBytes:
        """Record an answer for metrics and the request log."""
        if self.answer_codes is not None:
            try:
                self.answer_codes.append((header.api_key, error_code_of(response)))
            except Exception as fault:  # a change may be made: its answer counts more
                self.events.append(LogEvent("an answer cannot be counted", {}, fault))
        if self.request_records is not None:
            # Without the four bytes of the size, as the request's size is.
            sizes = self._request_bytes, len(answer) - 4
            self.request_records.append(
                CompletedRequest(header, self._client.software, response, *sizes)
            )
        return answer

    def _frame_reply(self, header: RequestHeader | None, reply: Reply) -> bytes | Refused:
        """Encode a reply of the session; ``header`` is None for bare tokens."""
        session = self.session
        if reply.fault is not None:
            self.events += [_principal_fault(reply.fault), self._login(header, NO_PRINCIPAL)]
            self._counts.authentications[session.mechanism_name, False] += 1
        elif reply.failure is None and session.is_open:
            self._counts.authentications[session.mechanism_name, True] += 1
            self.events.append(self._login(header))
        body = reply.body
        if body is None:
            answer = b""
        elif isinstance(body, bytes):
            answer = len(body).to_bytes(4) + body
        else:
            assert header is not None, "only bare frames have no header"
            answer = self._encode(header, body)
        return (
            answer
            if reply.failure is None
            else self._refuse_authentication(answer, reply.failure, header)
        )

    def _refuse_authentication(
        self, answer: bytes, reason: str, header: RequestHeader | None = None
    ) -> Refused:
        self._counts.failed_authentications += 1
        self._counts.authentications[self.session.mechanism_name, False] += 1
        self.events.append(self._login(header, reason))
        return Refused(answer, reason, self.session.reauthenticating)

    def _login(self, header: RequestHeader | None, reason: str | None = None) -> Login:
        session = self.session
        return Login(
            self.peer,
            session.principal if reason is None else None,
            session.mechanism_name or ("TLS" if session.is_open else ""),
            session.reauthenticating,
            self._client.software,
            header,
            reason,
        )


def _principal_fault(error: BaseException) -> LogEvent:
    return LogEvent("no principal could be made for a connection", {"cause": one_line(error)})


def _refusing_api(header: RequestHeader, served: Api | None) -> Api | None:
    """Return the API that refuses this version, if Kafka has it; else ``served``."""
    if header.api_key == API_VERSIONS:
        return served
    # Imported when such a request arrives: the declarations of sixty APIs would cost every start.
    from doorkeeper.server.api.unserved import api_of  # noqa: PLC0415

    api = api_of(header.api_key)
    if served is None or (api and api.min_version <= header.api_version <= api.max_version):
        return api
    return served


_WAITING: Final[frozenset[type]] = frozenset({Update, DelayedResponse})
_ENDS: Final[frozenset[type]] = frozenset({Closed, Refused})
_CACHED_KEYS: Final = frozenset(bytes([key]) for key in CACHED_APIS)
"""The low bytes of the keys of cached APIs: requests of others cost no look-up."""
