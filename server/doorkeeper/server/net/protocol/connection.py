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
from collections.abc import Callable
from typing import Any, Final

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.node import Update
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
from doorkeeper.server.net.protocol.responses import End, add_header
from doorkeeper.server.net.protocol.session import SessionAction
from doorkeeper.server.net.protocol.unreadable import header_fault, size_fault
from doorkeeper.server.security.contract import Step
from doorkeeper_wire.errors import InvalidFrame, Malformed, UnknownApi
from doorkeeper_wire.framing import FrameBuffer
from doorkeeper_wire.headers import RequestHeader, decode_request_header
from doorkeeper_wire.reading import limit_elements

SIZE_BYTES: Final = 4
"""The length of the size prefix of a frame, which does not count itself."""

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
            self.events += [principal_fault(error), login(self, None, NO_PRINCIPAL)]
            return Closed("")
        if peer_certificates and self.session.is_open:
            self.events.append(login(self, None))
        return None

    def repeat(self, data: bytes, now_s: float) -> bytes | None:
        """Answer data that is exactly one request, and the same as one before; else do nothing.

        To be called where ``is_empty``.
        """
        known = self._repeatable
        # Bytes 8 to 11 are the correlation id.
        if known is None or data[:8] + data[12:] != known.request:
            return None
        session = self.session
        if (
            known.state is not self.node.state
            or self.request_records is not None
            or (session.expires_s is not None and session.admit(known.api_key, now_s) is not _SERVE)
        ):
            return None
        self.counts.requests += 1
        if self.answer_codes is not None:
            self.answer_codes.append((known.api_key, known.error_code))
        return known.size + data[8:12] + known.body

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
                known = self._repeatable
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
            self._end()
        return result

    def complete_authentication(self, pending: Authenticating, step: Step, now_s: float) -> Advance:
        """Continue after the mechanism has verified the token."""
        return self._resume(
            lambda: reply_frame(self, pending.header, self.session.complete_step(step, now_s))
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
            return self._resume(lambda: self._call(api, header, body, request))
        if isinstance(error, TimeoutError):
            error = decision
        elif not isinstance(error, ApiError):
            decision.__cause__ = error
            error = decision
        fault = error
        return self._resume(lambda: self.refuse(api, request, header, fault))

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
        """Apply the frame limit of now: the client may have logged in."""
        self._input.size_max = self._frame_bytes_max

    def complete(
        self,
        pending: PendingUpdate | PendingResponse,
        result: Any,  # noqa: ANN401 - see below
        error: BaseException | None = None,
    ) -> bytes | Closed:
        """Build the answer to a request that waited, or answer with the error.

        ``result`` is that of an update, or the response of a delayed request.
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
            return self.refuse(api, request, header, error)
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
                return self.refuse(chunked.api, chunked.request, header, answer)
        except End as end:
            return end.closed
        except Exception as fault:  # a request without an answer would hang
            return self._close_after_fault(fault)
        head = add_header(header, b"")
        # In place: a join would copy tens of megabytes in one turn of the loop.
        answer[: len(head)] = head
        answer[:SIZE_BYTES] = (len(answer) - SIZE_BYTES).to_bytes(SIZE_BYTES)
        self._record_answer(header, chunked.response, answer)
        return answer

    # --- frames

    def _without_frame(self) -> Advance:
        fault = self._fault
        if fault is None:
            return None
        if not self.session.is_open:
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
            self.counts.requests += 1
            # An open session without an end admits every request.
            if session.is_open and session.expires_s is None:
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
        return limits.frame_bytes_max if self.session.is_open else limits.sasl_frame_bytes_max
