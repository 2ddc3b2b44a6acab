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

Nothing here logs, waits or reads a clock: events for the log are appended to ``events``.

Source: ``SocketServer``, ``RequestContext``, ``SaslServerAuthenticator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from doorkeeper.base.errors import ApiError
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.conversation import HANDLED_HERE_ELEMENTS_MAX, Conversation
from doorkeeper.server.net.protocol.exchange import (
    Advance,
    Authenticating,
    Body,
    ChunkedResponse,
    Closed,
    LogEvent,
    Peer,
    PendingDecision,
    PendingResponse,
    PendingUpdate,
    Refused,
    Waiting,
)
from doorkeeper.server.net.protocol.large_request import LargeRequest
from doorkeeper.server.net.protocol.logins import (
    NO_PRINCIPAL,
    answer_versions,
    close_unadmitted,
    login,
    principal_fault,
    refuse_login,
    refuse_out_of_place,
    reply_frame,
    step,
    take_bare,
)
from doorkeeper.server.net.protocol.responses import (
    SIZE_BYTES,
    End,
    head_of,
    header_fault,
    size_fault,
)
from doorkeeper.server.net.protocol.session import SessionAction
from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi
from doorkeeper_wire.framing import FrameBuffer, RequestHeader, decode_request_header
from doorkeeper_wire.reading import limit_elements

_ENDS: Final[frozenset[type]] = frozenset({Closed, Refused})
# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = SessionAction.SERVE


class Connection(Conversation):
    """The protocol side of one connection."""

    __slots__ = ("_ended", "_fault", "_input", "_queued", "frames")

    def __init__(self, peer: Peer, **others: Any) -> None:
        """``others`` are the parameters of ``Conversation``."""
        super().__init__(peer, **others)
        self._input = FrameBuffer(self._frame_bytes_max)
        self.frames: deque[bytes] = deque()
        self._queued = 0
        self._fault: InvalidFrame | None = None
        self._ended = False

    @property
    def has_work(self) -> bool:
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
            self.events += [principal_fault(error), login(self, None, NO_PRINCIPAL)]
            return self.end()
        if peer_certificates and self.session.is_past_login:
            self.events.append(login(self, None))
        return None

    def repeat(self, data: bytes, now_s: float) -> bytes | None:
        """Answer data that is exactly one request, and the same as one before; else do nothing.

        To be called where ``is_empty``.
        """
        known = self.repeatable
        # Bytes 8 to 11 are the correlation id.
        if known is None or data[:8] + data[12:] != known.request:
            return None
        session = self.session
        if known.state is not self.node.state or known.settings is not self.node.settings:
            # Its room is for answers that may be given again.
            self._keep(None)
            return None
        if self.request_records is not None or (
            session.expires_s is not None and session.admit(known.api_key, now_s) is not _SERVE
        ):
            return None
        decisions = known.decisions
        if decisions is not None and not decisions.guard.decide_again(decisions):
            return None
        self.counts.requests += 1
        if self.answer_codes is not None:
            self.answer_codes.append((known.api_key, known.error_code))
        return known.size + data[8:12] + known.body

    def abandon(self) -> Refused | None:
        """Forget the last answer; return the refusal of a login that the client hung up on."""
        self._keep(None)
        refusal = self.session.refusal
        if not refusal or self._ended:
            return None
        return refuse_login(self, b"", f"{refusal}; the client hung up")

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

    def end(self) -> Closed:
        """Drop all frames: nothing more is handled. Return the end, which is not logged."""
        self._ended = True
        self.frames.clear()
        self._queued = 0
        return Closed("")

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
            else:
                frame = frames.popleft()
                size = len(frame)
                self._queued -= size
                known = self.repeatable
                if (
                    known is not None
                    and size == len(known.request)
                    and (answer := self.repeat(size.to_bytes(SIZE_BYTES) + frame, now_s))
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
        if error is None:
            if isinstance(waiting, LargeRequest):
                return self._take_large(waiting)
            try:
                return self._finish(waiting, result)
            except Exception as fault:  # whatever a handler raises is answered
                return self._answer_failure(waiting, fault)
        return self._answer_failure(waiting, error)

    def _answer_failure(
        self,
        waiting: LargeRequest | PendingUpdate | PendingResponse | ChunkedResponse,
        error: BaseException,
    ) -> bytes | Closed:
        if isinstance(error, End):
            return error.closed
        return self.refuse(waiting.api, waiting.request, waiting.header, error)

    def _decided(self, pending: PendingDecision, error: BaseException | None) -> Advance:
        """Handle a request again once its decision is known; else answer the error."""
        api, request, header, body = pending.api, pending.request, pending.header, pending.body
        if error is None:
            if self._is_large(api, body):
                return LargeRequest(self, api, header, body, request)
            return self._call(api, header, body, request)
        if isinstance(error, ApiError):
            return self.refuse(api, request, header, error)
        if not isinstance(error, TimeoutError):
            pending.decision.__cause__ = error
        return self.refuse(api, request, header, pending.decision)

    def _finish(
        self,
        waiting: PendingUpdate | PendingResponse | ChunkedResponse,
        result: Any,  # noqa: ANN401 - see ``complete``
    ) -> bytes | bytearray:
        """Return the answer to a request whose response, or its body, is known now."""
        header = waiting.header
        if isinstance(waiting, ChunkedResponse):
            # Into bytes that the body reserves: a join would copy tens of megabytes in one turn of
            # the loop.
            head = head_of(header)
            result[: len(head)] = head
            result[:SIZE_BYTES] = (len(result) - SIZE_BYTES).to_bytes(SIZE_BYTES)
            body: bytearray = self._record_answer(header, waiting.response, result)
            return body
        if isinstance(waiting, PendingUpdate):
            result = waiting.update.respond(result)
        return self._answer(waiting.api, waiting.request, header, result)

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
        self._keep(None)
        self._input.size_max = self._frame_bytes_max

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
            limits = self._limits
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
            if action is SessionAction.SERVE:
                return self._serve(header, Body(frame, offset))
            result = self._authenticate(action, header, Body(frame, offset), now_s)
        self._client_changed()
        return result

    def _authenticate(
        self, action: SessionAction, header: RequestHeader, body: Body, now_s: float
    ) -> Advance:
        session, version = self.session, header.api_version
        if action is SessionAction.CLOSE:
            return close_unadmitted(self, header, now_s)
        if action is SessionAction.VERSIONS:
            return answer_versions(self, header, body)
        api = self.api(header)
        if action is SessionAction.REFUSE:
            return refuse_out_of_place(self, api, header, body)
        if not api.min_version <= version <= api.max_version:
            return self.answer_unsupported(api, header)
        request = self.decode(api, header, body)
        if action is SessionAction.CHOOSE:
            return reply_frame(self, header, session.choose(request, version, now_s))
        return step(self, header, request.auth_bytes, now_s)

    @property
    def _frame_bytes_max(self) -> int:
        limits = self._limits
        return limits.frame_bytes_max if self.session.is_past_login else limits.sasl_frame_bytes_max
