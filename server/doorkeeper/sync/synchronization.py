"""The task of one cluster: read it, change it, and ask every broker for the result.

    a change here       the changes are sent at once, from the last reading; then all brokers are
                        read until they enforce them
    every interval      one broker is read; only if it shows a drift, all are; without a drift none
                        is read while the metadata log is followed
    a change in the log the ACLs that it names are looked up on all brokers
    an unknown outcome  nothing is concluded; the next reading decides
    another store's     the cluster is read and never changed

A reading counts only if it is complete. The desired ACLs are those of one ``State``: with an order,
of one that the clusters before this one have in force.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from doorkeeper.acls.live_changes import LiveCluster, unenforced
from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent, EventKind
from doorkeeper.sync.drift import (
    NO_BINDINGS,
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DriftRecord,
    binding_text,
    common,
    ignored_text,
)
from doorkeeper.sync.enforcement import AclEdits, Enforcement, RecentRequests
from doorkeeper.sync.following import LogFollower
from doorkeeper.sync.readings import Readings, look_ups, reason_of
from doorkeeper.sync.receipts import Receipt, ReceiptBook
from doorkeeper.sync.remote import ClusterError, RemoteCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.schema.change import Committed
    from doorkeeper.server.state.state import State
    from doorkeeper.server.state.store import NamedLease
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings
    from doorkeeper.sync.enforcement import Hold
    from doorkeeper.sync.remote import SentBatch

P = ParamSpec("P")
T = TypeVar("T")

# A broker follows its controller within milliseconds; one that is gone is asked rarely.
_PENDING_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Pauses between readings while brokers do not enforce a change yet; the last one repeats."""

# A change of a thread takes as long as some hundreds of ACLs, much longer on a busy machine.
_SLICE: Final = 2_000
"""The work of so many ACLs, some milliseconds, is left to the event loop's thread."""

_LOOK_UPS_MAX: Final = 50
"""A change that brokers do not have after so many look-ups is looked up at the intervals only."""

_NOT_ASKED: Final = LiveCluster()

_FACTS_S: Final = 60.0
"""The age at which release, default and login of a cluster are asked for again before a change."""

# Most failures are a connection that ended: the first attempts follow at once.
_RETRY_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
"""Pauses after failures, at most the interval."""


