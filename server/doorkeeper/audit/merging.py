"""Equal decisions, and equal logins, are counted for a while and become one event.

Equal is all that an event tells but times and correlation ids; and the state of the ACLs must be
the same object, because the rule is looked up later, in that state. Entries of several states that
turn out to have the same rule are one event after all.

A client that asks for the same as the last time, or is answered from the cache, costs the loop one
count for the whole request, however many decisions that has: the thread adds it to the entries.

    first            -> an entry with the state
    again            -> count, last time, last correlation id
    the same request -> the same of all its entries together
    the time is over, or there are too many entries -> all entries become one item of the queue

Which decisions: those that Kafka would log at DEBUG or INFO, which an action says itself. Answers
that are no access by themselves (KIP-430's masks, listings that leave out what one may not see)
would be logged at TRACE and are not recorded: a single Metadata request has thousands of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from doorkeeper.audit.event_builder import decision_events, login_event
from doorkeeper.audit.occurrences import Seen, SeenLogin
from doorkeeper.audit.options import Recorded
from doorkeeper.audit.queue import Item
from doorkeeper.authorizer.contract import AuthorizationResult
from doorkeeper.authorizer.guard import RecordedDecision

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.audit.events import Event
    from doorkeeper.audit.options import TrailOptions
    from doorkeeper.audit.queue import Queue
    from doorkeeper.authorizer.contract import Action
    from doorkeeper.connection.exchange import Login
    from doorkeeper.request_context import AuthorizableRequestContext

ENTRIES_MAX: Final = 10_000
"""Entries that are counted at a time: some 5 MB. A request that names more topics than that has
one event for each of them anyway."""

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_ALLOWED: Final = AuthorizationResult.ALLOWED


class Basis(Protocol):
    """An authorizer whose decisions can be explained: all of them come from two values."""

    @property
    def policy(self) -> Policy:
        """Return what decides beside the ACLs."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """Return the ACLs that decide at this moment."""
        ...


class Meter(Protocol):
    """What is counted."""

    def dropped(self, events: int = 1) -> None:
        """Count events for which there was no room."""
        ...


class ClientDecisions:
    """What is counted for one who asks: each decision, and the last request as a whole."""

    __slots__ = ("policy", "recorded", "seen", "snapshot")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.seen: dict[tuple[Action, bool], Seen] = {}
        self.recorded: RecordedDecision | None = None
        """The last request; it was decided in the two below."""
        self.policy: Policy | None = None
        self.snapshot: Snapshot | None = None


class Again(NamedTuple):
    """Some entries were decided so many times more."""

    entries: Sequence[Seen]
    times: int
    last_ns: int
    last_correlation_id: int | bytes

    def add(self) -> None:
        """Count it in the entries."""
        for seen in self.entries:
            seen.count += self.times
            if self.last_ns >= seen.last_ns:
                seen.last_ns = self.last_ns
                seen.last_correlation_id = self.last_correlation_id


class Merging:
    """What is counted on the loop's thread before it becomes events."""

    def __init__(
        self,
        queue: Queue,
        options: TrailOptions,
        loop: asyncio.AbstractEventLoop,
        *,
        now_ns: Callable[[], int],
        meter: Meter,
        basis: Basis | None = None,
        entries_max: int = ENTRIES_MAX,
    ) -> None:
        """Begin with nothing; ``basis`` is None where a plug-in decides."""
        self._queue = queue
        self._window_s = options.merge_s
        self._loop = loop
        self._now_ns = now_ns
        self._meter = meter
        self.basis = basis
        # More than the queue ever has room for would wait for ever.
        self._entries_max = min(entries_max, options.queue_events_max)
        self._allowed_too = options.decisions is Recorded.ALL
        self._seen: dict[object, ClientDecisions] = {}
        """What is counted, by who asks: all of a context but the correlation id."""
        self._window = object()
        """The time for which it is counted: it stands for ``_seen``, and refers to nothing, so that
        recorded decisions refer to it and there is no circle."""
        self._entries: list[Seen] = []
        """All of that, and what was counted before the state changed, in order."""
        self._again: list[RecordedDecision] = []
        """Requests that came again."""
        self._logins: dict[object, SeenLogin] = {}
        self._timer: asyncio.TimerHandle | None = None

    def on_decision(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
    ) -> RecordedDecision | None:
        """Count the decisions on a request's actions.

        Return them as they are recorded again; None where nothing of them is recorded.
        """
        now_ns = self._now_ns()
        basis = self.basis
        asked = context[:7] + context[8:]
        client = self._seen.get(asked)
        if client is not None:
            recorded = client.recorded
            if (
                recorded is not None
                and results == recorded.results
                and actions == recorded.actions
                and (
                    basis is None
                    or (client.snapshot is basis.snapshot and client.policy is basis.policy)
                )
            ):
                if not recorded.count:
                    self._again.append(recorded)
                recorded.count += 1
                recorded.last_ns = now_ns
                recorded.last_correlation_id = context[7]
                return recorded
        return self._counted(asked, context, actions, results, now_ns)

    def on_repeat(self, recorded: RecordedDecision, correlation_id: bytes) -> None:
        """Count decisions once more, for another request that was answered as the one before.

        The correlation id stays as it came, four bytes, until an event is made. While the count
        is above zero whoever is asked may add to it instead (see ``RecordedDecision``).
        """
        now_ns = self._now_ns()
        if recorded.window is self._window:
            if not recorded.count:
                self._again.append(recorded)
            recorded.count += 1
            recorded.last_ns = now_ns
            recorded.last_correlation_id = correlation_id
            return
        number = int.from_bytes(correlation_id, signed=True)
        context = recorded.context._replace(correlation_id=number)
        asked = context[:7] + context[8:]
        new = self._counted(asked, context, recorded.actions, recorded.results, now_ns)
        if new is not None:
            recorded.entries, recorded.window = new.entries, new.window

    def _counted(
        self,
        asked: tuple[object, ...],
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        now_ns: int,
    ) -> RecordedDecision | None:
        """Count decisions one by one."""
        window, basis = self._window, self.basis
        policy, snapshot = (None, None) if basis is None else (basis.policy, basis.snapshot)
        client = self._seen.get(asked) or ClientDecisions()
        entries: list[Seen] = []
        wanted = 0
        for action, result in zip(actions, results):  # noqa: B905 - the guard has counted them
            allowed = result is _ALLOWED
            # Their third and fourth fields are log_if_allowed and log_if_denied.
            if not (action[3] and self._allowed_too if allowed else action[4]):
                continue
            wanted += 1
            entry = client.seen.get((action, allowed))
            if entry is not None and entry.snapshot is snapshot and entry.policy is policy:
                entry.count += 1
                entry.last_ns = now_ns
                entry.last_correlation_id = context[7]
            elif self._has_room(now_ns):
                key = (asked, action, allowed)
                entry = Seen(key, context, action, policy, snapshot, now_ns, allowed=allowed)
                self._entries.append(entry)
                client = self._seen.setdefault(
                    asked, client if self._window is window else ClientDecisions()
                )
                client.seen[action, allowed] = entry
            else:
                continue
            entries.append(entry)
        if not wanted:
            return None
        recorded = RecordedDecision((context, actions, results))
        # Where some had no room, or are handed over already, the next time looks for all again.
        if len(entries) == wanted and self._window is window:
            recorded.entries, recorded.window = entries, window
            client.recorded, client.policy, client.snapshot = recorded, policy, snapshot
        return recorded

    def logged_in(self, login: Login) -> None:
        """Count a login, or its failure."""
        now_ns = self._now_ns()
        header = login.header
        key = (
            login.peer.host,
            login.peer.listener_name,
            login.principal,
            login.mechanism,
            login.reason,
            login.reauthentication,
            login.client_software,
            None if header is None else (header.api_key, header.api_version, header.client_id),
        )
        known = self._logins.get(key)
        if known is not None:
            known.count += 1
            known.last_ns = now_ns
            known.last_correlation_id = None if header is None else header.correlation_id
        elif self._has_room(now_ns):
            self._logins[key] = SeenLogin(login, now_ns)

    def hand_over(self) -> None:
        """Make everything that is counted an item of the queue, if that has room."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        decisions, logins = self._entries, [*self._logins.values()]
        count = len(decisions) + len(logins)
        if not count:
            return
        if not self._queue.has_room(count):
            # What is counted costs nothing; there may be room when the time is over again.
            self._start_timer()
            return
        happened = self._happened()
        again = [
            Again(each.entries, each.count, self._last_ns(each), each.last_correlation_id)
            for each in self._again
        ]
        for recorded in self._again:
            recorded.count, recorded.last_s = 0, 0.0
        self._seen, self._entries, self._again, self._logins = {}, [], [], {}
        self._window = object()

        def build() -> list[Event]:
            for each in again:
                each.add()
            # What cannot be written is made once more.
            again.clear()
            return [*decision_events(decisions), *map(login_event, logins)]

        self._queue.put(Item(self._now_ns(), build, events=count, happened=happened))

    def _last_ns(self, recorded: RecordedDecision) -> int:
        """Return when decisions were counted last, in the cache to the turn of the loop."""
        if not recorded.last_s:
            return recorded.last_ns
        since_ns = int((self._loop.time() - recorded.last_s) * 1e9)
        return max(recorded.last_ns, self._now_ns() - since_ns)

    def close(self) -> None:
        """Hand over for the last time; what has no room is counted as dropped."""
        self.hand_over()
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        dropped = self._happened()
        self._queue.lose(dropped, self._now_ns())
        self._meter.dropped(dropped)

    def _happened(self) -> int:
        """Return how often what is counted happened."""
        happened = sum(each.count for each in self._entries)
        happened += sum(each.count * len(each.entries) for each in self._again)
        return happened + sum(each.count for each in self._logins.values())

    def _has_room(self, now_ns: int) -> bool:
        """Say whether another entry may begin; one that may not is counted as dropped."""
        if len(self._entries) + len(self._logins) >= self._entries_max:
            self.hand_over()
            if self._entries or self._logins:
                self._queue.lose(1, now_ns)
                self._meter.dropped()
                return False
        if self._timer is None:
            self._start_timer()
        return True

    def _start_timer(self) -> None:
        self._timer = self._loop.call_later(self._window_s, self.hand_over)
