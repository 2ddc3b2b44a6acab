"""Updates in flight: changes that requests wait for, and that go on without their clients.

admit             before the change: whether it may begin
UpdateInFlight    one change: its task, its time-out, and the log of its failures

Those of all connections are ``net.context.UpdatesInFlight``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.node import Update, UpdateOperation
from doorkeeper.server.net.context import ServerContext
from doorkeeper.server.net.protocol.exchange import Request
from doorkeeper.server.runtime.metrics.meters import Waited
from doorkeeper.server.state.outcome import Results

OnDone = Callable[[Any, BaseException | None, Waited], None]


GRACE_S: Final = 1.0
"""Added to the time-out of ACL updates: the authorizer's guard times out each item first. Also the
least time for the audit record, where the change itself took nearly all of its time."""


def admit(update: Update, server: ServerContext, peer_id: str) -> Exception | None:
    """Count an update among those in flight; else return the reason to refuse it."""
    in_flight, operation = server.updates, update.operation
    refusal: Exception | None
    try:
        # Before the change, not after: what cannot be recorded must not happen.
        refusal = None if server.audit_log is None else server.audit_log.refusal()
        if operation == UpdateOperation.ACLS and refusal is None and in_flight.items[operation]:
            refusal = _overload(update, server, peer_id)
        if refusal is None:
            in_flight.updates[operation] += 1
            in_flight.items[operation] += update.items
    except Exception as fault:  # answered, and nothing has begun
        return fault
    return refusal


def _overload(update: Update, server: ServerContext, peer_id: str) -> ApiError | None:
    """Refuse an update where too many ACL changes wait; one alone is never refused."""
    waiting = server.updates.items[UpdateOperation.ACLS]
    waiting_max = server.limits.updates_waiting_max
    # Called only while others wait: a single update is bounded by its frame (limits.py).
    if waiting + update.items <= waiting_max:
        return None
    if server.requests is not None:
        server.requests.record_overload()
    server.logger.warning(
        "change rejected: too many changes are waiting for the authorizer",
        connection=peer_id,
        items=update.items,
        waiting=waiting,
        waiting_max=waiting_max,
    )
    return ApiError(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        "Nothing was changed: too many changes of ACLs are waiting for the authorizer."
        " Try again later.",
    )


class UpdateInFlight:
    """A change that has begun. It survives its connection.

    It survives its time-out too, but for ACLs that are still queued, of which the guard cancels the
    wait.
    """

    __slots__ = (
        "_began_s",
        "_on_done",
        "_peer_id",
        "_request",
        "_server",
        "_update",
        "_wait_began_s",
        "_waits",
    )

    def __init__(
        self,
        request: Request,
        update: Update,
        server: ServerContext,
        peer_id: str,
        began_s: float,
        on_done: OnDone | None,
    ) -> None:
        """Start the change that ``admit`` has counted; nothing before it may fail.

        ``on_done`` is called once, at the end or the time-out; None where nobody waits.
        """
        self._request = request
        self._update = update
        self._server = server
        self._peer_id = peer_id
        self._began_s = began_s
        self._wait_began_s: float | None = None
        self._on_done = on_done
        self._waits = update.wait
        """Whether the request has no answer yet; its client may have left."""
        # The event loop has only weak references to tasks.
        server.updates.tasks.add(server.loop.create_task(self._run()))
        if server.requests is not None or server.request_log is not None:
            # The loop calls it after the first step of the task, which ends where it first waits.
            server.loop.call_soon(self._begin_wait)

    def cancel(self) -> None:
        """Drop the answer: the client has left. The change goes on."""
        self._on_done = None

    async def _run(self) -> None:
        """Make the change, then hand on its result."""
        server, update = self._server, self._update
        in_flight, operation = server.updates, update.operation
        task = cast("asyncio.Task[None]", asyncio.current_task())
        timeout_s = server.limits.update_timeout_ms / 1000
        if operation == UpdateOperation.ACLS:
            timeout_s += GRACE_S
        # A timer and not ``asyncio.timeout``: the task must go on after the client has its answer.
        timeout = server.loop.call_later(timeout_s, self._time_out)
        result: Any = None
        error: BaseException | None = None
        try:
            result = await update.apply(server.services)
            timeout.cancel()
            if server.audit_log is not None:
                # The state log calls its subscribers, the audit log among them, before it
                # completes the change.
                left_s = max(timeout.when() - server.loop.time(), GRACE_S)
                problem = await server.audit_log.wait_until_recorded(left_s)
                if problem is not None:
                    not_recorded = _recording_error(problem)
                    # A row that was refused is answered with its own error all the same.
                    if isinstance(result, Results):
                        result = result.with_error(not_recorded)
                    else:
                        error = not_recorded
        except (Exception, asyncio.CancelledError) as fault:
            # A plug-in may raise CancelledError itself, which is a failed update and not a
            # cancellation.
            if task.cancelling():
                raise  # the server stops
            error = fault
        finally:
            timeout.cancel()
            in_flight.tasks.discard(task)
            in_flight.updates[operation] -= 1
            in_flight.items[operation] -= update.items
            if not in_flight.tasks:
                in_flight.none.set()
        if self._on_done is None and error is not None and not isinstance(error, ApiError):
            result = Results((), (error,))
        self._finish(result, error)
        del error  # its traceback refers to this frame: a circle, which the collector may never see

    def _time_out(self) -> None:
        """Answer the request of an update that takes too long; its task goes on."""
        results = Results((), timed_out=self._update.items)
        self._finish(results, ApiError(ErrorCode.REQUEST_TIMED_OUT))

    def _finish(self, result: object, error: BaseException | None) -> None:
        """Log what has failed; answer the request, if it still waits, or count that nobody does."""
        server, on_done, waits = self._server, self._on_done, self._waits
        self._on_done, self._waits = None, False
        # The local and the remote time: before the first wait, and after.
        now_s = server.clock()
        wait_began_s = now_s if self._wait_began_s is None else self._wait_began_s
        waited = Waited(wait_began_s - self._began_s, now_s - wait_began_s)
        # The items of an authorizer fail alone; any other change has succeeded as a whole.
        if isinstance(result, Results) and (result.errors or result.timed_out):
            server.observe(self._log_failures, result)
        if on_done is not None:
            on_done(result, error, waited)
        elif waits and server.requests is not None:
            server.requests.record_wait(self._request.api.key, waited)

    def _begin_wait(self) -> None:
        self._wait_began_s = self._server.clock()

    def _log_failures(self, results: Results) -> None:
        """Log and count the items that failed or timed out.

        The request is named where a client waits for the update.
        """
        server, update, request = self._server, self._update, self._request
        operation = update.operation
        if results.timed_out and server.requests is not None:
            server.requests.record_timeout(operation, results.timed_out)
        fields: dict[str, object] = {"connection": self._peer_id, "items": update.items}
        if update.wait:
            fields["api"] = request.api.name
            fields["correlation_id"] = request.header.correlation_id
            if operation == UpdateOperation.ACLS and server.authorizer:
                fields["authorizer"] = server.authorizer.name
        if results.timed_out:
            server.logger.warning(
                "items of a change timed out", timed_out=results.timed_out, **fields
            )
        if results.errors:
            server.logger.error(
                "items of a change failed",
                failed=len(results.errors),
                **fields,
                exc_info=results.errors[0],
            )


def _recording_error(problem: str) -> ApiError:
    return ApiError(
        ErrorCode.KAFKA_STORAGE_ERROR,
        f"The change was made, but the audit log could not be written: {problem}."
        " It is recorded later if the disk is what failed.",
    )
