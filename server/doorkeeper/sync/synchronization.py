"""The task of one cluster: it takes the actions of ``states``, and reports what they find.

A change here is sent at once, from the last reading; then all brokers are asked until they enforce
it. Of an unknown outcome nothing is concluded: the next reading decides. A reading counts only if
it is complete. The desired ACLs are those of one ``State``: with an order, of one that the clusters
before this one have in force.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import LiveCluster, binding_text, unenforced
from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent, EventKind
from doorkeeper.sync.drift import (
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DriftRecord,
    common,
    ignored_text,
)
from doorkeeper.sync.enforcement import AclEdits, Enforcement
from doorkeeper.sync.following import LogFollower
from doorkeeper.sync.readings import Readings, drifts_of, look_ups
from doorkeeper.sync.receipts import ReceiptBook
from doorkeeper.sync.remote import ClusterError, RemoteCluster
from doorkeeper.sync.states import Event, Pace, Role, State, next_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.server.schema.change import Committed
    from doorkeeper.server.state.state import State as StoreState
    from doorkeeper.server.state.store import NamedLease
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings
    from doorkeeper.sync.enforcement import Hold
    from doorkeeper.sync.remote import SentBatch

P = ParamSpec("P")
T = TypeVar("T")

# A change of a thread takes as long as some hundreds of ACLs, much longer on a busy machine.
_SLICE: Final = 2_000
"""The work of so many ACLs, some milliseconds, is left to the event loop's thread."""

