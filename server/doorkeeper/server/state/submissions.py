"""Submitted changes that are not complete: queued, in flight, or in doubt; their deadlines.

queue      waits to be planned, in the order of submission
in_flight  is planned or written
doubt      the batch whose commit ended without an answer, until the log is asked for it
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from msgspec import Struct

from doorkeeper.base.slices import Slices
from doorkeeper.server.schema.change import Change, Origin
from doorkeeper.server.state.state import State
from doorkeeper.server.state.store import (
    LogEntry,
    OutcomeUnknown,
    StorageError,
    Store,
    StoreUnavailable,
)

R = TypeVar("R")

Plan = Callable[[State], "tuple[Change, R] | Slices[tuple[Change, R]]"]
"""Compute a change on a state, and the result for the submitter; at once or in slices.

Plans may be called again on a newer state, so they have no side effects: the result of the last
call counts. If a plan raises, ``submit`` raises the same error and nothing is changed.
"""


class CompletedPlan(Struct, Generic[R], frozen=True):
    """The result of a plan whose change is durable and visible.

    An empty change has the revision of the change before it.
    """

    revision: int
    result: R


RETRY_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Pauses between attempts to get the lease of an unavailable store."""


@dataclass(slots=True, eq=False)
class Submission:
    """A submitted change that is not complete.

    The deadline ends the wait of a change that is queued or in doubt.
    """

    plan: Plan[Any]
    origin: Origin
    completion: asyncio.Future[CompletedPlan[Any]]
    deadline_s: float | None = None
    change: Change = field(default_factory=dict)
    result: Any = None
    revision: int = 0
    error: Exception | None = None
    commits_alone: bool = False

    def is_expired(self, now_s: float) -> bool:
        return self.deadline_s is not None and self.deadline_s <= now_s

    def fail(self, error: Exception) -> None:
        if not self.completion.done():
            self.completion.set_exception(error)


class Batch(Struct, frozen=True):
    """Planned changes that share one transaction.

    ``state`` lacks only ``last``, the last item that changes anything: a large one is applied
    during the write, a small one before.
    """

    batch_id: UUID | None
    items: list[Submission]
    entries: list[LogEntry]
    state: State
    last: Submission | None


class Submissions:
    """The incomplete changes of one log. For the event loop's thread."""

    __slots__ = ("_expiry", "_loop", "_store", "doubt", "in_flight", "queue")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop: asyncio.AbstractEventLoop | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self.queue: deque[Submission] = deque()
        self.in_flight: list[Submission] = []
        self.doubt: Batch | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Withdraw changes at their deadlines from now on."""
        self._loop = loop
        self._expire_later(loop, 0)

    def stop(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()

    def limit(self, submission: Submission, timeout_s: float) -> None:
        """Give a queued change the time-out of a store that may not answer."""
        submission.deadline_s = submission.completion.get_loop().time() + timeout_s
        if self._loop is not None and self._expiry is None:
            self._expire_later(self._loop, 0)

    def requeue(self, batch: Batch) -> None:
        """Queue a batch again before all others; it is certainly not durable."""
        self.queue.extendleft(reversed(batch.items))

    def fail_all(self, error: StorageError) -> None:
        """Fail all incomplete changes; the outcome of a batch in doubt stays unknown."""
        self._give_up_doubt(f": {error}")
        failed = [*self.in_flight, *self.queue]
        self.in_flight = []
        self.queue.clear()
        for submission in failed:
            submission.fail(error)

    def _give_up_doubt(self, cause: str = "") -> None:
        doubt, self.doubt = self.doubt, None
        for submission in () if doubt is None else doubt.items:
            text = f"the store became unavailable during the commit{cause}"
            submission.fail(OutcomeUnknown(text))

    def _expire_later(self, loop: asyncio.AbstractEventLoop, earliest_s: float) -> None:
        """Schedule ``_expire`` for the first deadline, but not before ``earliest_s``."""
        self._expiry = None
        doubt = () if self.doubt is None else self.doubt.items
        # The oldest first, and all have the same time-out.
        for submission in chain(doubt, self.in_flight, self.queue):
            if submission.deadline_s is not None and not submission.completion.done():
                time_s = max(submission.deadline_s, earliest_s)
                self._expiry = loop.call_at(time_s, self._expire, loop)
                return

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        """Withdraw changes past their deadline; give up on a batch that stayed in doubt."""
        now_s = loop.time()
        doubt = self.doubt
        if doubt is not None and doubt.items[0].is_expired(now_s):
            # If it was committed after all, this node later applies it like another node's change.
            self._give_up_doubt()
        for submission in self.queue:
            if submission.is_expired(now_s):
                away = StoreUnavailable(f"the store was unavailable for {self._store.timeout_s} s")
                submission.fail(away)
        self.queue = deque(
            submission for submission in self.queue if not submission.completion.done()
        )
        # Not before a pause: a change that is being written may be past its deadline, and would
        # schedule this at once, again and again.
        self._expire_later(loop, now_s + RETRY_S[0])
