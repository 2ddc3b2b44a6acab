"""The task of one cluster: it takes the actions of ``states``, and reports what they find.

A change here is sent at once, from the last reading; then all brokers are asked until they enforce
it. Of an unknown outcome nothing is concluded: the next reading decides.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from msgspec.structs import replace

from doorkeeper.acls.live_changes import (
    Held,
    LiveChange,
    Rule,
    binding_text,
    stages,
    unenforced,
)
from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent, EventKind
from doorkeeper.sync.drift import (
    NO_BINDINGS,
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DriftRecord,
    call_sized,
    ignored_text,
)
from doorkeeper.sync.enforcement import Enforcement
from doorkeeper.sync.following import LogFollower, OwnTask
from doorkeeper.sync.receipts import ReceiptBook
from doorkeeper.sync.remote import FAILURES, FEW, RemoteCluster, common_drift, look_ups
from doorkeeper.sync.states import Role, State, check

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.acls.live_changes import Stage
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.state import State as StoreState
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings
    from doorkeeper.sync.remote import Answers


# A broker follows its controller within milliseconds; one that is gone is asked rarely.
_PENDING_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, *(0.2,) * 50)
"""Pauses while brokers do not have a change yet, in all ten seconds; then the interval."""

_WHOLE_S: Final = 60.0
"""After so long one broker is read as a whole also while the log is followed and has no changes."""

_UNREAD: Final = "not read yet"
_WAITS: Final = "not read yet: it waits for the clusters of a lower order, or for the store"

# Most failures are a connection that ended: the first attempts follow at once.
_RETRY_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
"""Pauses after failures, at most the interval; the last one repeats."""


class Fleet(Protocol):
    """What one cluster needs of all clusters of its server; see ``fleet``."""

    log: StateLog
    now_ms: Callable[[], int]
    tell: Callable[[ClusterEvent], None]

    def target_of(self, config: ClusterConfig) -> StoreState | None: ...

    def is_canary(self, config: ClusterConfig) -> bool: ...

    def wake_followers(self) -> None: ...


class ClusterSynchronization(OwnTask):
    """Synchronizes one cluster while it is started. For the event loop's thread."""

    def __init__(self, config: ClusterConfig, fleet: Fleet) -> None:
        super().__init__(f"cluster {config.name}")
        self.config = config
        self.state = State.CLAIMING
        self.is_holder = False
        """Whether this node synchronizes the cluster; with a shared store, one node does."""
        self.failure = ""
        """Why the last attempt failed; empty after a success."""
        self.holds: tuple[Held, ...] = ()
        """The changes that are not made, and why."""
        self.read_s = 0.0
        """When the cluster was read, or was known to be as it should be."""
        self.unread = _UNREAD
        """Why nothing is known of the cluster; empty once it was read."""
        self._whole_s = 0.0
        """When a broker was asked for all ACLs."""
        self.differences = DriftRecord()
        self.enforcement = Enforcement(config)
        self.receipts = ReceiptBook(self._hurry)
        self.follower = LogFollower(config, self._hurry)
        self._refusal = config.refusal_of(fleet.log.store_id)
        self.role = Role.STRANGER if self._refusal else Role.OWNER
        if not config.is_enforced:
            self.role = Role.OBSERVER
        self._fleet = fleet
        self._clock = asyncio.get_running_loop().time
        self._news = asyncio.Event()
        self._failures = 0
        self._attempts = 0
        self._desired = DesiredBindings(config.scope)
        # Also what only a lagging broker differs in: it is asked for these ACLs again, and "since"
        # of the next receipt must not cover the time of a drift.
        self.remote = RemoteCluster(config, self._desired.bindings, self.receipts.note)
        self._drift: AclDrift | None = None
        """The drift, as read and then changed from here; None if it is not known."""
        self._change = LiveChange()
        """What is sent, as the rules said last."""

    def wake(self) -> None:
        self._news.set()

    @property
    def held(self) -> str:
        return "; ".join(map(reason_of, self.holds))

    def _hurry(self) -> None:
        """A receipt is needed, or the log has changes: look at once, and again soon."""
        self._attempts = 0
        self.wake()

    async def _run(self) -> None:
        # Also where the cluster cannot be read.
        self._hold(self._owner_hold(NO_DRIFT), NO_DRIFT)
        try:
            while True:
                # Each state has its action in the method of its name.
                action: Callable[[], Awaitable[State]] = getattr(
                    self, f"_{self.state.name.lower()}"
                )
                try:
                    self._enter(await action())
                except FAILURES as error:
                    await self._fail(str(error))
                except Exception as error:  # the cluster would be left alone for ever
                    await self._fail(f"a fault of this server: {error!r}")
        finally:
            self._enter(State.CLOSED)
            await self.follower.stop()
            await self.remote.close()
            await self._fleet.log.store.release(self.name)

    def _enter(self, state: State) -> None:
        check(self.role, self.state, state)
        self.state = state

    async def _fail(self, reason: str) -> None:
        # What the cluster has is not known any more: the next attempt begins with a reading.
        self._drift = None
        self._enter(State.FAILED)
        if not self.failure:
            self._tell(EventKind.FAILED, detail=reason)
        self.failure = reason
        await self.remote.close()

    # --- when

    async def _resting(self) -> State:
        self._failures = 0
        # A node that does not hold the cluster does not read it at the intervals.
        since_s = self._clock() - self.read_s if self.is_holder else 0
        pause_s = max(self.config.interval_s - since_s, 0)
        is_pending = self.receipts.pending or self.follower.has_news
        if is_pending and self._attempts < len(_PENDING_S):
            pause_s = min(pause_s, _PENDING_S[self._attempts])
            self._attempts += 1
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._news.wait()
        return State.CLAIMING

    async def _failed(self) -> State:
        # News would end the pause at once.
        pause_s = _RETRY_S[min(self._failures, len(_RETRY_S) - 1)]
        await asyncio.sleep(min(pause_s, self.config.interval_s))
        self._failures += 1
        return State.CLAIMING

    async def _claiming(self) -> State:
        # Taken once: a change that is committed meanwhile sets the event for another round.
        self._news.clear()
        self.is_holder = await self._fleet.log.store.claim(self.name)
        goal = self._fleet.target_of(self.config)
        if self.unread:
            self.unread = _WAITS if goal is None else _UNREAD
        if goal is None:
            self.read_s = self._clock()
            return State.RESTING
        await self._follow(goal)
        if not self.is_holder:
            return State.STANDBY
        if self.config.controllers:
            self.follower.start()
        if self._drift is None or (self.follower.is_following and self.follower.is_new):
            return State.READING
        changed = await self._changes_of_log()
        now_s, is_different = self._clock(), self.differences.drift or self.holds or self.failure
        if now_s - self.read_s >= self.config.interval_s:
            is_old = now_s - self._whole_s >= _WHOLE_S
            if changed or is_different or is_old or not self.follower.is_following:
                return State.READING
            # All is as it should be, and a change would be in the log: if brokers are there.
            await self.remote.brokers()
            self.read_s = now_s
        return self._after_news(changed) if changed else State.JUDGING

    def _after_news(self, changed: Bindings) -> State:
        if look_ups(changed):
            return State.LOOKING_UP
        if not self.receipts.pending:
            # A reading has most of them; the rest is compared at the next interval.
            self._attempts = len(_PENDING_S)
        return State.READING

    async def _follow(self, goal: StoreState) -> None:
        change = await self._desired.follow(goal)
        if not change:
            return
        self._attempts = 0
        self.receipts.note(change.parts)
        self.enforcement.note(change.parts)
        self.remote.forget_drifts()
        if self._drift is not None:
            self._drift = self._drift.after_goal(change)

    async def _standby(self) -> State:
        # The holder changes the cluster meanwhile.
        self._drift = None
        self.enforcement.forget()
        await self.follower.stop()
        is_needed = self.receipts.waiters or self._fleet.is_canary(self.config)
        return State.CONFIRMING if is_needed else State.RESTING

    # --- reading

    async def _reading(self) -> State:
        self.follower.is_new &= not self.follower.is_following
        drift = common_drift(await self.remote.read())
        if self.failure:
            self.failure = ""
            self._tell(EventKind.REACHED)
        self.read_s = self._whole_s = self._clock()
        self.unread = ""
        self._drift = drift
        return await self._compared()

    async def _looking_up(self) -> State:
        """Look up the changes of the log on all brokers.

        The log is ahead of the brokers, and behind this server's own changes: what all brokers that
        answer show counts, until they have what the log says.
        """
        changed = frozenset(self.follower.changes)
        brokers = self.remote.listed or await self.remote.brokers()
        part = common_drift(await self.remote.compare_some(brokers, changed))
        self._drift = self._known.after(changed, part)
        return await self._compared()

    async def _compared(self) -> State:
        await self._changes_of_log()
        await self._conclude()
        return State.JUDGING

    async def _changes_of_log(self) -> Bindings:
        """Return the changes of the log that the known ACLs lack; drop all others."""
        if not self.follower.is_following:
            return NO_BINDINGS
        changes = self.follower.changes
        outside, known = await call_sized(len(changes), self._sorted, dict(changes))
        self._drift = replace(self._known, outside=outside)
        for binding, is_there in known.items():
            # Later changes of the log count.
            if changes[binding] is is_there:
                del changes[binding]
        return frozenset(changes)

    def _sorted(self, changes: dict[AclBinding, bool]) -> tuple[Bindings, dict[AclBinding, bool]]:
        """Return what is outside of the scope after these changes, and those that are known."""
        drift, desired = self._known, self._desired.bindings
        others = {binding for binding in changes if not self.config.scope.selects(binding)}
        added = {binding for binding in others if changes[binding]}
        # Most are changes of this server, which come back in the log.
        known = {
            binding: is_there
            for binding, is_there in changes.items()
            if binding in others or drift.has(binding, desired) is is_there
        }
        return (drift.outside - others) | added, known

    @property
    def _known(self) -> AclDrift:
        assert self._drift is not None, "the cluster was read"
        return self._drift

    async def _conclude(self) -> None:
        """Record the drift; report differences that this server has not caused."""
        drift, parts = self._known, self._known.parts
        size = len(parts)
        await call_sized(size, self.enforcement.observe, drift, self._clock())
        # Where changes are sent, the differences that they remove are no news.
        news = self.enforcement.foreign if self.role is Role.OWNER else parts
        new = await call_sized(size, self.differences.update, drift, news, self._fleet.now_ms())
        if new is None:
            self._tell(EventKind.AGREED)
        elif new:
            self._tell(EventKind.DRIFT, drift, detail=f"for example {binding_text(min(new))}")

    # --- changing

    async def _judging(self) -> State:
        """Plan the changes that may be made; what the cluster refuses, the next plan knows."""
        drift, change = self._known, LiveChange()
        if self.role is not Role.OWNER:
            await self._conclude()
            change = LiveChange(held=self._owner_hold(drift))
        elif drift or self.enforcement.conflict:
            now_s, desired = self._clock(), self._desired.bindings
            cluster = await self.remote.facts(now_s)
            # The rules look at all ACLs of the scope.
            size = len(desired) + len(drift.extra)
            plan = self.enforcement.plan
            change = await call_sized(size, plan, drift, desired, cluster, now_s)
        self._change = change
        if change:
            return State.SENDING
        self._hold(change.held, drift)
        return State.RESTING if self.role is Role.OBSERVER else State.CONFIRMING

    async def _sending(self) -> State:
        drift, change, after = self._known, self._change, State.CONFIRMING
        done: dict[bool, set[AclBinding]] = {True: set(), False: set()}
        try:
            for batch in self.remote.batches(change.stages):
                after = await self._send_batch(batch, done)
                if after is not State.CONFIRMING:
                    break
        finally:
            # Also of a part, where the cluster fails or the server stops.
            if sent := AclDrift(frozenset(done[True]), frozenset(done[False])):
                self._tell(EventKind.CHANGED, sent, detail="; ".join(change.warnings))
        if after is State.CONFIRMING:
            self._hold(change.held, drift)
        return after

    async def _send_batch(self, batch: Stage, done: dict[bool, set[AclBinding]]) -> State:
        """Send one batch; return the next state if it is the last one."""
        await self.remote.wait_for_rate(self._is_overtaken)
        if self._is_overtaken():
            return State.CLAIMING
        self.enforcement.send((batch,), self._clock())
        sent = await self.remote.send(batch, self._change.stages)
        done[batch.adds] |= sent.taken
        self._drift = self._known.after(sent.taken, NO_DRIFT)
        self.enforcement.record(sent.taken)
        if sent.refused:
            self.enforcement.refuse(sent.refused, sent.refusal, self._clock())
        # Another node may have got the lease while this one was frozen.
        # Batches that were sent already are part of the next reading of the other node.
        if not await self._fleet.log.store.claim(self.name):
            self.is_holder = False
            return State.STANDBY
        return State.JUDGING if sent.refused else State.CONFIRMING

    def _is_overtaken(self) -> bool:
        """Return whether other ACLs are desired by now: at a low rate a change takes hours.

        Without a target the store is lost, or may be old.
        """
        goal, state = self._fleet.target_of(self.config), self._desired.state
        return goal is None or state is None or goal.acls is not state.acls

    def _owner_hold(self, drift: AclDrift) -> tuple[Held, ...]:
        return (Held(Rule.OWNER, drift.parts, self._refusal),) if self._refusal else ()

    def _hold(self, holds: tuple[Held, ...], drift: AclDrift) -> None:
        """Record the changes that are held back; report them where the reasons are others."""
        before, self.holds = self.held, holds
        if self.held and self.held != before:
            self._tell(EventKind.HELD, drift, detail=self.held)

    # --- receipts

    async def _confirming(self) -> State:
        """Ask all brokers whether they enforce the target, unless that is known."""
        book, read_s, brokers = self.receipts, self._clock(), self.remote.listed
        is_needed = any(book.waiters) or self.differences.drift
        if book.is_valid(brokers) and not is_needed:
            read_s = book.read_s
        else:
            brokers = await self.remote.brokers()
            book.pending = await self._pending(brokers)
            if book.pending:
                return State.RESTING
            if self._drift is not None and self.differences.drift:
                # The differences that were known are part of what all brokers were asked for.
                self._drift = replace(NO_DRIFT, outside=self._drift.outside)
                await self._conclude()
        state = self._desired.state
        assert state is not None, "the target was taken"
        is_news = book.confirm(state, brokers, read_s=read_s, now_ms=self._fleet.now_ms())
        self._fleet.wake_followers()
        if is_news:
            self._tell(EventKind.IN_FORCE, brokers=brokers)
        return State.RESTING

    async def _pending(self, brokers: tuple[int, ...]) -> dict[int, str]:
        """Return the brokers that do not enforce the target, and the reason of each."""
        remote, book, changed = self.remote, self.receipts, self.receipts.changed
        desired = self._desired.bindings
        if self._desired.networks:
            facts = await remote.facts(self._clock())
            if ignored := unenforced(self._desired.networks, facts):
                return dict.fromkeys(brokers, ignored_text(ignored))
        if len(changed) > FEW:
            # Brokers apply changes in the order in which they were sent. Without the last one, it
            # is too early to ask for all.
            *_, (_, sent) = stages(changed & desired, changed - desired)
            answers = await remote.compare_some(brokers, frozenset(sent[-1:]))
            if late := _texts(answers, f"not all of {len(changed)} changes have been applied"):
                return late
        # A broker that was not part of the last receipt may lack anything.
        known = set(book.brokers if look_ups(changed) else ()) & set(brokers)
        answers = await remote.compare_some(known, changed)
        answers |= await remote.compare(set(brokers) - known)
        return _texts(answers)

    def _tell(
        self,
        kind: EventKind,
        drift: AclDrift = NO_DRIFT,
        *,
        brokers: tuple[int, ...] = (),
        detail: str = "",
    ) -> None:
        name, revision = self.config.name, self.receipts.revision
        missing, extra = len(drift.missing), len(drift.extra)
        self._fleet.tell(ClusterEvent(name, kind, revision, missing, extra, brokers, detail))


def _texts(answers: Answers, drift_text: str = "") -> dict[int, str]:
    """Return why brokers do not enforce what they were asked for."""
    return {
        broker: (isinstance(answer, AclDrift) and drift_text) or str(answer)
        for broker, answer in sorted(answers.items())
        if answer
    }


def reason_of(held: Held) -> str:
    """Return why changes are held back, and the word of the file of clusters that permits them."""
    return held.text("accept: [{}]")
