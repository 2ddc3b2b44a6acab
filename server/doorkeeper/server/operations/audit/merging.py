"""Merging of equal decisions, and of equal logins, into one event for each window of time.

Decisions are equal if their events would differ only in times and correlation ids, and the state of
the ACLs is the same object, because the rule is computed later from that state. Entries of several
states that turn out to have the same rule become one event.

A client that repeats its last request costs the event loop one increment for the whole request,
however many decisions it has: the writer's thread adds it to the entries.

 first            -> an entry with the state
 equal            -> count, last time, last correlation id
 the same request -> the same for all its entries together
 end of the window, or too many entries -> all entries become one item of the queue

Recorded are the decisions that Kafka logs at DEBUG or INFO, as the flags of the action tell.
Decisions that Kafka logs at TRACE (KIP-430's masks, denials that only shorten a listing) are not
recorded: a single Metadata request has thousands of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.snapshot import EMPTY as NO_ACLS
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.config.audit_keys import (
    AUDIT_DECISIONS,
    AUDIT_MERGE_MS,
    AUDIT_QUEUE_EVENTS,
    Recorded,
)
from doorkeeper.server.operations.audit.event_builder import (
    RecordedRequest,
    Seen,
    SeenLogin,
    window_events,
)
from doorkeeper.server.operations.audit.queue import Queue, QueuedEvents

if TYPE_CHECKING:
    from doorkeeper.server.authorizer.standard import StandardAuthorizer
    from doorkeeper.server.config.settings import Settings
    from doorkeeper.server.net.protocol.exchange import Login
    from doorkeeper.server.runtime.metrics.meters import AuditMeter
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

# About 5 MB. A request with more topics has one event for each of them anyway.
ENTRIES_MAX: Final = 10_000

EVENT_CHARACTERS: Final = 512
"""An event takes the room of another one for each so many characters that a peer has chosen."""

_COUNT: Final = attrgetter("count")

# A module constant: looking a member up on its class costs more than the rest of a test (3.11).
_ALLOWED: Final = AuthorizationResult.ALLOWED

# What explains a denial whose ACLs were too old, as in the authorizer log. One object, since equal
# decisions are found by identity.
_DENIES_BY_DEFAULT: Final = Policy()


class ClientDecisions:
    """The counts of one client: of each decision, and of its last request as a whole."""

    __slots__ = ("policy", "recorded", "seen", "snapshot")

    def __init__(self) -> None:
        self.seen: dict[tuple[Action, bool], Seen] = {}
        self.recorded: RecordedRequest | None = None
        """The last request; its decisions used the two values below."""
        self.policy: Policy | None = None
        self.snapshot: Snapshot | None = None


class Merging:
    """The counts of the current window. For the event loop's thread."""

    def __init__(
        self,
        queue: Queue,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        *,
        now_ns: Callable[[], int],
        meter: AuditMeter,
        basis: StandardAuthorizer | None = None,
        entries_max: int = ENTRIES_MAX,
    ) -> None:
        """``basis`` is None if a plug-in decides."""
        self._queue = queue
        self._window_s = settings[AUDIT_MERGE_MS] / 1000
        self._loop = loop
        self._now_ns = now_ns
        self._meter = meter
        self.basis = basis
        # A window that the queue can never hold would never be handed over.
        self._entries_max = min(entries_max, settings[AUDIT_QUEUE_EVENTS])
        self._allowed_too = settings[AUDIT_DECISIONS] is Recorded.ALL
        self._seen: dict[object, ClientDecisions] = {}
        """The counts by client: by all fields of a context except the correlation id."""
        self._entries: list[Seen] = []
        """All entries of the window in order, including those of earlier states."""
        self._room_taken = 0
        """In events; those with long texts take the room of several."""
        self._again: list[RecordedRequest] = []
        """Repeated requests."""
        self._logins: dict[object, SeenLogin] = {}
        self._timer: asyncio.TimerHandle | None = None

    def on_decision(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        basis: StandardAuthorizer | None = None,
    ) -> None:
        """Count the decisions on a request's actions; ``basis`` is what decided, if not the own."""
        now_ns = self._now_ns()
        policy, snapshot = by = self._basis_of(context, basis or self.basis)
        # The client: all fields of the context but its eighth, the correlation id.
        asked = context[:7] + context[8:]
        client = self._seen.get(asked)
        if client is not None:
            recorded = client.recorded
            if (
                recorded is not None
                and results == recorded.results
                and actions == recorded.actions
                and client.snapshot is snapshot
                and client.policy is policy
            ):
                if not recorded.count:
                    self._again.append(recorded)
                recorded.count += 1
                recorded.last_ns = now_ns
                recorded.last_correlation_id = context[7]
                return
        self._count_each(asked, context, actions, results, now_ns, by)

    def _basis_of(
        self, context: AuthorizableRequestContext, basis: StandardAuthorizer | None
    ) -> tuple[Policy | None, Snapshot | None]:
        """Return the policy and the ACLs of the decisions on a request; None with a plug-in."""
        if basis is None:
            return None, None
        policy, user = basis.policy, context.principal
        # No ACL decides on super users: an administrator who changes ACLs, each time from another
        # state, asks the same again.
        if f"{user.principal_type}:{user.name}" in policy.super_users:
            return policy, NO_ACLS
        if basis.stale:
            return _DENIES_BY_DEFAULT, NO_ACLS
        return policy, basis.snapshot

    def _count_each(
        self,
        asked: tuple[object, ...],
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        now_ns: int,
        by: tuple[Policy | None, Snapshot | None],
    ) -> None:
        """Count decisions one by one; ``by`` has the policy and the ACLs that decided."""
        window = self._seen
        policy, snapshot = by
        asked_texts = context.principal.name, context.client_id, context.client_software
        client = self._seen.get(asked) or ClientDecisions()
        entries: list[Seen] = []
        to_record = 0
        for action, result in zip(actions, results):  # noqa: B905 - the guard has counted them
            allowed = result is _ALLOWED
            # By index, because it is faster: the flags log_if_allowed and log_if_denied.
            if not (action[3] and self._allowed_too if allowed else action[4]):
                continue
            to_record += 1
            entry = client.seen.get((action, allowed))
            if entry is not None and entry.snapshot is snapshot and entry.policy is policy:
                entry.count += 1
                entry.last_ns = now_ns
                entry.last_correlation_id = context[7]
            elif self._has_room(now_ns, *asked_texts, action.resource.name):
                key = (asked, action, allowed)
                entry = Seen(
                    key=key,
                    context=context,
                    action=action,
                    allowed=allowed,
                    policy=policy,
                    snapshot=snapshot,
                    first_ns=now_ns,
                    last_ns=now_ns,
                    last_correlation_id=context[7],
                )
                self._entries.append(entry)
                # _has_room may have handed over the window: then the client's counts start again.
                client = self._seen.setdefault(
                    asked, client if self._seen is window else ClientDecisions()
                )
                client.seen[action, allowed] = entry
            else:
                continue
            entries.append(entry)
        # If some had no room or were handed over, the next request counts one by one again.
        if entries and len(entries) == to_record and self._seen is window:
            client.recorded = RecordedRequest(actions, results, entries)
            client.policy, client.snapshot = policy, snapshot

    def record_login(self, login: Login) -> None:
        """Count a successful or failed login."""
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
        correlation_id = None if header is None else header.correlation_id
        known = self._logins.get(key)
        if known is not None:
            known.count += 1
            known.last_ns = now_ns
            known.last_correlation_id = correlation_id
        elif self._has_room(
            now_ns,
            "" if login.principal is None else login.principal.name,
            "" if header is None else header.client_id or "",
            login.client_software,
            login.reason or "",
        ):
            self._logins[key] = SeenLogin(
                login=login, first_ns=now_ns, last_ns=now_ns, last_correlation_id=correlation_id
            )

    def hand_over(self) -> None:
        """Queue all counts as one item, if the queue has room."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        decisions, logins = self._entries, [*self._logins.values()]
        count = len(decisions) + len(logins)
        if not count:
            return
        events = partial(window_events, decisions, self._again, logins)
        happened = self._occurrences()
        # All or nothing: a part of a window would need its own counts.
        item = QueuedEvents(self._now_ns(), events, count, happened)
        if not self._queue.put(item, max(self._room_taken, count)):
            # Counting on costs no space; there may be room at the end of the next window.
            self._start_timer()
            return
        self._seen, self._entries, self._again, self._logins = {}, [], [], {}
        self._room_taken = 0

    def close(self) -> None:
        """Hand over the last window; without room its events are counted as dropped."""
        self.hand_over()
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        dropped = self._occurrences()
        self._queue.lose(dropped, self._now_ns())
        self._meter.dropped.add(dropped)

    def _occurrences(self) -> int:
        """Return the number of decisions and logins in the window."""
        happened: int = sum(map(_COUNT, (*self._entries, *self._logins.values())))
        for request in self._again:
            happened += request.count * len(request.entries)
        return happened

    def _has_room(self, now_ns: int, *texts: str) -> bool:
        """Take room for an entry with these texts of a peer; without room, count it as dropped."""
        room = min(1 + sum(map(len, texts)) // EVENT_CHARACTERS, self._entries_max)
        if self._room_taken + room > self._entries_max:
            self.hand_over()
            if self._entries or self._logins:
                self._queue.lose(1, now_ns)
                self._meter.dropped.add()
                return False
        self._room_taken += room
        if self._timer is None:
            self._start_timer()
        return True

    def _start_timer(self) -> None:
        self._timer = self._loop.call_later(self._window_s, self.hand_over)