class ClusterSynchronization:
    """Synchronizes one cluster until it is cancelled. For the event loop's thread."""

    def __init__(
        self,
        config: ClusterConfig,
        lease: NamedLease,
        *,
        store_id: str,
        target: Callable[[], State | None],
        on_event: Callable[[ClusterEvent], None],
        on_receipt: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        """``target`` returns the state that the cluster should have; None for none yet.

        ``store_id`` is that of the store whose state it is.
        """
        self.config = config
        self._other_owner = config.refusal_of(store_id) if config.is_enforced else ""
        self.differences = DriftRecord()
        self.enforcement = Enforcement(config)
        self.receipts = ReceiptBook(self._need_receipt)
        self.holds: tuple[Hold, ...] = ()
        """The changes that are not made, and why."""
        self.failure = ""
        """Why the last attempt failed; empty after a success."""
        self.is_holder = False
        """Whether this node synchronizes the cluster; with a shared store, one node does."""
        self.is_followed = False
        """Whether a cluster of a higher order waits for this one."""
        self._lease = lease
        self._target = target
        self._on_event = on_event
        self._on_receipt = on_receipt
        self._now_ms = now_ms
        self._clock = asyncio.get_running_loop().time
        self._remote = RemoteCluster(config)
        self._news = asyncio.Event()
        self.follower = LogFollower(config, self._note_log)
        self._desired = DesiredBindings(config.scope)
        self.readings = Readings(self._remote, self._desired, config.scope)
        self._drift: AclDrift | None = None
        """The drift, as read and then changed from here; None if it is not known."""
        self._facts: LiveCluster | None = None
        """What the cluster tells of itself; None if it must be asked."""
        self._facts_s = 0.0
        self._networks: set[AclBinding] = set()
        """The desired ACLs whose host looks like a network."""
        self._recent = RecentRequests()
        self._brokers: tuple[int, ...] = ()
        self._read_s = 0.0
        self._turn = 0
        self._hurry_until_s = 0.0
        """Until then missing receipts are looked for after short pauses."""
        self._attempts = 0
        self._log_attempts = 0
        self._told_revision = 0
        """The change of ACLs whose receipt was told last."""

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
        return "; ".join(each.reason for each in self.holds)

    def _note_log(self) -> None:
        """Look at the changes of the log."""
        self._log_attempts = 0
        self._news.set()

    def _need_receipt(self) -> None:
        self._hurry()
        self._news.set()

    def _hurry(self) -> None:
        self._hurry_until_s = self._clock() + self.config.interval_s
        self._attempts = 0

    async def run(self) -> None:
        failures = 0
        if self._other_owner:
            # Also where the cluster cannot be read.
            self._hold(self._plan(NO_DRIFT, _NOT_ASKED), NO_DRIFT)
        try:
            while True:
                self._news.clear()
                try:
                    await self._synchronize()
                    failures = 0
                except ClusterError as error:
                    await self._fail(str(error))
                    failures += 1
                except Exception as error:  # the cluster would be left alone for ever
                    # It is told as a failure of the cluster, and tried again.
                    await self._fail(f"a fault of this server: {error!r}")
                    failures += 1
                await self._pause(failures)
        finally:
            await self.follower.close()
            await self._remote.close()
            await self._lease.release()

    async def _pause(self, failures: int) -> None:
        if failures:
            retry_s = _RETRY_S[min(failures, len(_RETRY_S)) - 1]
            await asyncio.sleep(min(self.config.interval_s, retry_s))
            return
        now_s = self._clock()
        rest_s = self.config.interval_s
        if self.receipts.pending and now_s < self._hurry_until_s:
            rest_s = _PENDING_S[min(self._attempts, len(_PENDING_S)) - 1]
        elif self.is_holder:
            rest_s -= now_s - self._read_s
        if self._log_attempts:
            # Brokers apply a change a little after it is in the log.
            attempts_s = _PENDING_S[min(self._log_attempts, len(_PENDING_S)) - 1]
            rest_s = min(rest_s, attempts_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(rest_s, 0)):
                await self._news.wait()

    async def _fail(self, reason: str) -> None:
        # What the cluster has is not known any more: the next attempt begins with a reading.
        self._drift = self._facts = None
        if not self.failure:
            self._tell(EventKind.FAILED, detail=reason)
        self.failure = reason
        await self._remote.close()

    async def _synchronize(self) -> None:
        self.is_holder = await self._lease.keep()
        # Taken once: a change that is committed meanwhile sets the event for another round.
        target = self._target()
        if target is None:
            self._read_s = self._clock()
            return
        await self._follow(target)
        if not self.is_holder:
            # The holder changes the cluster meanwhile.
            self._drift = None
            self.enforcement.forget()
            await self.follower.close()
            if self.receipts.waiters or self.is_followed:
                await self._confirm(target)
            return
        self.follower.start()
        is_due = self._clock() - self._read_s >= self.config.interval_s
        if is_due and self._is_quiet():
            is_due, self._read_s = False, self._clock()
        if self._drift is None or is_due:
            await self._observe()
            if self.follower.is_following and (self.follower.changes or self.follower.is_new):
                self._log_attempts = len(_PENDING_S) - 1
        elif self.follower.is_following and (self.follower.changes or self.follower.is_new):
            await self._look_up(self._drift)
        elif not self.config.is_enforced:
            await self._conclude(self._drift)
        if self.config.is_enforced:
            # A change here needs no reading before it: what it removes is not desired anyway.
            await self._enforce()
            await self._confirm(target)

    async def _follow(self, target: State) -> None:
        """Make the bindings of a state the desired ones."""
        change = await self._desired.follow(target)
        if not change:
            return
        self._hurry()
        self.receipts.note(change.added)
        self.receipts.note(change.removed)
        self.enforcement.note(change)
        self._remote.descriptions.note(change)
        self._networks |= {each for each in change.added if "/" in each.entry.host}
        self._networks -= change.removed
        if self._drift is not None:
            self._drift = self._drift.after_goal(change)

    # --- reading

    async def _observe(self) -> None:
        """Read one broker, in turns; if it shows a drift, read all: one alone may lag behind."""
        self._brokers = brokers = await self._remote.brokers()
        self._turn = (self._turn + 1) % len(brokers)
        first, *others = (*brokers[self._turn :], *brokers[: self._turn])
        found = [await self.readings.compare(first)]
        if found[0]:
            # A difference, or no answer.
            found += await asyncio.gather(*map(self.readings.compare, others))
        drifts = self._drifts_of(found)
        if not drifts:
            raise ClusterError("; ".join(dict.fromkeys(map(str, found))))
        if self.failure:
            self.failure = ""
            self._tell(EventKind.REACHED)
        self._read_s = self._clock()
        await self._conclude(common(drifts))

    def _is_quiet(self) -> bool:
        """Return whether nothing is to be read: the log is followed, and all is as it should be."""
        follower = self.follower
        is_read = follower.is_following and not (follower.is_new or follower.changes)
        return is_read and not (self.differences.drift or self.holds or self.failure)

    async def _look_up(self, known: AclDrift) -> None:
        """Look up the changes of the log on all brokers.

        The log is ahead of the brokers, and behind this server's own changes: a change counts only
        where each broker that answers has it.
        """
        known, asked = await self._differences_of_log(known)
        self._drift, changes = known, self.follower.changes
        if not asked:
            # Most are changes of this server, which come back in the log.
            self._log_attempts = 0
            await self._conclude(known)
            return
        self._log_attempts += 1
        wanted = frozenset(asked)
        filters = look_ups(wanted)
        if not filters:
            # A reading may be of brokers that lag: the next round compares it with the log again.
            self.follower.is_new = True
            changes.clear()
            if self._log_attempts >= len(_PENDING_S):
                self._log_attempts = 0
            await self._observe()
            return
        brokers = self._brokers or await self._remote.brokers()
        found = await asyncio.gather(
            *(self.readings.holds(each, wanted, filters) for each in brokers)
        )
        answers = [each for each in found if not isinstance(each, ClusterError)]
        if not answers:
            raise ClusterError("; ".join(dict.fromkeys(map(str, found))))
        seen = {
            each: is_there
            for each, is_there in asked.items()
            # The log may have gone on meanwhile.
            if changes.get(each) is is_there and all((each in one) is is_there for one in answers)
        }
        for each in seen:
            changes.pop(each)
        if not changes or self._log_attempts >= _LOOK_UPS_MAX:
            self._log_attempts = 0
        if seen:
            added = frozenset(each for each, is_there in seen.items() if is_there)
            removed = frozenset(seen.keys() - added)
            await self._conclude(known.after_edit(self._desired.bindings, added, removed))

    async def _differences_of_log(self, known: AclDrift) -> tuple[AclDrift, dict[AclBinding, bool]]:
        """Return the changes of the log that the known ACLs lack; drop all others.

        Those outside of the scope are part of the drift that is returned.
        """
        follower, selects = self.follower, self.config.scope.selects
        desired = self._desired.bindings
        if follower.is_new:
            present = await asyncio.to_thread(known.present, desired)
            await follower.compare(present, self.config.scope)
        outside: dict[AclBinding, bool] = {}
        for each, is_there in list(follower.changes.items()):
            if not selects(each):
                outside[each] = follower.changes.pop(each)
            elif known.has(each, desired) is is_there:
                follower.changes.pop(each)
        return known.after_others(outside), dict(follower.changes)

    def _drifts_of(self, found: Sequence[AclDrift | ClusterError]) -> list[AclDrift]:
        """Return the drifts of the brokers that answered; all of them concern the next receipt."""
        drifts = [each for each in found if isinstance(each, AclDrift)]
        for each in drifts:
            # Also the drift of a broker that only lags: it is asked for these ACLs again.
            self.receipts.interrupt(each)
        return drifts

    async def _conclude(self, drift: AclDrift) -> None:
        """Record the drift; report differences that this server has not caused."""
        self._drift = drift
        size = len(drift.missing) + len(drift.extra)
        await _call(size, self.enforcement.observe, drift, self._clock())
        # "Since" of the next receipt must not cover the time of this drift.
        self.receipts.interrupt(drift)
        before = self.differences.drift
        known = self.differences.reported
        await _call(size, self.differences.update, drift, self._now_ms())
        everything = drift.missing | drift.extra
        # Where changes are sent, the differences that they remove are no news.
        is_changed = self.config.is_enforced and not self._other_owner
        new = (self.enforcement.foreign if is_changed else everything) - known
        self.differences.reported = (known | new) & everything
        if new:
            self._tell(EventKind.DRIFT, drift, detail=f"for example {binding_text(min(new))}")
        elif before and not drift and known:
            self._tell(EventKind.AGREED)

    # --- changing

    async def _enforce(self) -> None:
        """Make the changes that may be made; what the cluster refuses, the next plan knows."""
        while True:
            drift = self._drift
            assert drift is not None, "the cluster was read"
            is_asked = drift and not self._other_owner
            cluster = await self._live_cluster() if is_asked else _NOT_ASKED
            # The rules look at all ACLs of the scope.
            size = len(self._desired.bindings) + len(drift.extra)
            edits = await _call(size if drift else 0, self._plan, drift, cluster)
            if not (edits and await self._send(edits)):
                self._hold(edits, drift)
                return

    def _plan(self, drift: AclDrift, cluster: LiveCluster) -> AclEdits:
        desired = self._desired.bindings
        cluster = cluster._replace(other_owner=self._other_owner)
        return self.enforcement.plan(
            self._recent.distrusted(drift, desired, self._clock()), desired, cluster
        )

    async def _send(self, edits: AclEdits) -> bool:
        """Send changes; return whether the cluster refused some, so that the rest is to be judged.

        Without the lease that ends at once.
        """
        done = {True: 0, False: 0}
        is_refused = False
        self._recent.note(edits.stages, self._clock())
        async with aclosing(self._remote.send(edits.stages)) as batches:
            async for sent in batches:
                self._note_sent(sent)
                done[sent.adds] += len(sent.successes)
                if sent.failures:
                    others = [each for _, stage in edits.stages for each in stage]
                    whole = frozenset(others) if sent.is_refused_as_a_whole else sent.failures
                    self.enforcement.refuse(whole, sent.refusal, self._clock())
                    is_refused = True
                # Another node may have got the lease while this one was frozen.
                # Batches that were sent already are part of the next reading of the other node.
                if not await self._lease.keep():
                    self.is_holder = False
                if is_refused or not self.is_holder:
                    break
        if any(done.values()):
            detail = "; ".join(edits.warnings)
            self._tell_counts(EventKind.CHANGED, done[True], done[False], detail=detail)
        return is_refused and self.is_holder

    def _note_sent(self, sent: SentBatch) -> None:
        """Take the changes of a batch that the cluster took."""
        done, drift = sent.successes, self._drift
        assert drift is not None, "the changes are of this drift"
        if not done:
            return
        added, removed = (done, NO_BINDINGS) if sent.adds else (NO_BINDINGS, done)
        self._drift = drift.after_edit(self._desired.bindings, added, removed)
        self.enforcement.record(done, self._clock(), adds=sent.adds)

    def _hold(self, edits: AclEdits, drift: AclDrift) -> None:
        """Record the changes that are held back; report them where the reasons are others."""
        before, self.holds = self.held, edits.holds
        if self.held and self.held != before:
            self._tell(EventKind.HELD, drift, detail=self.held)

    async def _live_cluster(self) -> LiveCluster:
        """Return what the cluster tells of itself, not older than a minute."""
        now_s = self._clock()
        if self._facts is None or now_s - self._facts_s >= _FACTS_S:
            self._facts, self._facts_s = await self._remote.facts(), now_s
        return self._facts

    async def _ignored(self) -> str:
        """Return why the cluster does not honour some desired ACLs that it may have."""
        if not self._networks:
            return ""
        ignored = unenforced(self._networks, await self._live_cluster())
        return ignored_text(ignored) if ignored else ""

    # --- receipts

    async def _confirm(self, target: State) -> None:
        """Ask all brokers whether they enforce the target, unless that is known."""
        book, read_s = self.receipts, self._clock()
        last = book.last
        if (
            last is not None
            and not any(book.waiters)
            # A revision outside the scope, or of another kind of state, needs no new answers.
            and not book.has_changes
            and last.brokers == self._brokers
            and not self.differences.drift
        ):
            self._receive(target, last.brokers, last.read_s)
            return
        self._brokers = brokers = await self._remote.brokers()
        changed = self._changes_since(last)
        filters = look_ups(changed)
        self._attempts += 1
        ignored = await self._ignored()
        if ignored:
            book.pending = dict.fromkeys(brokers, ignored)
            return
        late = await self.readings.late(brokers, changed)
        if late:
            book.pending = late
            return
        # A broker that was not part of the last receipt may lack anything.
        known = frozenset(last.brokers if last is not None and filters else ())
        found = await asyncio.gather(
            *(
                self.readings.lacks(each, changed, filters)
                if each in known
                else self.readings.compare(each)
                for each in brokers
            )
        )
        drifts = self._drifts_of(found)
        pairs = zip(brokers, found, strict=True)
        book.pending = {
            broker: reason_of(each)
            for broker, each in pairs
            if not isinstance(each, AclDrift) or each
        }
        if self.is_holder and known.isdisjoint(brokers) and len(drifts) == len(brokers):
            if book.pending:
                # Not what is there: the brokers may not have applied this server's changes yet.
                self.enforcement.observe(common(drifts), self._clock())
            else:
                self._read_s = self._clock()
                outside = max((each.outside for each in drifts), key=len)
                await self._conclude(NO_DRIFT._replace(outside=outside))
        elif not book.pending and self._drift is not None and self.differences.drift:
            # The differences that were known are part of what all brokers were asked for.
            await self._conclude(NO_DRIFT._replace(outside=self._drift.outside))
        if not book.pending:
            self._receive(target, brokers, read_s)

    def _changes_since(self, last: Receipt | None) -> Bindings:
        """Return the ACLs that brokers must be asked for since a receipt; none to read all."""
        changed = self.receipts.changed
        if last is None or changed is None:
            return NO_BINDINGS
        return NO_BINDINGS.union(changed, *self.receipts.waiters)

    def _receive(self, target: State, brokers: tuple[int, ...], read_s: float) -> None:
        is_new = self.receipts.confirm(target, brokers, read_s=read_s, now_ms=self._now_ms())
        self._on_receipt()
        # For the history of a revision, also where none of its ACLs is in the scope.
        if is_new or self._told_revision != self._desired.acl_revision:
            self._told_revision = self._desired.acl_revision
            self._tell(EventKind.IN_FORCE, brokers=brokers)

    def _tell(
        self,
        kind: EventKind,
        drift: AclDrift = NO_DRIFT,
        *,
        brokers: tuple[int, ...] = (),
        detail: str = "",
    ) -> None:
        missing, extra = len(drift.missing), len(drift.extra)
        self._tell_counts(kind, missing, extra, brokers=brokers, detail=detail)

    def _tell_counts(
        self,
        kind: EventKind,
        missing: int,
        extra: int,
        *,
        brokers: tuple[int, ...] = (),
        detail: str = "",
    ) -> None:
        last = self.receipts.last
        self._on_event(
            ClusterEvent(
                cluster=self.config.name,
                kind=kind,
                revision=None if last is None else last.revision,
                missing=missing,
                extra=extra,
                brokers=brokers,
                detail=detail,
            )
        )


async def _call(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of so many ACLs: where it takes long, in a thread."""
    if size < _SLICE:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)
