"""The channel of a connection: its socket's side, named after the broker's ``KafkaChannel``.

Answers are written inside ``data_received``, in one write; a task runs only while a request
waits. Before a client has authenticated, each of its frames waits in the ``FairQueue``. A
connection is held, and not read from once it has bytes that wait, while

    an update is in flight          its answer comes before the next request's
    a response is delayed           as an update
    a large request is handled      as an update
    an authorizer asks elsewhere    as an update
    a chunked response is built     as an update
    a mechanism verifies a token    as an update
    its peer does not take answers  the write buffer is not empty
    an authentication has failed    the answer and the end come after the delay
    others have their turn          it has more requests than one turn allows
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from doorkeeper.server.authorizer.awaitables import as_future, forget, wait_for_decision
from doorkeeper.server.net.chunked_responses import ResponseBuild
from doorkeeper.server.net.connection_log import log_end, log_events, log_refusal
from doorkeeper.server.net.context import Accepted, ServerContext
from doorkeeper.server.net.fair_queue import QueuedWork
from doorkeeper.server.net.large_requests import Handling
from doorkeeper.server.net.ledger import Ledger
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.protocol.exchange import (
    Advance,
    Authenticating,
    ChunkedResponse,
    Closed,
    PendingDecision,
    PendingResponse,
    PendingUpdate,
    Refused,
)
from doorkeeper.server.net.protocol.large_request import LargeRequest
from doorkeeper.server.net.request_log import DEBUG
from doorkeeper.server.net.transports import is_encrypted, peer_certificates
from doorkeeper.server.net.updates import UpdateInFlight, admit
from doorkeeper.server.runtime.metrics.requests import Waited
from doorkeeper.server.security.contract import Failure, Step

TLS_CHUNK_BYTES: Final = 65_536
"""Larger answers are passed to TLS in chunks of this size."""

UNAUTHENTICATED_BYTES: Final = 4096
"""Read-ahead while a login waits in the queue: pausing the transport would cost more."""

TURN_S: Final = 0.001
"""Pipelined requests that take longer than usual end the turn of their connection."""


class Channel(Accepted):
    """The socket's side of one connection."""

    __slots__ = (
        "_authenticated",
        "_authenticating",
        "_building",
        "_clock",
        "_connection",
        "_counted",
        "_deciding",
        "_delayed",
        "_delayed_response",
        "_draining",
        "_end",
        "_fair_queue",
        "_in_turn",
        "_is_idle",
        "_large",
        "_reading",
        "_request_level",
        "_requests",
        "_server",
        "_transport",
        "_updating",
        "_write_full",
        "last_active_s",
    )

    def __init__(self, connection: Connection, server: ServerContext) -> None:
        self._connection = connection
        self._server = server
        # What each request needs of it: a field of a named tuple takes longer (Python 3.11).
        self._clock = server.clock
        self._fair_queue = server.fair_queue
        self._requests = server.requests
        # Its ``level`` is read for each request: no call where the request log is off.
        self._request_level = None if server.request_log is None else server.request_log.threshold
        # The last result of ``_is_idle``; whatever begins something resets it.
        self._is_idle = False
        self._transport: asyncio.Transport | None = None
        self._updating: UpdateInFlight | None = None
        self._authenticating: asyncio.Future[Step] | None = None
        self._building: ResponseBuild | None = None
        self._large: Handling | None = None
        self._deciding: asyncio.Task[None] | None = None
        self._delayed: asyncio.TimerHandle | None = None
        self._delayed_response: asyncio.Future[Any] | None = None
        self._in_turn: asyncio.Handle | QueuedWork | None = None
        self._end: Closed | Refused | None = None
        self._write_full = False
        self._reading = True
        self._counted = False
        self._authenticated = False
        self._draining = False
        self.last_active_s = server.clock()

    @property
    def connection(self) -> Connection:
        return self._connection

    @property
    def peer_id(self) -> str:
        """Return the connection id that log lines have."""
        return self._connection.peer.connection_id

    @property
    def is_connected(self) -> bool:
        """Return whether there is a transport: with TLS, after the handshake."""
        return self._transport is not None

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport. Its write buffer is full when not empty, so every byte is counted."""
        self._transport = cast("asyncio.Transport", transport)
        if is_encrypted(transport):
            # asyncio's TLS transport pauses at size >= high, others at size > high: with high=0 it
            # would be paused while its buffer is empty.
            self._transport.set_write_buffer_limits(high=1, low=0)
            read_ahead = self._server.limits.tls_read_ahead_bytes
            cast("Any", transport).set_read_buffer_limits(high=read_ahead)
        else:
            # Paused by a single unsent byte: of answers that a client does not read, only one is in
            # memory.
            self._transport.set_write_buffer_limits(high=0)
        self._end = self._connection.start(peer_certificates(transport))
        self._authenticated = self._connection.session.is_open
        if self._connection.events:
            log_events(self._connection, self._server)
        # The principal could not be built: close before the first request.
        if self._end is not None:
            self._settle()

    def data_received(self, data: bytes) -> None:
        """Answer; queue the work before the authentication."""
        self.last_active_s = now_s = self._clock()
        level = self._request_level
        if self._is_idle and (level is None or level.level > DEBUG):
            answer = self._connection.repeat(data, now_s)
            if answer is not None:
                self._fair_queue.clients_active = True
                self._write(answer)
                if self._requests is not None:
                    self._count_answered(now_s)
                if self._write_full:
                    self._settle()
                return
        self._is_idle = False
        self._connection.receive(data)
        if not self._authenticated:
            self._settle()
            return
        self._fair_queue.clients_active = True
        self._work(now_s)

    def eof_received(self) -> bool:
        """Answer the requests received so far, then close.

        Half-closed TLS connections do not exist: the answer of an update in flight is dropped, as
        by a broker.
        """
        self.drain()
        return self._transport is not None and not is_encrypted(self._transport)

    def pause_writing(self) -> None:
        """Hold the connection until the peer reads the answers."""
        self._is_idle = False
        self._write_full = True
        self._count_outgoing()

    def resume_writing(self) -> None:
        """Go on: the write buffer is empty."""
        self._write_full = False
        # Counted as activity: a peer that reads a long answer slowly is not idle.
        self._server.outgoing.hold(self, 0)
        self.last_active_s = now_s = self._clock()
        self._work(now_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all work; an update in flight goes on without an answer."""
        server = self._server
        self._is_idle = False
        self._transport = None
        begun = (
            self._updating,
            self._authenticating,
            self._delayed,
            self._delayed_response,
            self._in_turn,
            self._building,
            self._deciding,
            self._large,
        )
        self._authenticating = self._delayed = self._delayed_response = self._in_turn = None
        self._building = self._deciding = self._large = self._updating = None
        for each in begun:
            if each is not None:
                each.cancel()
        server.incoming.hold(self, 0)
        server.outgoing.hold(self, 0)
        server.logger.debug("connection closed", connection=self.peer_id, cause=str(exc or ""))
        server.lost(self)

    # --- what the server calls

    def idle_since(self, deadline_s: float) -> bool:
        """Return whether no byte has moved since; a peer that reads slowly is not idle."""
        if self._write_full and self._transport is not None:
            size = self._transport.get_write_buffer_size()
            # Some bytes have left since the last look; the transport itself reports only an empty
            # buffer.
            if size < self._server.outgoing.bytes_of(self):
                self._server.outgoing.hold(self, size)
                self.last_active_s = self._clock()
        return self.last_active_s < deadline_s

    def drain(self) -> None:
        """Answer the requests received so far, then close; a delayed response is dropped."""
        self._is_idle = False
        self._draining = True
        delayed = self._delayed_response
        if delayed is not None:
            # Its event may be far away: a consumer asks again elsewhere.
            self._delayed_response = None
            delayed.cancel()
        self._settle()

    def abort(self, reason: str) -> None:
        """Close without an answer."""
        if self._transport is not None:
            self._server.logger.debug(reason, connection=self.peer_id)
            self._transport.abort()

    # --- the work

    @property
    def _is_held(self) -> bool:
        return (
            self._write_full
            or self._updating is not None
            or self._delayed_response is not None
            or self._authenticating is not None
            or self._building is not None
            or self._large is not None
            or self._deciding is not None
            or self._end is not None
        )

    def _work(self, now_s: float) -> None:
        """Answer requests until there is none, the turn is over, or one has to wait."""
        limits, connection = self._server.limits, self._connection
        level, began_s = self._request_level, now_s
        logged = level is not None and level.level <= DEBUG
        if logged is (connection.request_records is None):
            connection.request_records = [] if logged else None
        left = limits.frames_per_turn if self._authenticated else 1
        ends_s = now_s + TURN_S
        room = limits.out_bytes_per_turn
        answers: list[bytes] = []
        is_empty = False
        while left and room > 0 and not self._is_held:
            if connection.is_empty:
                is_empty = True
                break
            result = connection.advance(now_s)
            if result is None:
                break
            left -= 1
            answer = result if isinstance(result, bytes) else self._take(result, began_s)
            if logged:
                began_s = self._log_completed(began_s)
            if answer:
                room -= len(answer)
                answers.append(answer)
            if left and self._clock() > ends_s:
                left = 0
        self._end_turn(answers, now_s, is_over=not left or room <= 0, is_empty=is_empty)

    def _end_turn(
        self, answers: list[bytes], began_s: float, *, is_over: bool, is_empty: bool
    ) -> None:
        """Write the answers of a turn and update counters, logs and states."""
        connection = self._connection
        if answers:
            self._write(answers[0] if len(answers) == 1 else b"".join(answers))
        if self._requests is not None:
            self._count_answered(began_s)
        if connection.events:
            self._server.observe(log_events, connection, self._server)
        if not self._authenticated:
            self._authenticated = connection.session.is_open
            is_over = is_over and connection.buffered_bytes > 0
        elif is_empty and self._reading and not (self._is_held or self._counted or self._draining):
            self._is_idle = True
            return
        self._settle(turn_over=is_over)

    def _count_answered(self, began_s: float, waited: Waited | None = None) -> None:
        """Count answers since the last call; all answers of a turn have one end time."""
        answered = self._connection.answer_codes
        if self._requests is not None and answered:
            total_s = self._clock() - began_s
            record = self._requests.record_answers
            self._server.observe(record, tuple(answered), total_s, waited)
            answered.clear()

    def _log_completed(self, began_s: float, waited: Waited | None = None) -> float:
        """Write the request log; return the time, at which the next request begins."""
        log, completed = self._server.request_log, self._connection.request_records
        now_s = self._clock()
        remote_s = 0.0 if waited is None else waited.remote_s
        if log is not None and completed:
            for each in completed:
                local_s = now_s - began_s - remote_s
                self._server.observe(log.log, self._connection, each, local_s, remote_s)
            completed.clear()
        return now_s

    def _take(self, result: Advance, began_s: float) -> bytes | None:
        """Start the work that a request waits for; return an answer that is ready at once."""
        if isinstance(result, PendingUpdate):
            return self._start_update(result, began_s)
        if isinstance(result, PendingResponse):
            delayed = self._delayed_response = as_future(result.response, self._server.loop)
            delayed.add_done_callback(partial(self._complete_delayed, result, began_s))
        elif isinstance(result, ChunkedResponse):
            on_built = partial(self._complete_chunked, result, began_s)
            finish = result.response.rows.finish_builds
            self._building = self._server.chunked_responses.build(result.body, on_built, finish)
        elif isinstance(result, LargeRequest):
            on_handled = partial(self._complete_large, result, began_s)
            self._large = self._server.large_requests.handle(result, on_handled)
        elif isinstance(result, PendingDecision):
            left_s = began_s + self._server.limits.decision_timeout_ms / 1000 - self._clock()
            waiting = wait_for_decision(result.decision.known, left_s)
            self._deciding = self._server.loop.create_task(waiting)
            self._deciding.add_done_callback(partial(self._complete_decision, result, began_s))
        elif isinstance(result, Authenticating):
            step = self._authenticating = as_future(result.step, self._server.loop)
            step.add_done_callback(partial(self._complete_authentication, result, began_s))
        elif isinstance(result, (Closed, Refused)):
            self._end = result
        else:
            return result
        return None

    # --- work that a request waits for

    def _start_update(self, pending: PendingUpdate, began_s: float) -> bytes | None:
        """Begin a change; return an answer that is ready at once."""
        update = pending.update
        refusal = admit(update, self._server, self.peer_id)
        if refusal is not None:
            return self._take(self._connection.complete(pending, None, refusal), began_s)
        on_done = partial(self._complete_update, pending, began_s) if update.wait else None
        begun = UpdateInFlight(pending, self._server, self.peer_id, began_s, on_done)
        begun.begin()
        if not update.wait:
            return self._take(self._connection.complete(pending, None), began_s)
        self._updating = begun
        return None

    def _complete_update(
        self,
        pending: PendingUpdate,
        began_s: float,
        result: Any,  # noqa: ANN401 - of the API's own type
        error: BaseException | None,
        waited: Waited,
    ) -> None:
        """Answer the request of a change, then continue with the next ones."""
        self._updating = None
        try:
            answer = self._connection.complete(pending, result, error)
            self._resume(answer, began_s, waited)
        except Exception as fault:  # the request would hang
            # Told now: the loop learns of a task's exception when its traceback is collected.
            message = "the response to an update failed"
            self._server.loop.call_exception_handler({"message": message, "exception": fault})
            self.abort(message)

    def _complete_authentication(
        self, pending: Authenticating, began_s: float, done: asyncio.Future[Step]
    ) -> None:
        """Answer a token after its verification, then continue with the next requests."""
        if self._authenticating is not done:
            # The client has left.
            if not done.cancelled():
                done.exception()
            return
        self._authenticating = None
        result = self._connection.complete_authentication(pending, _step_of(done), self._clock())
        self._resume(None if result is None else self._take(result, began_s), began_s)

    def _complete_delayed(
        self, pending: PendingResponse, began_s: float, done: asyncio.Future[Any]
    ) -> None:
        """Answer a delayed request, then continue with the next ones."""
        if self._delayed_response is not done:
            # The client has left.
            forget(done)
            return
        self._delayed_response = None
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        result = done.result() if error is None else None
        waited = Waited(0.0, self._clock() - began_s)
        self._resume(self._connection.complete(pending, result, error), began_s, waited)

    def _complete_large(self, request: LargeRequest, began_s: float) -> None:
        """Continue after the thread has handled a request, then with the next ones."""
        self._large = None
        result = self._connection.complete_large(request)
        self._resume(None if result is None else self._take(result, began_s), began_s)

    def _complete_decision(
        self, pending: PendingDecision, began_s: float, done: asyncio.Task[None]
    ) -> None:
        """Handle a request again, then continue with the next ones."""
        if self._deciding is not done:
            # The client has left.
            forget(done)
            return
        self._deciding = None
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        result = self._connection.complete_decision(pending, error)
        self._resume(None if result is None else self._take(result, began_s), began_s)

    def _complete_chunked(
        self, chunked: ChunkedResponse, began_s: float, body: bytearray | Exception
    ) -> None:
        """Answer with a body that was built in chunks, then continue with the next requests."""
        self._building = None
        self._resume(self._connection.complete_chunked(chunked, body), began_s)

    def _resume(
        self,
        answer: bytes | bytearray | Closed | None,
        began_s: float,
        waited: Waited | None = None,
    ) -> None:
        """Count and write an answer, then continue with the next requests."""
        if self._requests is not None:
            self._count_answered(began_s, waited)
        if self._connection.request_records:
            self._log_completed(began_s, waited)
        if isinstance(answer, Closed):
            self._end = answer
        elif answer:
            self._write(answer)
        self._work(self._clock())

    def _write(self, data: bytes | bytearray) -> None:
        transport = self._transport
        if transport is None:
            return
        if len(data) <= TLS_CHUNK_BYTES or not is_encrypted(transport):
            transport.write(data)
            return
        # What TLS has handed on at once it does not count: only in pieces does it notice that the
        # socket takes no more.
        for at in range(0, len(data), TLS_CHUNK_BYTES):
            transport.write(memoryview(data)[at : at + TLS_CHUNK_BYTES])
        if self._write_full:
            self._count_outgoing()

    def _count_outgoing(self) -> None:
        """Count the unread answers of the peer; close the largest holder beyond the limit."""
        if self._transport is None:
            return
        size = self._transport.get_write_buffer_size()
        if self._server.outgoing.hold(self, size):
            self._close_largest(self._server.outgoing, "answers that peers do not take")

    # --- between two pieces of work

    def _settle(self, *, turn_over: bool = False) -> None:
        """Close, schedule the next turn, pause or resume reading, and count bytes held."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if isinstance(self._end, Closed):
            log_end(self._end, self.peer_id, self._server)
            transport.close()
            return
        if isinstance(self._end, Refused) and self._delayed is None:
            self._delay(self._end)
        idle = not self._is_held
        more = idle and (turn_over or self._connection.waiting)
        if more:
            idle = False
            if self._in_turn is None:
                self._in_turn = self._soon(self._next_turn)
        if self._draining and idle:
            transport.close()
            return
        held = self._connection.buffered_bytes
        was_counted, self._counted = self._counted, held > 0
        if more:
            reading = not self._authenticated and held <= UNAUTHENTICATED_BYTES
        else:
            # A client that waits for its answer sends nothing: most updates end before anything
            # comes, and to stop and resume takes two calls into the system.
            reading = idle or not (held or self._write_full or self._end is not None)
        if reading is not self._reading:
            self._reading = reading
            (transport.resume_reading if reading else transport.pause_reading)()
        if (held or was_counted) and self._server.incoming.hold(self, held):
            self._close_largest(self._server.incoming, "bytes received and not yet answered")

    def _soon(self, work: Callable[[], None]) -> asyncio.Handle | QueuedWork:
        """Schedule work: through the fair queue before the authentication."""
        if not self._authenticated:
            return self._fair_queue.put(self._connection.peer.host, work)
        return self._server.loop.call_soon(work)

    def _next_turn(self) -> None:
        self._in_turn = None
        self._work(self._clock())

    def _delay(self, end: Refused) -> None:
        """Send the answer to a failed authentication after the delay, then close."""
        log_refusal(end, self.peer_id, self._server)
        delay_s = self._server.limits.failed_authentication_delay_ms / 1000
        self._delayed = self._server.loop.call_later(delay_s, self._delay_over, end)

    def _delay_over(self, end: Refused) -> None:
        """Refuse through the fair queue: the delays of a burst end at the same moment."""
        self._in_turn = self._fair_queue.put(self._connection.peer.host, partial(self._refuse, end))

    def _refuse(self, end: Refused) -> None:
        if self._transport is not None:
            if end.answer:
                self._transport.write(end.answer)
            self._transport.close()

    def _close_largest(self, ledger: Ledger[Accepted], what: str) -> None:
        """Close the connection that holds most bytes."""
        victim = ledger.largest()
        self._server.logger.warning(
            "too many bytes held: closing the connection that holds most",
            what=what,
            connection=victim.peer_id,
            bytes=ledger.bytes_of(victim),
            bytes_of_all=ledger.total,
            bytes_max=ledger.bytes_max,
        )
        ledger.hold(victim, 0)
        victim.abort("connection closed to free memory")


def _step_of(done: asyncio.Future[Step]) -> Step:
    """Return the result of a mechanism; an exception counts as a failed authentication."""
    if done.cancelled():
        return Failure(None, "the authentication was cancelled")
    error = done.exception()
    if error is not None:
        return Failure(None, f"the mechanism failed: {type(error).__name__}")
    return done.result()
