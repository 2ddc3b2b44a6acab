"""The channel of a connection: its socket's side, named after the broker's ``KafkaChannel``.

Requests are handled in their order, and answered in it: the next one is not looked at before the
one before has its answer. Which request is handled when depends on the state of the channel.

    serving    Nothing is held. Bytes are received, handled and answered inside ``data_received``,
               all answers of a turn in one write. There is no task and no lock.
    turn       ``_turn``: the connection has had its share of this turn of the loop (frames, bytes
               of answers, a millisecond), and has requests left. Ends with the next turn of the
               loop. Before the login each frame has such a turn, and they come from ``FairQueue``.
    waiting    ``_request``: the first request waits. ``_task`` waits for it, answers it and goes on
               with the next ones: a task, or an ``UpdateInFlight`` (``net.updates``), whose task
               goes on without the client. Ends with it.
    full       ``_is_full``: the peer does not take its answers, so that the write buffer is not
               empty, or ``_long`` answers leave in pieces. Ends with the last byte. A request
               may wait at the same time: what it waits for begins or goes on, its answer is
               written behind the others.
    ended      The protocol handles nothing more. ``Closed`` closes the socket at the end of the
               turn, behind the answers before it. ``Refused`` is a request that waits for the delay
               of failed authentications; then its answer is sent and the socket closed.

Except while serving, reading is paused once bytes are held (before the login: more than a few).
These count in the ledger of all connections, with a long request that waits; answers that a peer
does not take count in another one. Beyond the limit of a ledger the connection that holds most is
closed.

What a request waits for, and what happens to it when the client leaves, or when the server stops:

    kind                 waits for                     client leaves     server stops
    Update               a change, its audit record    goes on alone     is answered
    DelayedResponse      an event                      is cancelled      is dropped
    Description          slices, among other clients'  is cancelled      is answered
    LargeRequest         its turn, then a thread       see below         is answered
    DecisionPending      an authorizer's awaitable     goes on alone     is answered
    Authenticating       a mechanism's awaitable       is cancelled      is answered
    Refused              the delay, then a turn        is cancelled      is answered

An update has a time-out, after which its client is answered and it goes on, but for ACLs that no
plan has taken yet, which are withdrawn; a decision has one that counts from the request. A large
request is dropped before its turn, and its decisions are counted once it has begun. What fails
while a request waits is its error: the answer of either is made by ``Connection.complete``. After a
stop the requests received so far are still answered.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from typing import Any, Final, cast

from doorkeeper.base.slices import run_in_turns
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.node import DelayedResponse, Update
from doorkeeper.server.authorizer.awaitables import as_future, wait_for_decision
from doorkeeper.server.net.connection_log import log_end, log_events, log_refusal
from doorkeeper.server.net.context import Accepted, ServerContext
from doorkeeper.server.net.fair_queue import QueuedWork
from doorkeeper.server.net.protocol.connection import Advance, Connection, Waiting
from doorkeeper.server.net.protocol.exchange import Authenticating, Closed, Pending, Refused
from doorkeeper.server.net.protocol.large_request import DECODED_HERE_BYTES_MAX, LargeRequest
from doorkeeper.server.net.protocol.logins import abandon
from doorkeeper.server.net.protocol.responses import head_of
from doorkeeper.server.net.request_log import DEBUG, log_request
from doorkeeper.server.net.transports import is_encrypted, peer_certificates
from doorkeeper.server.net.updates import UpdateInFlight, admit
from doorkeeper.server.runtime.metrics.meters import Waited
from doorkeeper.server.security.contract import Failure

PIECE_BYTES: Final = 1_048_576
"""Longer answers leave in pieces, one in each turn of the loop and none before the peer has taken
the last one: what a socket does not take at once its transport copies."""

TLS_PIECE_BYTES: Final = 65_536
"""The same with TLS, which encrypts a piece at once, and notices only between two of them that the
socket takes no more."""

UNAUTHENTICATED_BYTES: Final = 4096
"""Read-ahead while a login waits in the queue: pausing the transport would cost more."""

TURN_S: Final = 0.001
"""Pipelined requests that take longer than usual end the turn of their connection."""


class Channel(Accepted):
    """The socket's side of one connection."""

    __slots__ = (
        "_authenticated",
        "_counted",
        "_draining",
        "_end",
        "_is_full",
        "_is_idle",
        "_is_paused",
        "_long",
        "_piece_bytes",
        "_reading",
        "_request",
        "_request_level",
        "_server",
        "_task",
        "_transport",
        "_turn",
        "connection",
        "last_active_s",
        "peer_id",
    )

    def __init__(self, connection: Connection, server: ServerContext) -> None:
        self.connection = connection
        self.peer_id = connection.peer.connection_id
        self._server = server
        # Its ``level`` is read for each request: no call where the request log is off.
        self._request_level = None if server.request_log is None else server.request_log.threshold
        self._is_idle = False
        """Whether it is serving and all bytes are answered; whatever begins something resets it."""
        self._transport: asyncio.Transport | None = None
        self._request: Waiting | Refused | None = None
        self._task: asyncio.Task[None] | UpdateInFlight | None = None
        self._turn: asyncio.Handle | QueuedWork | None = None
        self._end: Closed | None = None
        self._is_full = self._is_paused = False
        self._long: deque[memoryview] = deque()
        self._piece_bytes = PIECE_BYTES
        self._reading = True
        self._counted = False
        self._authenticated = False
        self._draining = False
        self.last_active_s = server.clock()

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
            self._piece_bytes = TLS_PIECE_BYTES
            read_ahead = self._server.limits.tls_read_ahead_bytes
            cast("Any", transport).set_read_buffer_limits(high=read_ahead)
        else:
            # Paused by a single unsent byte: of answers that a client does not read, only one is in
            # memory.
            self._transport.set_write_buffer_limits(high=0)
        self._end = self.connection.start(peer_certificates(transport))
        self._authenticated = self.connection.session.is_past_login
        if self.connection.events:
            log_events(self.connection, self._server)
        # The principal could not be built: close before the first request.
        if self._end is not None:
            self._settle()

    def data_received(self, data: bytes) -> None:
        """Answer; before the end of the authentication only queue the work."""
        self.last_active_s = now_s = self._server.clock()
        if self._is_idle:
            level = self._request_level
            if (
                self.connection.repeatable is not None
                and (level is None or level.level > DEBUG)
                and (answer := self.connection.repeat(data, now_s)) is not None
            ):
                self._server.fair_queue.clients_active = True
                self._write(answer)
                if self._server.requests is not None:
                    self._count_answered(now_s)
                if self._is_full:
                    self._settle()
                return
            self._is_idle = False
        self.connection.receive(data)
        if not self._authenticated:
            self._settle()
            return
        self._server.fair_queue.clients_active = True
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
        self._is_full = self._is_paused = True
        self._count_outgoing()

    def resume_writing(self) -> None:
        """Go on: the write buffer is empty."""
        self._is_paused = False
        # Counted as activity: a peer that reads a long answer slowly is not idle.
        self.last_active_s = self._server.clock()
        self._continue_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all work; an update in flight goes on without an answer."""
        server = self._server
        self._is_idle = False
        self._transport = None
        self._forget_request()
        if self._turn is not None:
            self._turn.cancel()
        server.incoming.hold(self, 0)
        server.outgoing.hold(self, 0)
        self._long.clear()
        if (refused := abandon(self.connection)) is not None:
            log_refusal(refused, self.peer_id, server)
            log_events(self.connection, server)
        server.logger.debug("connection closed", connection=self.peer_id, cause=str(exc or ""))
        server.lost(self)

    # --- what the server calls

    def idle_since(self, deadline_s: float) -> bool:
        """Return whether no byte has moved since; a peer that reads slowly is not idle."""
        if self._is_full and self._transport is not None:
            size = self._outgoing_bytes(self._transport)
            # Some bytes have left since the last look; the transport itself reports only an empty
            # buffer.
            if size < self._server.outgoing.bytes_of(self):
                self._server.outgoing.hold(self, size)
                self.last_active_s = self._server.clock()
        return self.last_active_s < deadline_s

    def drain(self) -> None:
        """Answer the requests received so far, then close.

        A delayed response is dropped, and so are the requests behind it: a client takes an answer
        for that of its first request without one.
        """
        self._is_idle = False
        self._draining = True
        if _is_delayed(self._request):
            # Its event may be far away: a consumer asks again elsewhere.
            self._forget_request()
            self._end = self.connection.end()
        self._settle()

    def abort(self, reason: str) -> None:
        """Close without an answer."""
        if self._transport is not None:
            self._server.logger.debug(reason, connection=self.peer_id)
            self._transport.abort()

    # --- the work

    def _work(self, now_s: float) -> None:
        """Answer requests until there is none, the turn is over, or one has to wait."""
        limits, connection = self._server.limits, self.connection
        level, began_s = self._request_level, now_s
        logged = level is not None and level.level <= DEBUG
        if logged is (connection.request_records is None):
            connection.request_records = [] if logged else None
        left = limits.frames_per_turn if self._authenticated else 1
        ends_s = now_s + TURN_S
        room = limits.out_bytes_per_turn
        answers: list[bytes | bytearray] = []
        while left and room > 0 and self._request is None and not self._is_full:
            if not connection.frames and connection.input.is_between_frames:
                break
            result = connection.advance(now_s)
            if result is None:
                break
            left -= 1
            answer = result if result.__class__ is bytes else self._take(result, began_s)
            if logged:
                began_s = self._log_completed(began_s)
            if answer:
                room -= len(answer)
                answers.append(answer)
            if left and self._server.clock() > ends_s:
                left = 0
        self._end_turn(answers, now_s, is_over=not left or room <= 0)

    def _end_turn(self, answers: list[bytes | bytearray], began_s: float, *, is_over: bool) -> None:
        """Write the answers of a turn and update counters, logs and states."""
        connection = self.connection
        if answers:
            self._write(answers[0] if len(answers) == 1 else b"".join(answers))
        if self._server.requests is not None:
            self._count_answered(began_s)
        if connection.events:
            self._server.observe(log_events, connection, self._server)
        is_empty = not connection.frames and connection.input.is_between_frames
        if not self._authenticated:
            self._authenticated = connection.session.is_past_login
        elif (
            is_empty
            and self._request is None
            and self._reading
            and not (self._is_full or self._counted or self._draining or self._end)
        ):
            self._is_idle = True
            return
        # A turn that had time for everything needs no other one.
        self._settle(turn_over=is_over and not is_empty)

    def _count_answered(self, began_s: float, waited: Waited | None = None) -> None:
        """Count answers since the last call; all answers of a turn have one end time."""
        answered = self.connection.answer_codes
        if self._server.requests is not None and answered:
            total_s = self._server.clock() - began_s
            record = self._server.requests.record_answers
            self._server.observe(record, tuple(answered), total_s, waited)
            answered.clear()

    def _log_completed(self, began_s: float, waited: Waited | None = None) -> float:
        """Write the request log; return the time, at which the next request begins."""
        log, completed = self._server.request_log, self.connection.request_records
        now_s = self._server.clock()
        remote_s = 0.0 if waited is None else waited.remote_s
        if log is not None and completed:
            for request in completed:
                local_s = now_s - began_s - remote_s
                self._server.observe(log_request, log, self.connection, request, local_s, remote_s)
            completed.clear()
        return now_s

    def _take(self, result: Advance, began_s: float) -> bytes | bytearray | None:
        """Return an answer that is ready at once; else begin to wait, or to end.

        What waits begins here: an update is admitted and gets its task.
        """
        if isinstance(result, (bytes, bytearray)):
            return result
        if isinstance(result, Closed):
            self._end = result
        elif isinstance(result, Pending) and isinstance(result.outcome, Update):
            update, peer_id = result.outcome, self.peer_id
            if (refusal := admit(update, self._server, peer_id)) is not None:
                return self._take(self.connection.complete(result, None, refusal), began_s)
            on_done = partial(self._go_on, result, began_s) if update.wait else None
            begun = UpdateInFlight(result.request, update, self._server, peer_id, began_s, on_done)
            if not update.wait:
                return self._take(self.connection.complete(result), began_s)
            self._request, self._task = result, begun
        elif isinstance(result, Refused):
            log_refusal(result, self.peer_id, self._server)
            loop = self._server.loop
            due_s = loop.time() + self._server.limits.failed_authentication_delay_ms / 1000
            self._request, self._task = result, loop.create_task(self._refuse(result, due_s))
        elif result is not None:
            waiting = self._wait(result, began_s)
            self._request, self._task = result, self._server.loop.create_task(waiting)
        return None

    async def _wait(self, request: Waiting, began_s: float) -> None:
        """Wait for what a request needs; then answer it, and go on with the next ones."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        result: Any = None
        error: BaseException | None = None
        try:
            result = await _outcome(request, self._server, began_s)
        except (Exception, asyncio.CancelledError) as fault:
            # What it awaits may be cancelled too, which is an error of the request.
            if task.cancelling():
                raise  # the client has left, or the server stops
            error = fault
        if error is not None and isinstance(request, Authenticating):
            name = type(error).__name__
            result, error = Failure(None, f"the mechanism failed: {name}"), None
        waited = None
        if _is_delayed(request):
            waited = Waited(0.0, self._server.clock() - began_s)
        self._go_on(request, began_s, result, error, waited)
        del error  # its traceback refers to this frame: a circle, which the collector may never see

    def _go_on(
        self,
        request: Waiting,
        began_s: float,
        result: object,
        error: BaseException | None,
        waited: Waited | None,
    ) -> None:
        """Answer a request that has waited, count and log it, and continue with the next ones."""
        if self._request is not request:
            return  # the client has left
        self._request = self._task = None
        try:
            completed = self.connection.complete(request, result, error, self._server.clock())
            answer = self._take(completed, began_s)
            if self._server.requests is not None:
                self._count_answered(began_s, waited)
            if self.connection.request_records:
                self._log_completed(began_s, waited)
            if answer:
                self._write(answer)
            self._work(self._server.clock())
        except Exception as fault:  # the request would hang
            # Told now: the loop learns of a task's exception when its traceback is collected.
            message = "the response to a request that waited failed"
            self._server.loop.call_exception_handler({"message": message, "exception": fault})
            self.abort(message)

    def _forget_request(self) -> None:
        """Cancel what waits; an update goes on without an answer."""
        task, self._request, self._task = self._task, None, None
        if isinstance(task, UpdateInFlight):
            task.cancel()
        elif task is not None:
            # A turn later: a task that has not begun would leave alone what it is to wait for.
            self._server.loop.call_soon(task.cancel)

    async def _refuse(self, end: Refused, due_s: float) -> None:
        """Send the answer to a failed authentication after the delay, then close."""
        loop = self._server.loop
        await asyncio.sleep(due_s - loop.time())
        # In a turn of its own: the delays of a burst end at the same moment.
        turn = loop.create_future()
        self._turn = self._server.fair_queue.put(
            self.connection.peer.host, partial(turn.set_result, None)
        )
        await turn
        # Behind the answers before it, which may still leave in pieces.
        self._request, self._task, self._end = None, None, Closed("")
        if end.answer:
            self._write(end.answer)
        self._settle()

    def _write(self, data: bytes | bytearray) -> None:
        if self._transport is None:
            return
        if len(data) <= self._piece_bytes and not self._long:
            self._transport.write(data)
            return
        self._long.append(memoryview(data))
        if len(self._long) == 1:
            self._write_pieces(self._transport)

    def _write_pieces(self, transport: asyncio.Transport) -> None:
        """Write the next pieces of long answers, while the peer takes them."""
        left = self._server.limits.out_bytes_per_turn
        while self._long and left > 0 and not self._is_paused:
            answer = self._long.popleft()
            piece, rest = answer[: self._piece_bytes], answer[self._piece_bytes :]
            if rest:
                self._long.appendleft(rest)
            left -= len(piece)
            transport.write(piece)
        if self._long and not self._is_paused:
            self._server.loop.call_soon(self._continue_writing)
        self._is_full = self._is_paused or bool(self._long)
        self._count_outgoing()

    def _continue_writing(self) -> None:
        """Continue with the next pieces, or with the next requests."""
        if self._transport is not None:
            self._write_pieces(self._transport)
            if not self._is_full:
                self._work(self._server.clock())

    def _outgoing_bytes(self, transport: asyncio.Transport) -> int:
        return transport.get_write_buffer_size() + sum(map(len, self._long))

    def _count_outgoing(self) -> None:
        """Count the unread answers of the peer."""
        if self._transport is not None:
            self._server.outgoing.hold(self, self._outgoing_bytes(self._transport))

    # --- between two pieces of work

    def _settle(self, *, turn_over: bool = False) -> None:
        """Close, schedule the next turn, pause or resume reading, and count bytes held."""
        transport, connection = self._transport, self.connection
        if transport is None or transport.is_closing():
            return
        if self._end is not None and not self._long:
            log_end(self._end, self.peer_id, self._server)
            transport.close()
            return
        held = connection.buffered_bytes
        reading = True
        if self._request is not None or self._is_full:
            # A client that waits for its answer sends nothing: most updates end before anything
            # comes, and to stop and resume takes two calls into the system.
            reading = not (held or self._is_full or self._request.__class__ is Refused)
        elif turn_over or connection.has_work:
            self._schedule_turn()
            reading = not self._authenticated and held <= UNAUTHENTICATED_BYTES
        elif self._draining:
            transport.close()
            return
        if self._request is not None and connection.request_bytes > DECODED_HERE_BYTES_MAX:
            # Counted as well, since many may wait for the thread.
            held += connection.request_bytes
        was_counted, self._counted = self._counted, held > 0
        if reading is not self._reading:
            self._reading = reading
            (transport.resume_reading if reading else transport.pause_reading)()
        if held or was_counted:
            self._server.incoming.hold(self, held)

    def _schedule_turn(self) -> None:
        """Schedule the next turn: through the fair queue before the authentication."""
        if self._turn is None:
            self._turn = (
                self._server.loop.call_soon(self._next_turn)
                if self._authenticated
                else self._server.fair_queue.put(self.connection.peer.host, self._next_turn)
            )

    def _next_turn(self) -> None:
        self._turn = None
        self._work(self._server.clock())


def _is_delayed(request: object) -> bool:
    return isinstance(request, Pending) and isinstance(request.outcome, DelayedResponse)


async def _outcome(waiting: Waiting, server: ServerContext, began_s: float) -> Any:  # noqa: ANN401 - see ``Connection.complete``
    """Wait for what a request needs, and return it.

    Raises:
        Exception: the request failed meanwhile.
    """
    if isinstance(waiting, Authenticating):
        return await as_future(waiting.step, server.loop)
    if isinstance(waiting, LargeRequest):
        return await server.large_requests.handle(waiting)
    header, outcome = waiting.request.header, waiting.outcome
    if isinstance(outcome, DelayedResponse):
        return await outcome.response
    if isinstance(outcome, Description):
        # A long body would hold up all other connections if it were built in one turn.
        version = header.api_version
        chunks = outcome.chunks(version, len(head_of(header, version)))
        async with server.building:
            return await run_in_turns(chunks, time.perf_counter)
    assert not isinstance(outcome, Update), "``UpdateInFlight`` makes changes"
    left_s = began_s + server.limits.decision_timeout_ms / 1000 - server.clock()
    return await wait_for_decision(outcome.known, left_s)