_NOT_ASKED: Final = LiveCluster()


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
        self._refusal = config.refusal_of(store_id) if config.is_enforced else ""
        self.role = Role.OBSERVER
        if config.is_enforced:
            self.role = Role.STRANGER if self._refusal else Role.OWNER
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
        self._lease = lease
        self._hooks = hooks
        self._clock = asyncio.get_running_loop().time
        self._news = asyncio.Event()
        self._remote = RemoteCluster(config)
        self._desired = DesiredBindings(config.scope)
        self.readings = Readings(self._remote, self._desired, config.scope)
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
            State.OBSERVING: self._observe,
            State.JUDGING: self._judge,
            State.SENDING: self._send,
            State.CONFIRMING: self._confirm,
            State.FAILED: self._rest,
        }

    def note(self, committed: Committed) -> None:
        """Take a change of ACLs."""
        self._desired.note(committed)
        self.wake()

    def wake(self) -> None:
        """Look at the target again: it may have changed."""
        self._news.set()

    @property
    def held(self) -> str:
        """Return why changes are held back; empty if none are."""
        return "; ".join(hold.reason for hold in self.holds)

    def _hurry(self) -> None:
        """A receipt is needed, or the log has changes: look at once, and again soon."""
        self.pace.hurry(self._clock())
        self.wake()

    async def run(self) -> None:
        if self.role is Role.STRANGER:
            # Also where the cluster cannot be read.
            self._hold(self._plan(NO_DRIFT, _NOT_ASKED), NO_DRIFT)
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
            await self._remote.close()
            await self._lease.release()

    async def _fail(self, reason: str) -> None:
        # What the cluster has is not known any more: the next attempt begins with a reading.
        self._drift = None
        self.state = next_state(self.role, self.state, Event.FAILED)
        self.pace.fail()
        if not self.failure:
            self._tell(EventKind.FAILED, detail=reason)
        self.failure = reason
        await self._remote.close()

    # --- when

    async def _rest(self) -> Event:
        if self.state is State.RESTING:
            self.pace.succeed()
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
        self.pace.hurry(self._clock())
        self.receipts.note(change.added)
        self.receipts.note(change.removed)
        self.enforcement.note(change)
        self._remote.descriptions.note(change)
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
        drifts = drifts_of(await self.readings.read())
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
        if self.follower.is_new:
            present = await asyncio.to_thread(self._known.present, self._desired.bindings)
            await self.follower.compare(present, self.config.scope)
        changed = self._changes_of_log()
        if not look_ups(changed) and changed:
            if not self.receipts.pending:
                # A reading has most of them; the rest is compared at the next interval.
                self.pace.calm()
            return Event.TOO_MANY
        if changed:
            brokers = self.readings.brokers or await self.readings.list_brokers()
            part = common(drifts_of(await self.readings.lacks(brokers, changed)))
            desired = self._desired.bindings
            presence = {binding: part.has(binding, desired) for binding in changed}
            self._drift = self._known.after(presence, desired)
            self._changes_of_log()
        await self._conclude(self._known)
        return Event.COMPARED

    def _changes_of_log(self) -> Bindings:
        """Return the changes of the log that the known ACLs lack; drop all others."""
        changes, selects = self.follower.changes, self.config.scope.selects
        drift, desired = self._known, self._desired.bindings
        outside = {binding: changes[binding] for binding in changes if not selects(binding)}
        self._drift = drift.after_others(outside)
        for binding, is_there in list(changes.items()):
            # Most are changes of this server, which come back in the log.
            if binding in outside or drift.has(binding, desired) is is_there:
                del changes[binding]
        return frozenset(changes)

    async def _observe(self) -> Event:
        await self._conclude(self._known)
        return Event.COMPARED

    @property
    def _known(self) -> AclDrift:
        assert self._drift is not None, "the cluster was read"
        return self._drift

    async def _conclude(self, drift: AclDrift) -> None:
        """Record the drift; report differences that this server has not caused."""
        self._drift, parts = drift, drift.parts
        size = len(parts)
        await _call(size, self.enforcement.observe, drift, self._clock())
        # "Since" of the next receipt must not cover the time of this drift.
        self.receipts.note(parts)
        # Where changes are sent, the differences that they remove are no news.
        news = self.enforcement.foreign if self.role is Role.OWNER else parts
        new = await _call(size, self.differences.update, drift, news, self._hooks.now_ms())
        if new is None:
            self._tell(EventKind.AGREED)
        elif new:
            self._tell(EventKind.DRIFT, drift, detail=f"for example {binding_text(min(new))}")

    # --- changing

    async def _judge(self) -> Event:
        """Plan the changes that may be made; what the cluster refuses, the next plan knows."""
        drift, cluster = self._known, _NOT_ASKED
        if drift and self.role is Role.OWNER:
            cluster = await self._remote.facts(self._clock())
        # The rules look at all ACLs of the scope.
        size = len(self._desired.bindings) + len(drift.extra) if drift else 0
        edits = await _call(size, self._plan, drift, cluster)
        self._edits = edits
        if edits:
            return Event.SENDABLE
        self._hold(edits, drift)
        return Event.NOTHING

    def _plan(self, drift: AclDrift, cluster: LiveCluster) -> AclEdits:
        cluster = replace(cluster, other_owner=self._refusal)
        return self.enforcement.plan(drift, self._desired.bindings, cluster, self._clock())

    async def _send(self) -> Event:
        """Send the planned changes; what the cluster refuses, the next plan knows."""
        drift, edits = self._known, self._edits
        counts = {True: 0, False: 0}
        event = Event.SENT
        self.enforcement.send(edits.stages, self._clock())
        async with aclosing(self._remote.send(edits.stages)) as batches:
            async for batch in batches:
                counts[batch.adds] += len(batch.successes)
                self._note_batch(batch)
                # Another node may have got the lease while this one was frozen.
                # Batches that were sent already are part of the next reading of the other node.
                if not await self._lease.keep():
                    self.is_holder, event = False, Event.OTHER_HOLDER
                elif batch.failures:
                    event = Event.REFUSED
                if event is not Event.SENT:
                    break
        if any(counts.values()):
            detail = "; ".join(edits.warnings)
            self._tell(EventKind.CHANGED, counts=(counts[True], counts[False]), detail=detail)
        if event is Event.SENT:
            self._hold(edits, drift)
        return event

    def _note_batch(self, batch: SentBatch) -> None:
        """Take the changes of a batch that the cluster took, and those that it refused."""
        taken, now_s = batch.successes, self._clock()
        if taken:
            presence = dict.fromkeys(taken, batch.adds)
            self._drift = self._known.after(presence, self._desired.bindings)
            self.enforcement.record(taken)
        if batch.failures:
            refused = batch.failures
            if batch.is_refused_as_a_whole:
                stages = self._edits.stages
                refused = frozenset(binding for stage in stages for binding in stage.bindings)
            self.enforcement.refuse(refused, batch.refusal, now_s)

    def _hold(self, edits: AclEdits, drift: AclDrift) -> None:
        """Record the changes that are held back; report them where the reasons are others."""
        before, self.holds = self.held, edits.holds
        if self.held and self.held != before:
            self._tell(EventKind.HELD, drift, detail=self.held)

    # --- receipts

    async def _confirm(self) -> Event:
        """Ask all brokers whether they enforce the target, unless that is known."""
        book, readings, read_s = self.receipts, self.readings, self._clock()
        last = book.last
        if last and book.is_valid(readings.brokers) and not self.differences.drift:
            self._receive(last.brokers, last.read_s)
            return Event.ANSWERED
        brokers = await readings.list_brokers()
        changed = book.changed
        if ignored := await self._ignored():
            book.pending = dict.fromkeys(brokers, ignored)
        elif late := await readings.late(brokers, changed):
            book.pending = late
        else:
            # A broker that was not part of the last receipt may lack anything.
            known = set(last.brokers if last and look_ups(changed) else ()) & set(brokers)
            answers = {
                **await readings.lacks(known, changed),
                **await readings.compare(set(brokers) - known),
            }
            await self._take(answers, is_complete=not known)
            if not book.pending:
                self._receive(brokers, read_s)
        return Event.ANSWERED

    async def _take(
        self, answers: Mapping[int, AclDrift | ClusterError], *, is_complete: bool
    ) -> None:
        """Take the answers of all brokers; of all their ACLs where they are complete."""
        drifts = [drift for drift in answers.values() if isinstance(drift, AclDrift)]
        for drift in drifts:
            self.receipts.note(drift.parts)
        pending = {broker: str(answer) for broker, answer in sorted(answers.items()) if answer}
        self.receipts.pending = pending
        if self.is_holder and is_complete and len(drifts) == len(answers):
            if pending:
                # Not what is there: the brokers may not have applied this server's changes yet.
                self.enforcement.observe(common(drifts), self._clock())
            else:
                self.pace.read_s = self._clock()
                outside = max((drift.outside for drift in drifts), key=len)
                await self._conclude(replace(NO_DRIFT, outside=outside))
        elif not pending and self._drift is not None and self.differences.drift:
            # The differences that were known are part of what all brokers were asked for.
            await self._conclude(replace(NO_DRIFT, outside=self._drift.outside))

    async def _ignored(self) -> str:
        """Return why the cluster does not honour some desired ACLs that it may have."""
        networks = self._desired.networks
        if not networks:
            return ""
        ignored = unenforced(networks, await self._remote.facts(self._clock()))
        return ignored_text(ignored) if ignored else ""

    def _receive(self, brokers: tuple[int, ...], read_s: float) -> None:
        state = self._desired.state
        assert state is not None, "the target was taken"
        revision, now_ms = self._desired.acl_revision, self._hooks.now_ms()
        is_news = self.receipts.confirm(state, brokers, revision, read_s=read_s, now_ms=now_ms)
        self._hooks.on_receipt()
        if is_news:
            self._tell(EventKind.IN_FORCE, brokers=brokers)

    def _tell(
        self,
        kind: EventKind,
        drift: AclDrift = NO_DRIFT,
        *,
        counts: tuple[int, int] | None = None,
        brokers: tuple[int, ...] = (),
        detail: str = "",
    ) -> None:
        last = self.receipts.last
        revision = None if last is None else last.revision
        missing, extra = counts or (len(drift.missing), len(drift.extra))
        self._hooks.on_event(
            ClusterEvent(self.config.name, kind, revision, missing, extra, brokers, detail)
        )


async def _call(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of so many ACLs: where it takes long, in a thread."""
    if size < _SLICE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)
