"""One connection without its socket: bytes in, answers out, in the order of the requests.

    receive(data)     takes bytes, cut anywhere
    advance(now_s)    handles the next complete frame and returns one of:
        bytes             the answer, ready for the socket
        Waiting           something must happen first: then ``complete`` continues, as ``advance``
            Pending           what the handler returned: a change, an event, a long description;
                              or the authorizer's decision, and the request is handled again
            LargeRequest      a thread handles the request
            Authenticating    a mechanism verifies a token
        Refused           an authentication failed: answer and close, both after the delay
        Closed            close without an answer
        None              there is no complete frame

``codec`` reads requests, calls the handlers and writes responses; ``logins`` has the requests
before and in an authentication, ``large_request`` those for a thread.

Nothing here logs, waits or reads a clock: events for the log are appended to ``events``.

Source: ``SocketServer``, ``RequestContext``, ``KafkaApis.handle``, ``SaslServerAuthenticator`` of
Kafka 4.3.1.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.node import Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.codec import ConnectionCodec
from doorkeeper.server.net.protocol.exchange import (
    Authenticating,
    Closed,
    LogEvent,
    Pending,
    Refused,
    Request,
)
from doorkeeper.server.net.protocol.large_request import (
    DECODED_HERE_BYTES_MAX,
    HANDLED_HERE_ELEMENTS_MAX,
    LargeRequest,
    is_large,
)
from doorkeeper.server.net.protocol.logins import (
    answer_unsupported,
    authenticate,
    login,
    record_principal_fault,
    refuse_login,
    reply_frame,
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

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.exchange import Peer

Waiting: TypeAlias = Pending | LargeRequest | Authenticating
Advance: TypeAlias = bytes | bytearray | Waiting | Refused | Closed | None

_ENDS: Final[frozenset[type]] = frozenset({Closed, Refused})
# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = SessionAction.SERVE


class Connection(ConnectionCodec):
    """The protocol side of one connection."""

    __slots__ = ("_fault", "_queued", "frames", "input")

    def __init__(self, peer: Peer, **others: Any) -> None:
        """``others`` are the parameters of ``ConnectionCodec``."""
        super().__init__(peer, **others)
        self.input = FrameBuffer(self._frame_bytes_max)
        self.frames: deque[bytes] = deque()
        self._queued = 0
        self._fault: InvalidFrame | None = None

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
            record_principal_fault(self, error)
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

        ``result`` is that of an update, a delayed response, the body of a description, the step of
        an authentication; of others there is none.
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
        request = waiting.request
        if isinstance(waiting, LargeRequest):
            return waiting.finish(self) if error is None else self.refuse(request, error)
        outcome = waiting.outcome
        if isinstance(outcome, DecisionPending):
            return self._decided(request, outcome, error)
        if error is not None:
            return self.refuse(request, error)
        try:
            if isinstance(outcome, Description):
                answer: bytes | bytearray = self._with_head(request.header, outcome, result)
            else:
                response = outcome.respond(result) if isinstance(outcome, Update) else result
                answer = self.answer(request, response)
        except End:
            raise
        except Exception as fault:  # whatever a handler raises is answered
            answer = self.refuse(request, fault)
        return answer

    def _decided(
        self, request: Request, pending: DecisionPending, error: BaseException | None
    ) -> Advance:
        """Handle a request again once its decision is known; else answer the error."""
        if error is None:
            if is_large(request, self.limits.elements_max):
                return LargeRequest(self, request)
            return self.call(request)
        if isinstance(error, ApiError):
            return self.refuse(request, error)
        if not isinstance(error, TimeoutError):
            pending.__cause__ = error
        return self.refuse(request, pending)

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
        self.keep(None)
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
        session, limits = self.session, self.limits
        if session.takes_bare_frames:
            result = take_bare(self, frame, now_s)
            self._client_changed()
            return result
        elements_max = limits.elements_max if session.is_past_login else limits.sasl_elements_max
        # The limit travels with the bytes: the generated decoders count elements against it. Each
        # element takes at least one byte.
        if len(frame) > HANDLED_HERE_ELEMENTS_MAX or len(frame) > elements_max:
            frame = limit_elements(frame, elements_max)
        self.request_bytes = len(frame)
        try:
            header, body_at = decode_request_header(frame)
        except (Malformed, UnknownApi) as error:
            raise header_fault(error, is_past_login=session.is_past_login) from None
        self.counts.requests += 1
        return self._serve(header, frame, body_at, now_s)

    @property
    def _frame_bytes_max(self) -> int:
        limits = self.limits
        return limits.frame_bytes_max if self.session.is_past_login else limits.sasl_frame_bytes_max

    # --- requests

    def _serve(self, header: RequestHeader, frame: bytes, body_at: int, now_s: float) -> Advance:
        session = self.session
        # A session without an end admits every request after its login.
        if not session.is_past_login or session.expires_s is not None:
            action = session.admit(header.api_key, now_s)
            if action is not _SERVE:
                result = authenticate(self, action, header, frame, body_at, now_s)
                self._client_changed()
                return result
        request = self.request(header, frame, body_at)
        if not request.is_supported:
            return answer_unsupported(self, request)
        # After the version check: an unsupported version must not cost a thread.
        if len(frame) > DECODED_HERE_BYTES_MAX or request.api.slow:
            return LargeRequest(self, request)
        self.decode(request)
        if len(frame) > HANDLED_HERE_ELEMENTS_MAX and is_large(request, self.limits.elements_max):
            return LargeRequest(self, request)
        return self.call(request)

    def _with_head(
        self, header: RequestHeader, response: Description, frame: bytearray
    ) -> bytearray:
        """Return the frame of a body that was built behind the room for its head."""
        # A join would copy tens of megabytes in one turn of the loop.
        head = head_of(header, header.api_version)
        frame[: len(head)] = head
        frame[:SIZE_BYTES] = (len(frame) - SIZE_BYTES).to_bytes(SIZE_BYTES)
        self.record_answer(header, response, len(frame))
        return frame
