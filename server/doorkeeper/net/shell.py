"""One connection's socket: reads, hands over, writes, and waits where something must wait.

Answers are made inside ``data_received`` and leave in one write; there is no task and no queue
per connection. Strangers alone, who have not logged in, wait for their turn with each frame: see
``strangers``. A connection is held, and not read from, while

    an update is under way          its answer comes before the next request's
    a long answer is being made     as an update
    a login takes its time          as an update
    its peer does not take answers  the write buffer is not empty
    an authentication has failed    the answer and the end come after the delay
    others have their turn          it has more requests than one turn allows
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, cast

from doorkeeper.authorizer.awaiting import as_future
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.exchange import Authenticating, Closed, Lengthy, Refused
from doorkeeper.metrics.requests import Waited
from doorkeeper.net.beginning import SERVED, begun, count_of
from doorkeeper.net.request_log import DEBUG
from doorkeeper.net.spec import Accepted
from doorkeeper.net.telling import tell_end, tell_errors, tell_notes, tell_refusal
from doorkeeper.net.transports import is_encrypted, peer_certificates
from doorkeeper.net.updates import ACL_UPDATE, OPERATIONS, Items, step_of
from doorkeeper.node import ChangeTopics, CreateAcls, DeleteAcls

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.authn.contract import Step
    from doorkeeper.connection import Connection
    from doorkeeper.exchange import Advance, Update
    from doorkeeper.net.ledger import Ledger
    from doorkeeper.net.long_answers import Making
    from doorkeeper.net.strangers import Turn
    from doorkeeper.net.surroundings import Surroundings

TLS_PIECE_BYTES: Final = 65_536
"""A long answer goes to TLS in pieces of this size."""

STRANGER_BYTES: Final = 4096
"""What a stranger may send ahead while it waits for its turn: to stop reading costs more."""


class Shell(Accepted):
    """The socket's side of one connection."""

    __slots__ = (
        "_around",
        "_authenticating",
        "_calm",
        "_clock",
        "_connection",
        "_counted",
        "_delayed",
        "_draining",
        "_end",
        "_in_turn",
        "_items",
        "_log",
        "_making",
        "_reading",
        "_requests",
        "_stranger",
        "_strangers",
        "_transport",
        "_write_full",
        "last_active_s",
    )

    def __init__(self, connection: Connection, around: Surroundings) -> None:
        """Wait for the transport."""
        self._connection = connection
        self._around = around
        # What each request needs of it: a field of a named tuple takes longer (Python 3.11).
        self._clock = around.clock
        self._strangers = around.strangers
        self._requests = around.requests
        self._log = around.request_log
        # What ``_nothing_under_way`` has said since; whatever begins something takes it back.
        self._calm = False
        self._transport: asyncio.Transport | None = None
        self._items: Items[Any] | None = None
        self._authenticating: asyncio.Future[Step] | None = None
        self._making: Making | None = None
        self._delayed: asyncio.TimerHandle | None = None
        self._in_turn: asyncio.Handle | Turn | None = None
        self._end: Closed | Refused | None = None
        self._write_full = False
        self._reading = True
        self._counted = False
        self._stranger = True
        self._draining = False
        self.last_active_s = around.clock()

    @property
    def connection(self) -> Connection:
        """Return the protocol's side."""
        return self._connection

    @property
    def peer_id(self) -> str:
        """Return the connection as the log names it."""
        return self._connection.peer.connection_id

    @property
    def is_connected(self) -> bool:
        """Say whether there is a transport: with TLS, whether the handshake is over."""
        return self._transport is not None

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin. A write buffer is full when it is not empty, so that what it holds is known."""
        self._transport = cast("asyncio.Transport", transport)
        if is_encrypted(transport):
            # Here a buffer is full that has reached the limit; with 0 it always would be.
            self._transport.set_write_buffer_limits(high=1, low=0)
            read_ahead = self._around.limits.tls_read_ahead_bytes
            cast("Any", transport).set_read_buffer_limits(high=read_ahead)
        else:
            self._transport.set_write_buffer_limits(high=0)
        self._end = self._connection.established(peer_certificates(transport))
        self._stranger = not self._connection.session.is_open
        if self._connection.notes:
            tell_notes(self._connection, self._around)
        if self._end is not None:
            self._settle()

    def data_received(self, data: bytes) -> None:
        """Answer, nearly always one request that was answered before; strangers have turns."""
        self.last_active_s = now_s = self._clock()
        if self._calm and (self._log is None or not self._log.enabled(DEBUG)):
            answer = self._connection.again(data, now_s)
            if answer is not None:
                self._strangers.clients_at_work = True
                self._write(answer)
                if self._requests is None:
                    self._connection.answered.clear()
                else:
                    self._count_answered(now_s)
                if self._write_full:
                    self._settle()
                return
        self._calm = False
        self._connection.receive(data)
        if self._stranger:
            self._settle()
            return
        self._strangers.clients_at_work = True
        self._work(now_s)

    def eof_received(self) -> bool:
        """Answer what came before the peer ended its side, then end ours.

        With TLS the peer's end is the connection's: what an update would answer is not sent, as
        with a broker.
        """
        self.drain()
        return self._transport is not None and not is_encrypted(self._transport)

    def pause_writing(self) -> None:
        """Stop to answer: the peer does not take what there is."""
        self._calm = False
        self._write_full = True
        self._count_outgoing()

    def resume_writing(self) -> None:
        """Go on: everything has left."""
        self._write_full = False
        self._around.outgoing.hold(self, 0)
        self.last_active_s = now_s = self._clock()
        self._work(now_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything; an update under way goes on without an answer."""
        around = self._around
        self._calm = False
        self._transport = None
        self._items = None
        if self._authenticating is not None:
            self._authenticating.cancel()
            self._authenticating = None
        for each in (self._delayed, self._in_turn, self._making):
            if each is not None:
                each.cancel()
        self._delayed = self._in_turn = self._making = None
        around.incoming.hold(self, 0)
        around.outgoing.hold(self, 0)
        around.logger.debug("connection closed", connection=self.peer_id, cause=str(exc or ""))
        around.lost(self)

    # --- what the server calls

    def idle_since(self, deadline_s: float) -> bool:
        """Say whether nothing has moved since; a peer that takes an answer slowly is not idle."""
        if self._write_full and self._transport is not None:
            size = self._transport.get_write_buffer_size()
            if size < self._around.outgoing.held_by(self):
                self._around.outgoing.hold(self, size)
                self.last_active_s = self._clock()
        return self.last_active_s < deadline_s

    def drain(self) -> None:
        """Answer what was received, then close."""
        self._calm = False
        self._draining = True
        self._settle()

    def abort(self, reason: str) -> None:
        """Close now, whatever is under way."""
        if self._transport is not None:
            self._around.logger.debug(reason, connection=self.peer_id)
            self._transport.abort()

    # --- the work

    @property
    def _held(self) -> bool:
        return (
            self._write_full
            or self._items is not None
            or self._authenticating is not None
            or self._making is not None
            or self._end is not None
        )

    @property
    def _nothing_under_way(self) -> bool:
        """Say whether there is nothing to settle behind a plain answer."""
        return self._reading and not (
            self._held or self._counted or self._draining or self._stranger
        )

    def _work(self, now_s: float) -> None:
        """Answer requests until there is none, the turn is over, or one has to wait."""
        limits, connection = self._around.limits, self._connection
        logged, began_s = self._is_logged(), now_s
        left, room = limits.frames_per_turn, limits.out_bytes_per_turn
        if self._stranger:
            left = 1
        answers = [] if self._held else connection.repeats(now_s, left, room)
        left -= len(answers)
        room -= sum(map(len, answers))
        while left and room > 0 and not (self._held or connection.is_empty):
            result = connection.advance(now_s)
            if result is None:
                break
            left -= 1
            answer = result if isinstance(result, bytes) else self._other(result, began_s)
            if logged:
                began_s = self._tell_answers(began_s)
            if answer:
                room -= len(answer)
                answers.append(answer)
        self._told(answers, now_s)
        if self._nothing_under_way and connection.is_empty:
            self._calm = True
            return
        turn_over = not left or room <= 0
        if self._stranger:
            self._stranger = not self._connection.session.is_open
            turn_over = turn_over and self._connection.buffered > 0
        self._settle(turn_over=turn_over)

    def _told(self, answers: list[bytes], began_s: float) -> None:
        """Write what was answered, count it, and tell what there is to tell."""
        if answers:
            self._write(answers[0] if len(answers) == 1 else b"".join(answers))
        self._count_answered(began_s)
        if self._connection.notes:
            tell_notes(self._connection, self._around)

    def _count_answered(self, began_s: float, waited: Waited | None = None) -> None:
        """Count what was answered since; the answers of one turn leave, and end, together."""
        answered = self._connection.answered
        if self._requests is not None and answered:
            self._requests.answered(answered, self._clock() - began_s, waited)
        answered.clear()

    def _is_logged(self) -> bool:
        """Say whether anybody wants to read of requests now."""
        log, connection = self._log, self._connection
        logged = log is not None and log.enabled(DEBUG)
        if logged is (connection.answers is None):
            connection.answers = [] if logged else None
        return logged

    def _tell_answers(self, began_s: float, waited: Waited | None = None) -> float:
        """Tell of the requests that were answered since; return what time it is."""
        log, answers = self._around.request_log, self._connection.answers
        now_s = self._clock()
        remote_s = 0.0 if waited is None else waited.remote_s
        if log is not None and answers:
            for each in answers:
                log.completed(self._connection, each, now_s - began_s - remote_s, remote_s)
            answers.clear()
        return now_s

    def _other(
        self, result: Update | Lengthy | Authenticating | Refused | Closed, began_s: float
    ) -> bytes | None:
        """Take what is no plain answer; return an answer if there is one after all."""
        if isinstance(result, (Closed, Refused)):
            self._end = result
        elif isinstance(result, Authenticating):
            self._await(result, began_s)
        elif isinstance(result, Lengthy):
            self._make(result, began_s)
        else:
            return self._change(result, began_s)
        return None

    def _change(self, update: Update, began_s: float) -> bytes | None:
        """Begin an update; return its answer if it is over already."""
        try:
            items = self._begun(update)
        except Exception as error:  # noqa: BLE001 - a plug-in raises what it likes
            return self._answer_of(self._connection.refuse(update, error))
        if isinstance(update.outcome, ChangeTopics) and not update.outcome.wait:
            self._follow(items, update, began_s, awaited=False)
            return self._answer_of(self._connection.finish(update, ()))
        if items.done() and self._is_recorded(update, items):
            return self._completed(update, items)
        self._items = items
        self._follow(items, update, began_s, awaited=True)
        return None

    def _await(self, pending: Authenticating, began_s: float) -> None:
        """Come back when a mechanism knows what comes of a token."""
        future = self._authenticating = as_future(pending.step, self._around.loop)

        def on_done(done: asyncio.Future[Step]) -> None:
            if self._authenticating is not done:
                # The client has left.
                if not done.cancelled():
                    done.exception()
                return
            self._authenticating = None
            now_s = self._clock()
            result: Advance = self._connection.authenticated(pending, step_of(done), now_s)
            if result is not None and not isinstance(result, bytes):
                result = self._other(result, began_s)
            self._count_answered(began_s)
            self._tell_answers(began_s)
            self._resume(result)

        future.add_done_callback(on_done)

    def _make(self, lengthy: Lengthy, began_s: float) -> None:
        """Come back when a long answer has been made, in pieces."""

        def on_made(body: bytes | Exception) -> None:
            self._making = None
            answer = self._answer_of(self._connection.lengthened(lengthy, body))
            self._count_answered(began_s)
            self._tell_answers(began_s)
            self._resume(answer)

        self._making = self._around.long_answers.make(lengthy.body, on_made)

    def _begun(self, update: Update) -> Items[Any]:
        """Start an update; return its items."""
        around, outcome = self._around, update.outcome
        if around.trail is not None and (refusal := around.trail.refusal()) is not None:
            raise refusal
        if around.authorizer is not None and isinstance(outcome, (CreateAcls, DeleteAcls)):
            self._check_room(count_of(outcome))
        return begun(update, around.services, around.authorizer, around.loop)

    def _check_room(self, count: int) -> None:
        """Refuse what would wait behind too much; one request alone always may.

        Raises:
            ApiError: THROTTLING_QUOTA_EXCEEDED; the authorizer has not been asked.

        """
        waiting = self._around.updates.items[ACL_UPDATE]
        most = self._around.limits.updates_waiting_max
        if waiting and waiting + count > most:
            if self._requests is not None:
                self._requests.refused()
            self._around.logger.warning(
                "change refused: too many wait for the authorizer",
                connection=self.peer_id,
                items=count,
                waiting=waiting,
                waiting_max=most,
            )
            raise ApiError(
                ErrorCode.THROTTLING_QUOTA_EXCEEDED,
                "Nothing was changed: too many changes of ACLs are waiting for the authorizer."
                " Try again later.",
            )

    def _follow(self, items: Items[Any], update: Update, began_s: float, *, awaited: bool) -> None:
        """Come back when the items are complete; unless ``awaited`` only failures are told."""
        around = self._around
        around.updates.add(items, OPERATIONS[update.outcome.__class__])
        wait_began_s = around.clock()

        def on_done() -> None:
            if self._is_recorded(update, items) or around.trail is None:
                on_recorded(None)
            else:
                around.trail.when_recorded(on_recorded)

        def on_recorded(problem: ApiError | None) -> None:
            around.updates.discard(items)
            waited = Waited(wait_began_s - began_s, around.clock() - wait_began_s)
            if self._items is items:
                self._items = None
                answer = self._completed(update, items, problem)
                self._count_answered(began_s, waited)
                self._tell_answers(began_s, waited)
                self._resume(answer)
                return
            items.results()
            tell_errors(items, update, self.peer_id, self._around, awaited=awaited)
            if awaited and around.requests is not None:
                around.requests.left(update.api.key, waited)

        items.when_done(on_done, around.loop, around.limits.update_timeout_ms / 1000)

    def _is_recorded(self, update: Update, items: Items[Any]) -> bool:
        """Tell the trail what became of ACLs; say whether it has everything that is answered."""
        trail, outcome = self._around.trail, update.outcome
        if trail is None:
            return True
        if isinstance(outcome, (CreateAcls, DeleteAcls)) and not items.is_told:
            items.is_told = True
            trail.updated(outcome, items.results(), update.context)
        return trail.is_recorded

    def _completed(
        self, update: Update, items: Items[Any], problem: ApiError | None = None
    ) -> bytes | None:
        results = items.results()
        tell_errors(items, update, self.peer_id, self._around, awaited=True)
        if problem is not None:
            return self._answer_of(self._connection.refuse(update, problem))
        if isinstance(update.outcome, SERVED):
            results = results[0]
        return self._answer_of(self._connection.finish(update, results))

    def _answer_of(self, made: bytes | Closed) -> bytes | None:
        if isinstance(made, bytes):
            return made
        self._end = made
        return None

    def _resume(self, answer: bytes | None) -> None:
        """Write the answer that was waited for, and go on with the requests behind it."""
        if answer:
            self._write(answer)
        self._work(self._clock())

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None:
            return
        if len(data) <= TLS_PIECE_BYTES or not is_encrypted(transport):
            transport.write(data)
            return
        # What TLS has handed on at once it does not count: only in pieces does it notice that the
        # socket takes no more.
        for at in range(0, len(data), TLS_PIECE_BYTES):
            transport.write(memoryview(data)[at : at + TLS_PIECE_BYTES])
        if self._write_full:
            self._count_outgoing()

    def _count_outgoing(self) -> None:
        """Count what the peer has not taken; close somebody where that is too much."""
        if self._transport is None:
            return
        size = self._transport.get_write_buffer_size()
        if self._around.outgoing.hold(self, size):
            self._relieve(self._around.outgoing, "answers that peers do not take")

    # --- between two pieces of work

    def _settle(self, *, turn_over: bool = False) -> None:
        """Leave everything in order: the end, the next turn, reading, what is held."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if isinstance(self._end, Closed):
            tell_end(self._end, self.peer_id, self._around)
            transport.close()
            return
        if isinstance(self._end, Refused) and self._delayed is None:
            self._delay(self._end)
        more = (turn_over or self._connection.waiting) and not self._held
        if more and self._in_turn is None:
            self._in_turn = self._soon(self._next_turn)
        idle = not self._held and not more
        if self._draining and idle:
            transport.close()
            return
        held = self._connection.buffered
        self._counted = held > 0
        self._read(transport, wanted=idle or (more and self._stranger and held <= STRANGER_BYTES))
        if self._around.incoming.hold(self, held):
            self._relieve(self._around.incoming, "bytes received and not yet answered")

    def _read(self, transport: asyncio.Transport, *, wanted: bool) -> None:
        if wanted is self._reading:
            return
        self._reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _soon(self, work: Callable[[], None]) -> asyncio.Handle | Turn:
        """Do something in one of the loop's next turns; strangers wait for theirs."""
        if self._stranger:
            return self._strangers.wait(self._connection.peer.host, work)
        return self._around.loop.call_soon(work)

    def _next_turn(self) -> None:
        self._in_turn = None
        self._work(self._clock())

    def _delay(self, end: Refused) -> None:
        """Answer a failed authentication, and close, after the delay."""
        tell_refusal(end, self.peer_id, self._around)
        delay_s = self._around.limits.failed_authentication_delay_ms / 1000
        self._delayed = self._around.loop.call_later(delay_s, self._delay_over, end)

    def _delay_over(self, end: Refused) -> None:
        """Refuse in turn: the delays of a burst are over in one moment."""
        self._in_turn = self._strangers.wait(self._connection.peer.host, lambda: self._refuse(end))

    def _refuse(self, end: Refused) -> None:
        if self._transport is not None:
            if end.answer:
                self._transport.write(end.answer)
            self._transport.close()

    def _relieve(self, ledger: Ledger[Shell], what: str) -> None:
        """Close the connection that holds most."""
        victim = ledger.largest()
        self._around.logger.warning(
            "too many bytes held: closing the connection that holds most",
            what=what,
            connection=victim.connection.peer.connection_id,
            bytes=ledger.held_by(victim),
            bytes_of_all=ledger.total,
            bytes_max=ledger.bytes_max,
        )
        ledger.hold(victim, 0)
        victim.abort("connection closed to free memory")
