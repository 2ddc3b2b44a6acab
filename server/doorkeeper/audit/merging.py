"""Equal decisions, and equal logins, are counted for a while and become one event.

A decision costs the loop one look-up in a dictionary. Equal is all that an event tells but times
and correlation ids; and the state of the ACLs must be the same object, because the rule is looked
up later, in that state. Entries of several states that turn out to have the same rule are one event
after all.

    first    -> an entry with the state
    again    -> count, last time, last correlation id
    the time is over, or there are too many entries -> all entries become one item of the queue

Which decisions: those that Kafka would log at DEBUG or INFO, which an action says itself. Answers
that are no access by themselves (KIP-430's masks, listings that leave out what one may not see)
would be logged at TRACE and are not recorded: a single Metadata request has thousands of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from doorkeeper.audit.making import decision_events, login_event
from doorkeeper.audit.options import Recorded
from doorkeeper.audit.queue import Item
from doorkeeper.authorizer.contract import AuthorizationResult

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.audit.options import TrailOptions
    from doorkeeper.audit.queue import Queue
    from doorkeeper.authorizer.contract import Action, AuthorizableRequestContext
    from doorkeeper.authorizer.guard import Told
    from doorkeeper.exchange import Login

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


class Seen:
    """A decision and how often it was taken."""

    __slots__ = (
        "action",
        "allowed",
        "context",
        "count",
        "first_ns",
        "key",
        "last_correlation_id",
        "last_ns",
        "policy",
        "snapshot",
    )

    def __init__(
        self,
        key: object,
        context: AuthorizableRequestContext,
        action: Action,
        policy: Policy | None,
        snapshot: Snapshot | None,
        now_ns: int,
        *,
        allowed: bool,
    ) -> None:
        """Begin with one; ``key`` is all that it shares with those that are equal."""
        self.key = key
        self.context = context
        self.action = action
        self.allowed = allowed
        self.policy = policy
        self.snapshot = snapshot
        self.count = 1
        self.first_ns = self.last_ns = now_ns
        self.last_correlation_id: int | bytes = context.correlation_id
        """The number, or the frame in which it is."""


class SeenLogin:
    """A login and how often it came."""

    __slots__ = ("count", "first_ns", "last_correlation_id", "last_ns", "login")

    def __init__(self, login: Login, now_ns: int) -> None:
        """Begin with one."""
        self.login = login
        self.count = 1
        self.first_ns = self.last_ns = now_ns
        self.last_correlation_id = None if login.header is None else login.header.correlation_id


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
        self._entries_max = entries_max
        self._allowed_too = options.decisions is Recorded.ALL
        self._seen: dict[object, Seen] = {}
        self._logins: dict[object, SeenLogin] = {}
        self._replaced: list[Seen] = []
        self._happened = 0
        self._timer: asyncio.TimerHandle | None = None

    def decided(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
    ) -> None:
        """Count the decisions on a request's actions."""
        now_ns = self._now_ns()
        basis, seen = self.basis, self._seen
        policy, snapshot = (None, None) if basis is None else (basis.policy, basis.snapshot)
        # All but the correlation id.
        asked = (context[:7], context[8])
        allowed_too = self._allowed_too
        for action, result in zip(actions, results):  # noqa: B905 - the guard has counted them
            allowed = result is _ALLOWED
            # Their third and fourth fields are log_if_allowed and log_if_denied.
            if not (action[3] and allowed_too if allowed else action[4]):
                continue
            known = seen.get((asked, action, allowed))
            if known is not None and known.snapshot is snapshot and known.policy is policy:
                known.count += 1
                known.last_ns = now_ns
                known.last_correlation_id = context[7]
                self._happened += 1
            else:
                key = (asked, action, allowed)
                self._begin_decision(
                    Seen(key, context, action, policy, snapshot, now_ns, allowed=allowed)
                )
                seen = self._seen

    def told_again(self, told: Sequence[Told], frame: bytes) -> None:
        """Count decisions once more, for another request that was answered as the one before.

        While their entries are counted, that costs no look-up; the correlation id stays in its
        frame until an event is made.
        """
        now_ns, window = self._now_ns(), self._seen
        for each in told:
            if each.window is window:
                for seen in each.entries:
                    seen.count += 1
                    seen.last_ns = now_ns
                    seen.last_correlation_id = frame
                self._happened += len(each.entries)
            else:
                self._told_anew(each, int.from_bytes(frame[4:8], signed=True))

    def _told_anew(self, told: Told, correlation_id: int) -> None:
        context = told.context._replace(correlation_id=correlation_id)
        self.decided(context, told.actions, told.results)
        asked = (context[:7], context[8])
        wanted = [
            (asked, action, result is _ALLOWED)
            for action, result in zip(told.actions, told.results, strict=True)
            if (action[3] and self._allowed_too if result is _ALLOWED else action[4])
        ]
        entries = [seen for key in wanted if (seen := self._seen.get(key)) is not None]
        told.entries = entries
        # Where some had no room, the next time asks for all of them again.
        told.window = self._seen if len(entries) == len(wanted) else None

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
            self._happened += 1
        elif self._has_room(now_ns):
            self._logins[key] = SeenLogin(login, now_ns)
            self._happened += 1

    def hand_over(self) -> None:
        """Make everything that is counted an item of the queue, if that has room."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        count = len(self._seen) + len(self._replaced) + len(self._logins)
        if not count:
            return
        decisions, logins = [*self._replaced, *self._seen.values()], [*self._logins.values()]
        item = Item(
            self._now_ns(),
            lambda: [*decision_events(decisions), *map(login_event, logins)],
            events=count,
            happened=self._happened,
        )
        if self._queue.put(item):
            self._seen, self._logins, self._replaced, self._happened = {}, {}, [], 0
        else:
            # What is counted costs nothing; there may be room when the time is over again.
            self._start_timer()

    def _begin_decision(self, entry: Seen) -> None:
        if not self._has_room(entry.first_ns):
            return
        before = self._seen.get(entry.key)
        if before is not None:
            self._replaced.append(before)
        self._seen[entry.key] = entry
        self._happened += 1

    def _has_room(self, now_ns: int) -> bool:
        """Say whether another entry may begin; one that may not is counted as dropped."""
        if len(self._seen) + len(self._replaced) + len(self._logins) >= self._entries_max:
            self.hand_over()
            if self._seen or self._logins:
                self._queue.lose(1, now_ns)
                self._meter.dropped()
                return False
        if self._timer is None:
            self._start_timer()
        return True

    def _start_timer(self) -> None:
        self._timer = self._loop.call_later(self._window_s, self.hand_over)
