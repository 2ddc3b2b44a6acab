"""The task of one cluster: it takes the actions of ``states``, and reports what they find.

A change here is sent at once, from the last reading; then all brokers are asked until they enforce
it. Of an unknown outcome nothing is concluded: the next reading decides. A reading counts only if
it is complete. The desired ACLs are those of one ``State``: with an order, of one that the clusters
before this one have in force.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import Rule, binding_text, stages, unenforced
from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent, EventKind
from doorkeeper.sync.drift import (
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DriftRecord,
    call_sized,
    common,
    ignored_text,
)
from doorkeeper.sync.enforcement import AclEdits, Enforcement, Hold
from doorkeeper.sync.following import LogFollower
from doorkeeper.sync.receipts import ReceiptBook
from doorkeeper.sync.remote import FEW, ClusterError, RemoteCluster, drifts_of, look_ups
from doorkeeper.sync.states import Event, Pace, Role, State, next_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.state.state import State as StoreState
    from doorkeeper.server.state.store import NamedLease
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings
    from doorkeeper.sync.remote import Answers


class ClusterHooks(Struct, frozen=True):
    """What a synchronization has from its server.

    ``target`` returns the state that the cluster should have; None for none yet. ``is_canary`` says
    whether clusters of a higher order wait for its receipts.
    """

    target: Callable[[], StoreState | None]
    is_canary: Callable[[], bool]
    on_event: Callable[[ClusterEvent], None]
    on_receipt: Callable[[], None]
    now_ms: Callable[[], int]


class ClusterSynchronization:
    """Synchronizes one cluster until it is cancelled. For the event loop's thread."""

    def __init__(
        self, config: ClusterConfig, lease: NamedLease, store_id: str, hooks: ClusterHooks
    ) -> None:
        """``store_id`` is that of the store whose state the cluster should have."""
        self.config = config
        self.state = State.CLAIMING
        self.is_holder = False
        """Whether this node synchronizes the cluster; with a shared store, one node does."""
        self.failure = ""
        """Why the last attempt failed; empty after a success."""
        self.holds: tuple[Hold, ...] = ()
        """The changes that are not made, and why."""
        self.differences = DriftRecord()
        self.enforcement = Enforcement(config)
        self.receipts = ReceiptBook(self._hurry)
        self.follower = LogFollower(config, self._hurry)
        self.pace = Pace(config.interval_s)
        self._refusal = config.refusal_of(store_id)
        self.role = Role.STRANGER if self._refusal else Role.OWNER
        if not config.is_enforced:
            self.role = Role.OBSERVER
        self._lease = lease
        self._hooks = hooks
        self._clock = asyncio.get_running_loop().time
        self._news = asyncio.Event()
        self._desired = DesiredBindings(config.scope)
        self.remote = RemoteCluster(config, self._desired.bindings)
        self._drift: AclDrift | None = None
        """The drift, as read and then changed from here; None if it is not known."""
        self._edits = AclEdits()
        """What is sent, as the rules said last."""
        self._actions = {
            State.RESTING: self._rest,
            State.CLAIMING: self._claim,
            State.STANDBY: self._stand_by,
            State.READING: self._read,
            State.LOOKING_UP: self._look_up,
            State.JUDGING: self._judge,
            State.SENDING: self._send,
            State.CONFIRMING: self._confirm,
            State.FAILED: self._rest,
        }

    def wake(self) -> None:
        """Look at the target again: it may have changed."""
        self._news.set()

    @property
    def held(self) -> str:
        """Return why changes are held back; empty if none are."""
        return "; ".join(hold.reason for hold in self.holds)

    def _hurry(self) -> None:
        """A receipt is needed, or the log has changes: look at once, and again soon."""
        self.pace.hurry()
        self.wake()

    async def run(self) -> None:
        # Also where the cluster cannot be read.
        self._hold(self._owner_hold(NO_DRIFT), NO_DRIFT)
        try:
            while True:
                try:
                    event = await self._actions[self.state]()
                    self.state = next_state(self.role, self.state, event)
                except ClusterError as error:
                    await self._fail(str(error))
                except Exception as error:  # the cluster would be left alone for ever
                    # It is told as a failure of the cluster, and tried again.
                    await self._fail(f"a fault of this server: {error!r}")
        finally:
            self.state = next_state(self.role, self.state, Event.CLOSED)
            await self.follower.close()
            await self.remote.close()
            await self._lease.release()

    async def _fail(self, reason: str) -> None:
        # What the cluster has is not known any more: the next attempt begins with a reading.
        self._drift = None
        self.state = next_state(self.role, self.state, Event.FAILED)
        self.pace.failures += 1
        if not self.failure:
            self._tell(EventKind.FAILED, detail=reason)
        self.failure = reason
        await self.remote.close()

    # --- when

    async def _rest(self) -> Event:
        if self.state is State.RESTING:
            self.pace.failures = 0
        is_pending = bool(self.receipts.pending) or self.follower.has_news
        pause_s = self.pace.pause_s(self._clock(), is_pending=is_pending, is_holder=self.is_holder)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                # After a failure the pause is a short one, and news would end it at once.
                await (asyncio.sleep(pause_s) if self.state is State.FAILED else self._news.wait())
        self._news.clear()
        return Event.WOKEN

    async def _claim(self) -> Event:
        self.is_holder = await self._lease.keep()
        # Taken once: a change that is committed meanwhile sets the event for another round.
        goal = self._hooks.target()
        if goal is None:
            self.pace.read_s = self._clock()
            return Event.NO_TARGET
        await self._follow(goal)
        if not self.is_holder:
            return Event.OTHER_HOLDER
        self.follower.start()
        is_due, has_news = self.pace.is_due(self._clock()), self.follower.has_news
        is_quiet = self.follower.is_following and not has_news
        if is_due and is_quiet and not (self.differences.drift or self.holds or self.failure):
            # All is as it should be, and a change would be in the log.
            is_due = False
            self.pace.read_s = self._clock()
        if self._drift is None or is_due:
            return Event.UNREAD
        return Event.LOGGED if has_news else Event.CURRENT

    async def _follow(self, goal: StoreState) -> None:
        """Make the bindings of a state the desired ones."""
        change = await self._desired.follow(goal)
        if not change:
            return
        self.pace.hurry()
        self.receipts.note(change.added | change.removed)
        self.enforcement.note(change)
        self.remote.forget_drifts()
        if self._drift is not None:
            self._drift = self._drift.after_goal(change)

    async def _stand_by(self) -> Event:
        # The holder changes the cluster meanwhile.
        self._drift = None
        self.enforcement.forget()
        await self.follower.close()
        is_needed = self.receipts.waiters or self._hooks.is_canary()
        return Event.NEEDED if is_needed else Event.NOT_NEEDED

    # --- reading

    async def _read(self) -> Event:
        drifts = drifts_of(await self.remote.read())
        for drift in drifts:
            # Also the drift of a broker that only lags: it is asked for these ACLs again.
            self.receipts.note(drift.parts)
        if self.failure:
            self.failure = ""
            self._tell(EventKind.REACHED)
        self.pace.read_s = self._clock()
        self._drift = common(drifts)
        if self.follower.has_news and not self.follower.is_new:
            self._changes_of_log()
        await self._conclude(self._known)
        return Event.COMPARED

    async def _look_up(self) -> Event:
        """Look up the changes of the log on all brokers.

        The log is ahead of the brokers, and behind this server's own changes: what all brokers that
        answer show counts, until they have what the log says.
        """
        desired = self._desired.bindings
        if self.follower.is_new:
            await self.follower.compare(await asyncio.to_thread(self._known.present, desired))
        changed = self._changes_of_log()
        if changed and not look_ups(changed):
            if not self.receipts.pending:
                # A reading has most of them; the rest is compared at the next interval.
                self.pace.calm()
            return Event.TOO_MANY
        if changed:
            brokers = self.remote.listed or await self.remote.brokers()
            part = common(drifts_of(await self.remote.compare_some(brokers, changed)))
            presence = {binding: part.has(binding, desired) for binding in changed}
            self._drift = self._known.after(presence, desired)
            self._changes_of_log()
        await self._conclude(self._known)
        return Event.COMPARED

    def _changes_of_log(self) -> Bindings:
        """Return the changes of the log that the known ACLs lack; drop all others."""
        changes, selects = self.follower.changes, self.config.scope.selects
        drift, desired = self._known, self._desired.bindings
        others = {binding for binding in changes if not selects(binding)}
        added = {binding for binding in others if changes[binding]}
        self._drift = replace(drift, outside=(drift.outside - others) | added)
        for binding, is_there in list(changes.items()):
            # Most are changes of this server, which come back in the log.
            if binding in others or drift.has(binding, desired) is is_there:
                del changes[binding]
        return frozenset(changes)

    @property
    def _known(self) -> AclDrift:
        assert self._drift is not None, "the cluster was read"
        return self._drift

    async def _conclude(self, drift: AclDrift) -> None:
        """Record the drift; report differences that this server has not caused."""
        self._drift, parts = drift, drift.parts
        size = len(parts)
        await call_sized(size, self.enforcement.observe, drift, self._clock())
        # "Since" of the next receipt must not cover the time of this drift.
        self.receipts.note(parts)
        # Where changes are sent, the differences that they remove are no news.
        news = self.enforcement.foreign if self.role is Role.OWNER else parts
        new = await call_sized(size, self.differences.update, drift, news, self._hooks.now_ms())
        if new is None:
            self._tell(EventKind.AGREED)
        elif new:
            self._tell(EventKind.DRIFT, drift, detail=f"for example {binding_text(min(new))}")

    # --- changing

    async def _judge(self) -> Event:
        """Plan the changes that may be made; what the cluster refuses, the next plan knows."""
        drift, edits = self._known, AclEdits()
        if self.role is not Role.OWNER:
            await self._conclude(drift)
            edits = AclEdits(holds=self._owner_hold(drift))
        elif drift or self.enforcement.conflict:
            now_s, desired = self._clock(), self._desired.bindings
            cluster = await self.remote.facts(now_s)
            # The rules look at all ACLs of the scope.
            size = len(desired) + len(drift.extra)
            plan = self.enforcement.plan
            edits = await call_sized(size, plan, drift, desired, cluster, now_s)
        self._edits = edits
        if edits.stages:
            return Event.SENDABLE
        self._hold(edits.holds, drift)
        return Event.NOTHING

    async def _send(self) -> Event:
        """Send the planned changes; what the cluster refuses, the next plan knows."""
        drift, edits, event = self._known, self._edits, Event.SENT
        done: dict[bool, set[AclBinding]] = {True: set(), False: set()}
        self.enforcement.send(edits.stages, self._clock())
        async with aclosing(self.remote.send(edits.stages)) as batches:
            async for batch in batches:
                done[batch.adds] |= batch.taken
                presence = dict.fromkeys(batch.taken, batch.adds)
                self._drift = self._known.after(presence, self._desired.bindings)
                self.enforcement.record(batch.taken)
                if batch.errors:
                    whole = batch.is_refused_as_a_whole
                    refused = edits.bindings if whole else frozenset(batch.errors)
                    self.enforcement.refuse(refused, batch.refusal, self._clock())
                    event = Event.REFUSED
                # Another node may have got the lease while this one was frozen.
                # Batches that were sent already are part of the next reading of the other node.
                if not await self._lease.keep():
                    self.is_holder, event = False, Event.OTHER_HOLDER
                if event is not Event.SENT:
                    break
        if changes := AclDrift(frozenset(done[True]), frozenset(done[False])):
            self._tell(EventKind.CHANGED, changes, detail="; ".join(edits.warnings))
        if event is Event.SENT:
            self._hold(edits.holds, drift)
        return event

    def _owner_hold(self, drift: AclDrift) -> tuple[Hold, ...]:
        """Return why a cluster of another store is only observed."""
        hold = Hold(Rule.OWNER.value, len(drift.parts), self._refusal)
        return (hold,) if self._refusal else ()

    def _hold(self, holds: tuple[Hold, ...], drift: AclDrift) -> None:
        """Record the changes that are held back; report them where the reasons are others."""
        before, self.holds = self.held, holds
        if self.held and self.held != before:
            self._tell(EventKind.HELD, drift, detail=self.held)

    # --- receipts

    async def _confirm(self) -> Event:
        """Ask all brokers whether they enforce the target, unless that is known."""
        book, read_s = self.receipts, self._clock()
        last = book.last
        if last and book.is_valid(self.remote.listed) and not self.differences.drift:
            self._receive(last.brokers, last.read_s)
            return Event.ANSWERED
        brokers = await self.remote.brokers()
        book.pending = await self._pending(brokers)
        if not book.pending:
            if self._drift is not None and self.differences.drift:
                # The differences that were known are part of what all brokers were asked for.
                await self._conclude(replace(NO_DRIFT, outside=self._drift.outside))
            self._receive(brokers, read_s)
        return Event.ANSWERED

    async def _pending(self, brokers: tuple[int, ...]) -> dict[int, str]:
        """Return the brokers that do not enforce the target, and the reason of each."""
        remote, last, changed = self.remote, self.receipts.last, self.receipts.changed
        if self._desired.networks:
            facts = await remote.facts(self._clock())
            if ignored := unenforced(self._desired.networks, facts):
                return dict.fromkeys(brokers, ignored_text(ignored))
        if len(changed) > FEW:
            # Brokers apply changes in the order in which they were sent. Without the last one, it
            # is too early to ask for all.
            desired = self._desired.bindings
            *_, (_, sent) = stages(changed & desired, changed - desired)
            answers = await remote.compare_some(brokers, frozenset(sent[-1:]))
            if late := _texts(answers, f"not all of {len(changed)} changes have been applied"):
                return late
        # A broker that was not part of the last receipt may lack anything.
        known = set(last.brokers if last and look_ups(changed) else ()) & set(brokers)
        answers = await remote.compare_some(known, changed)
        answers |= await remote.compare(set(brokers) - known)
        for answer in answers.values():
            if isinstance(answer, AclDrift):
                self.receipts.note(answer.parts)
        return _texts(answers)

    def _receive(self, brokers: tuple[int, ...], read_s: float) -> None:
        state = self._desired.state
        assert state is not None, "the target was taken"
        now_ms = self._hooks.now_ms()
        is_news = self.receipts.confirm(state, brokers, read_s=read_s, now_ms=now_ms)
        self._hooks.on_receipt()
        if is_news:
            self._tell(EventKind.IN_FORCE, brokers=brokers)

    def _tell(
        self,
        kind: EventKind,
        drift: AclDrift = NO_DRIFT,
        *,
        brokers: tuple[int, ...] = (),
        detail: str = "",
    ) -> None:
        revision = None if self.receipts.last is None else self.receipts.last.revision
        missing, extra = len(drift.missing), len(drift.extra)
        self._hooks.on_event(
            ClusterEvent(self.config.name, kind, revision, missing, extra, brokers, detail)
        )


def _texts(answers: Answers, drift_text: str = "") -> dict[int, str]:
    """Return why brokers do not enforce what they were asked for; none that does is in it."""
    return {
        broker: (isinstance(answer, AclDrift) and drift_text) or str(answer)
        for broker, answer in sorted(answers.items())
        if answer
    }
