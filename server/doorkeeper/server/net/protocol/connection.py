"""One connection without its socket: bytes in, answers out, in the order of the requests.

    receive(data)     takes bytes, cut anywhere
    advance(now_s)    handles the next complete frame and returns one of:
        bytes             the answer, ready for the socket
        Waiting           something must happen first: then ``complete`` continues, as ``advance``
            PendingUpdate     a change is made
            PendingResponse   an event happens
            LargeRequest      a thread handles the request
            PendingDecision   the authorizer knows its decision, and the request is handled again
            ChunkedResponse   the body is built in chunks
            Authenticating    a mechanism verifies a token
        Refused           an authentication failed: answer and close, both after the delay
        Closed            close without an answer
        None              there is no complete frame

A request is read by ``api`` and ``decode``, handled in ``call``, and answered by ``refuse`` or
``encode``. ``logins`` has the requests before and in an authentication, ``repeated`` the answers
that are given again, ``large_request`` the requests of the thread.

Nothing here logs, waits or reads a clock: events for the log are appended to ``events``.

Source: ``SocketServer``, ``RequestContext``, ``KafkaApis.handle``, ``SaslServerAuthenticator`` of
Kafka 4.3.1.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.node import DelayedResponse, Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.exchange import (
    Authenticating,
    Body,
    ChunkedResponse,
    Closed,
    CompletedRequest,
    LogEvent,
    Login,
    PendingDecision,
    PendingResponse,
    PendingUpdate,
    Refused,
)
from doorkeeper.server.net.protocol.large_request import (
    DECODED_HERE_BYTES_MAX,
    HANDLED_HERE_ELEMENTS_MAX,
    LargeRequest,
    encode_in_thread,
    is_large,
)
from doorkeeper.server.net.protocol.logins import (
    NO_PRINCIPAL,
    answer_unsupported,
    authenticate,
    login,
    principal_fault,
    refuse_login,
    reply_frame,
    take_bare,
    take_software,
)
from doorkeeper.server.net.protocol.repeated import (
    REPEATED_APIS,
    RepeatableAnswer,
    keep,
    repeat,
    repeatable,
)
from doorkeeper.server.net.protocol.responses import (
    SIZE_BYTES,
    End,
    body_fault,
    disabled_api,
    failure_event,
    head_of,
    header_fault,
    record_answer,
    request_fields,
    size_fault,
    undecided,
    unencodable,
)
from doorkeeper.server.net.protocol.session import Session, SessionAction
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.features import release_of
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.errors import InvalidFrame, Malformed, Unencodable, UnknownApi
from doorkeeper_wire.framing import (
    FrameBuffer,
    RequestHeader,
    decode_request_header,
    encode_response,
)
from doorkeeper_wire.reading import limit_elements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.api.registry import ApiTable
    from doorkeeper.server.net.limits import Limits
    from doorkeeper.server.net.protocol.exchange import Advance, Counts, Peer, Waiting
    from doorkeeper.server.security.contract import OfferedMechanism, PrincipalBuilder

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)

_WAITING: Final[frozenset[type]] = frozenset({Update, DelayedResponse})
_ENDS: Final[frozenset[type]] = frozenset({Closed, Refused})
# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = SessionAction.SERVE


class Connection:
    """The protocol side of one connection."""

    __slots__ = (
        "_apis",
        "_description",
        "_fault",
        "_queued",
        "answer_codes",
        "arrays",
        "client_software",
        "counts",
        "events",
        "frames",
        "input",
        "is_ended",
        "is_whole",
        "limits",
        "node",
        "peer",
        "repeatable",
        "request_bytes",
        "request_records",
        "session",
    )

    def __init__(
        self,
        peer: Peer,
        *,
        node: Node,
        apis: ApiTable,
        mechanisms: Mapping[str, OfferedMechanism] | None,
        builder: PrincipalBuilder,
        limits: Limits,
        counts: Counts,
    ) -> None:
        """``mechanisms`` is None on a listener without SASL, ``builder`` the listener's."""
        self.peer = peer
        self.node = node
        self._apis = apis
        self.limits = limits
        self.counts = counts
        context = AuthenticationContext(peer.listener_name, peer.security_protocol, peer.host)
        # One for the whole connection: a reauthentication continues it (KIP-368).
        self.session = Session(mechanisms, context, builder)
        self._description = peer.description(release_of(node.state.features))
        self.client_software = ""
        """The software as ``name/version``; empty before the client names it."""
        self.events: list[LogEvent | Login] = []
        self.answer_codes: list[tuple[int, int]] | None = [] if counts.answers else None
        """API key and error code of each answer; the channel counts and clears them."""
        self.repeatable: RepeatableAnswer | None = None
        """The last answer that ``repeat`` may give again."""
        self.request_records: list[CompletedRequest] | None = None
        """Requests for the request log, which clears it; None while that is off."""
        self.request_bytes = 0
        """The size of the last request that was begun."""
        self.is_whole = True
        """Whether the last request that was decoded had no bytes behind it."""
        self.arrays: list[list[Any]] | None = None
        """Of a copy for a thread: long arrays, which the thread frees."""
        self.input = FrameBuffer(self._frame_bytes_max)
        self.frames: deque[bytes] = deque()
        self._queued = 0
        self._fault: InvalidFrame | None = None
        self.is_ended = False

    @property
    def has_work(self) -> bool:
        """Return whether ``advance`` has work."""
        return bool(self.frames) or (self._fault is not None and not self.is_ended)

    @property
    def buffered_bytes(self) -> int:
        """Return the size of unhandled frames, the incomplete one included."""
        return self._queued + self.input.buffered

    def start(self, peer_certificates: tuple[bytes, ...] = ()) -> Closed | None:
        """Take the client's certificates, in DER, its own first. Call it before ``receive``."""
        try:
            self.session.start(peer_certificates)
        except Exception as error:  # a plug-in raises what it likes
            self.events += [principal_fault(error), login(self, None, NO_PRINCIPAL)]
            return self.end()
        if peer_certificates and self.session.is_past_login:
            self.events.append(login(self, None))
        return None

    def receive(self, data: bytes) -> None:
        # After an invalid size the rest of the stream has no frame boundaries.
        if self._fault is not None or self.is_ended:
            return
        try:
            frames = self.input.receive(data)
        except InvalidFrame as fault:
            # Its traceback refers to this connection: a circle, which the collector may never see.
            self._fault = fault.with_traceback(None)
            return
        if frames:
            self.frames.extend(frames)
            # Counted here, so that the channel need not sum the queue for each request.
            self._queued += sum(map(len, frames))

    def end(self) -> Closed:
        """Drop all frames: nothing more is handled. Return the end, which is not logged."""
        self.is_ended = True
        self.frames.clear()
        self._queued = 0
        return Closed("")

    def advance(self, now_s: float) -> Advance:
        """Handle the next frame; ``now_s`` is read from a monotonic clock."""
        if self.is_ended:
            return None
        frames = self.frames
        if not frames:
            # The size behind the last frame is judged only now, by the cap that holds now.
            self.receive(b"")
        try:
            if not frames:
                result = self._without_frame()
            else:
                frame = frames.popleft()
                size = len(frame)
                self._queued -= size
                known = self.repeatable
                if (
                    known is not None
                    and size == len(known.request)
                    and (answer := repeat(self, size.to_bytes(SIZE_BYTES) + frame, now_s))
                ):
                    return answer
                result = self._handle(frame, now_s)
        except End as end:
            result = end.closed
        except Exception as error:  # a request without an answer would hang
            result = self._close_after_fault(error)
        if result.__class__ in _ENDS:
            self.end()
        return result

    def complete(
        self,
        waiting: Waiting,
        result: Any = None,  # noqa: ANN401 - see below
        error: BaseException | None = None,
        now_s: float = 0.0,
    ) -> Advance:
        """Continue a request that has waited, with what came of it or the error.

        ``result`` is that of an update, the response of a delayed request, the body of a chunked
        response, the step of an authentication; of others there is none.
        """
        try:
            outcome = self._continue(waiting, result, error, now_s)
        except End as end:
            outcome = end.closed
        except Exception as fault:  # a request without an answer would hang
            outcome = self._close_after_fault(fault)
        if outcome.__class__ in _ENDS:
            self.end()
        return outcome

    def _continue(
        self,
        waiting: Waiting,
        result: Any,  # noqa: ANN401 - as above
        error: BaseException | None,
        now_s: float,
    ) -> Advance:
        if isinstance(waiting, Authenticating):
            reply = reply_frame(self, waiting.header, self.session.complete_step(result, now_s))
            self._client_changed()
            return reply
        if isinstance(waiting, PendingDecision):
            return self._decided(waiting, error)
        if isinstance(waiting, LargeRequest) and error is None:
            return waiting.outcome(self)
        api, request, header = waiting.api, waiting.request, waiting.header
        if error is not None:
            return self.refuse(api, request, header, error)
        try:
            if isinstance(waiting, PendingUpdate):
                result = waiting.update.respond(result)
            return (
                self._with_head(waiting, result)
                if isinstance(waiting, ChunkedResponse)
                else self._answer(api, request, header, result)
            )
        except End:
            raise
        except Exception as fault:  # whatever a handler raises is answered
            return self.refuse(api, request, header, fault)

    def _decided(self, pending: PendingDecision, error: BaseException | None) -> Advance:
        """Handle a request again once its decision is known; else answer the error."""
        api, request, header, body = pending.api, pending.request, pending.header, pending.body
        if error is None:
            if is_large(api, body, self.limits.elements_max):
                return LargeRequest(self, api, header, body, request)
            return self.call(api, header, body, request)
        if isinstance(error, ApiError):
            return self.refuse(api, request, header, error)
        if not isinstance(error, TimeoutError):
            pending.decision.__cause__ = error
        return self.refuse(api, request, header, pending.decision)

    def _close_after_fault(self, error: Exception) -> Closed:
        """Log an error for which there is no answer; the connection closes.

        Raises:
            MemoryError: the process cannot go on.
        """
        if isinstance(error, MemoryError):
            raise error
        self.events.append(LogEvent("a request cannot be answered", {}, error))
        return Closed("a request cannot be answered", {"cause": one_line(error)})

    def _client_changed(self) -> None:
        """Apply the frame limit of now: the client may have logged in; forget its last answer."""
        keep(self, None)
        self.input.size_max = self._frame_bytes_max

    # --- frames

    def _without_frame(self) -> Advance:
        fault = self._fault
        if fault is None:
            return None
        if not self.session.is_past_login:
            return refuse_login(
                self, b"", "Failing SASL authentication due to invalid receive size"
            )
        raise size_fault(fault)

    def _handle(self, frame: bytes, now_s: float) -> Advance:
        session = self.session
        if session.takes_bare_frames:
            result: Advance = take_bare(self, frame, now_s)
        else:
            limits = self.limits
            elements_max = (
                limits.elements_max if session.is_past_login else limits.sasl_elements_max
            )
            # The limit travels with the bytes: the generated decoders count elements against it.
            # Each element takes at least one byte.
            if len(frame) > HANDLED_HERE_ELEMENTS_MAX or len(frame) > elements_max:
                frame = limit_elements(frame, elements_max)
            self.request_bytes = len(frame)
            try:
                header, offset = decode_request_header(frame)
            except (Malformed, UnknownApi) as error:
                raise header_fault(error, is_past_login=session.is_past_login) from None
            self.counts.requests += 1
            # A session without an end admits every request after its login.
            if session.is_past_login and session.expires_s is None:
                return self._serve(header, Body(frame, offset))
            action = session.admit(header.api_key, now_s)
            if action is _SERVE:
                return self._serve(header, Body(frame, offset))
            result = self._authenticate(action, header, Body(frame, offset), now_s)
        self._client_changed()
        return result

    def _authenticate(
        self, action: SessionAction, header: RequestHeader, body: Body, now_s: float
    ) -> Advance:
        return authenticate(self, action, header, body, now_s)

    @property
    def _frame_bytes_max(self) -> int:
        limits = self.limits
        return limits.frame_bytes_max if self.session.is_past_login else limits.sasl_frame_bytes_max

    # --- requests

    def api(self, header: RequestHeader) -> Api:
        """Return the API if this listener serves it, or has a refusal for it."""
        api = self._apis.get(header.api_key)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            api = self._apis.refusing(header.api_key, header.api_version)
        if api is None or not (api.on_controller if self.peer.controller else api.on_broker):
            raise disabled_api(header)
        return api

    def decode(self, api: Api, header: RequestHeader, body: Body) -> Any:  # noqa: ANN401 - the API's own class
        """Return the request, of a version that the API has."""
        frame, offset = body
        try:
            request, end = api.request.read(frame, offset, header.api_version)
        except Malformed as error:
            raise body_fault(header, self.session.principal, error) from None
        # A broker ignores trailing bytes; they are counted, because no correct client sends them.
        self.is_whole = end == len(frame)
        if not self.is_whole:
            self.counts.trailing_bytes += len(frame) - end
        if api.key == API_VERSIONS:
            take_software(self, request, header.api_version)
        return request

    def context(self, header: RequestHeader) -> RequestContext:
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
                self.client_software,
            ),
            self._description,
            peer.controller,
            self.session.token_authenticated,
            peer.number,
        )

    def _serve(self, header: RequestHeader, body: Body) -> Advance:
        api = self.api(header)
        if not api.min_version <= header.api_version <= api.max_version:
            return answer_unsupported(self, api, header)
        # After the version check: an unsupported version must not cost a thread.
        if len(body.frame) > DECODED_HERE_BYTES_MAX or api.slow:
            return LargeRequest(self, api, header, body, None)
        request = self.decode(api, header, body)
        if len(body.frame) > HANDLED_HERE_ELEMENTS_MAX and is_large(
            api, body, self.limits.elements_max
        ):
            return LargeRequest(self, api, header, body, request)
        return self.call(api, header, body, request)

    def call(
        self,
        api: Api,
        header: RequestHeader,
        body: Body,
        request: Any,  # noqa: ANN401 - the API's own class
    ) -> Advance:
        """Call the handler; in a thread on a copy of the connection."""
        is_repeated = api.key in REPEATED_APIS
        counts = self.node.decision_counts if is_repeated else None
        before = counts.decided if counts is not None else None
        try:
            outcome: Any = api.handle(request, self.context(header), self.node)
        except Malformed as error:
            # The body is well-formed, but what it says is refused where a broker parses it.
            raise body_fault(header, self.session.principal, error) from None
        except Exception as error:  # whatever a handler raises is answered
            return (
                # A handler changes nothing, so it can be called again.
                PendingDecision(error, api, request, header, body)
                if isinstance(error, DecisionPending)
                else self.refuse(api, request, header, error)
            )
        # Exact classes, not isinstance: this is the path of every request.
        if outcome.__class__ in _WAITING:
            waiting: Any = outcome
            return (
                PendingUpdate(waiting, api, request, header)
                if waiting.__class__ is Update
                else PendingResponse(waiting.response, api, request, header)
            )
        # A long body would hold up all other connections if it were built in one turn.
        if outcome.__class__ is Description:
            chunks = outcome.chunks(header.api_version, len(head_of(header)))
            return ChunkedResponse(chunks, api, request, header, outcome)
        answer = self._answer(api, request, header, outcome)
        if is_repeated:
            keep(self, repeatable(self, request, header, body.frame, outcome, answer, before))
        return answer

    # --- answers

    def _answer(
        self, api: Api, request: object, header: RequestHeader, response: Response | None
    ) -> bytes:
        """Return the frame of a response; no bytes where the client wants none."""
        if response is None:
            return b""
        try:
            return self._encode_frame(header, response, header.api_version)
        except Unencodable as error:
            # As KafkaApis.handle does with an error of the serialization: -1 in every row.
            return self.refuse(api, request, header, error)

    def _with_head(self, waiting: ChunkedResponse, frame: bytearray) -> bytearray:
        """Return the frame of a body that was built behind the room for its head."""
        # A join would copy tens of megabytes in one turn of the loop.
        head = head_of(waiting.header)
        frame[: len(head)] = head
        frame[:SIZE_BYTES] = (len(frame) - SIZE_BYTES).to_bytes(SIZE_BYTES)
        record_answer(self, waiting.header, waiting.response, len(frame))
        return frame

    def refuse(
        self, api: Api, request: object, header: RequestHeader, error: BaseException
    ) -> bytes:
        """Answer a failed request with an error response of its own API.

        Raises:
            MemoryError: the process cannot go on.
            End: the API has no form for errors; the connection closes.
        """
        if isinstance(error, MemoryError):
            raise error
        if not isinstance(error, ApiError):
            self.events.append(failure_event(header, self.session.principal, error))
        if isinstance(error, DecisionPending):
            error = undecided(api.key)
        response = api.refuse(request, header.api_version, error)
        if response is None:
            raise End(
                f"{api.name} failed, and its response cannot carry an error code",
                request_fields(header, self.session.principal),
            )
        return self.encode(header, response)

    def encode(
        self, header: RequestHeader, response: Response, *, version: int | None = None
    ) -> bytes:
        if version is None:
            version = header.api_version
        try:
            return self._encode_frame(header, response, version)
        except Unencodable as error:
            raise unencodable(header, version, error) from None

    def _encode_frame(self, header: RequestHeader, response: Response, version: int) -> bytes:
        if self.arrays is None:
            body = response.encode(version)
            answer = encode_response(header.api_key, version, header.correlation_id, body)
        else:
            answer = encode_in_thread(self.arrays, header, response, version)
        # The usual case without metrics: no call for the records.
        if self.answer_codes is not None or self.request_records is not None:
            record_answer(self, header, response, len(answer))
        return answer
