"""The task of one cluster: read it, change it, and ask every broker for the result.

    a change here       the changes are sent at once, from the last reading; then all brokers are
                        read until they enforce them
    every interval      one broker is read; only if it shows a drift, all are; without a drift none
                        is read while the metadata log is followed
    a change in the log the ACLs that it names are looked up on all brokers
    an unknown outcome  nothing is concluded; the next reading decides

A reading counts only if it is complete. The desired ACLs are those of one ``State``: with an order,
of one that the clusters before this one have in force.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from doorkeeper.clusters.drift import (
    NO_DRIFT,
    AclDrift,
    DesiredBindings,
    DriftRecord,
    binding_text,
    common,
    compare,
)
from doorkeeper.clusters.enforcement import Enforcement
from doorkeeper.clusters.events import ClusterEvent, EventKind
from doorkeeper.clusters.following import LogFollower
from doorkeeper.clusters.look_ups import look_ups
from doorkeeper.clusters.receipts import Receipt, ReceiptBook
from doorkeeper.clusters.remote import ClusterError, RemoteCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.clusters.config import ClusterConfig
    from doorkeeper.clusters.drift import Bindings
    from doorkeeper.clusters.remote import SentBatch
    from doorkeeper.kinds.change import Committed
    from doorkeeper.state.state import State
    from doorkeeper.state.store import NamedLease

# A broker follows its controller within milliseconds; one that is gone is asked rarely.
_PENDING_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
"""Pauses between readings while brokers do not enforce a change yet; the last one repeats."""

_LOOK_UPS_MAX: Final = 50
"""A change that brokers do not have after so many look-ups is looked up at the intervals only."""

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
        target: Callable[[], State | None],
        on_event: Callable[[ClusterEvent], None],
        on_receipt: Callable[[], None],
        now_ms: Callable[[], int],
    ) -> None:
        """``target`` returns the state that the cluster should have; None for none yet."""
        self.config = config
        self.differences = DriftRecord()
        self.enforcement = Enforcement(config)
        self.receipts = ReceiptBook(self._need_receipt)
        self.held = ""
        """Why changes are held back; empty if none are."""
        self.refused = ""
        """The first ACL that the cluster refused; empty if it took all."""
        self.failure = ""
        """Why the last attempt failed; empty after a success."""
        self.is_holder = False
        """Whether this node synchronizes the cluster; with a shared store, one node does."""
        self.is_followed = False
        """Whether a cluster of a higher order waits for this one."""
        self.reads = 0
        """The number of descriptions that brokers were asked for."""
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
        self._present: Bindings | None = None
        """The ACLs of the scope that are there, as read and then changed; None if not known."""
        self._compared: tuple[Bindings, Bindings, AclDrift] | None = None
        self._enforced: AclDrift | None = None
        """The drift whose changes were sent last."""
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
        try:
            while True:
                self._news.clear()
                try:
                    await self._synchronize()
                    failures = 0
                except ClusterError as error:
                    await self._fail(str(error))
                    failures += 1
                except Exception as error:  # noqa: BLE001 - the cluster would be left alone for ever
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
        self._present = None
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
        desired = await self._goal_of(target)
        if not self.is_holder:
            await self.follower.close()
            if self.receipts.waiters or self.is_followed:
                await self._confirm(desired, target)
            return
        self.follower.start()
        is_due = self._clock() - self._read_s >= self.config.interval_s
        if is_due and self._is_quiet():
            is_due, self._read_s = False, self._clock()
        if self._present is None or is_due:
            await self._observe(desired)
            if self.follower.is_following and (self.follower.changes or self.follower.is_new):
                self._log_attempts = len(_PENDING_S) - 1
        elif self.follower.is_following and (self.follower.changes or self.follower.is_new):
            await self._look_up(desired, self._present)
        elif not self.config.is_enforced:
            await self._conclude(desired, self._present)
        if self.config.is_enforced:
            # A change here needs no reading before it: what it removes is not desired anyway.
            await self._enforce(await self._drift(desired))
            await self._confirm(desired, target)

    async def _goal_of(self, target: State) -> Bindings:
        before = self._desired.bindings
        desired = await self._desired.at(target)
        if desired is not before:
            self._hurry()
        return desired

    # --- reading

    async def _observe(self, desired: Bindings) -> None:
        """Read one broker, in turns; if it shows a drift, read all: one alone may lag behind."""
        self._brokers = brokers = await self._remote.brokers()
        self._turn = (self._turn + 1) % len(brokers)
        first, *others = (*brokers[self._turn :], *brokers[: self._turn])
        found = await self._compare_all([first], desired)
        if found[0]:
            # A difference, or no answer.
            found += await self._compare_all(others, desired)
        drifts = [each for each in found if isinstance(each, AclDrift)]
        if not drifts:
            raise ClusterError("; ".join(dict.fromkeys(map(str, found))))
        drift = common(drifts)
        if self.failure:
            self.failure = ""
            self._tell(EventKind.REACHED)
        self._read_s = self._clock()
        present = await asyncio.to_thread(lambda: (desired - drift.missing) | drift.extra)
        await self._conclude(desired, present, drift.outside)

    def _is_quiet(self) -> bool:
        """Return whether nothing is to be read: the log is followed, and all is as it should be."""
        follower = self.follower
        is_read = follower.is_following and not (follower.is_new or follower.changes)
        return is_read and not (self.differences.drift or self.held or self.refused or self.failure)

    async def _look_up(self, desired: Bindings, present: Bindings) -> None:
        """Look up the changes of the log on all brokers.

        The log is ahead of the brokers, and behind this server's own changes: a change counts only
        where each broker that answers has it.
        """
        changes, asked = self.follower.changes, await self._differences_of_log(present)
        if not asked:
            # Most are changes of this server, which come back in the log.
            self._log_attempts = 0
            await self._conclude(desired, present)
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
            await self._observe(desired)
            return
        brokers = self._brokers or await self._remote.brokers()
        found = await asyncio.gather(*(self._holds(each, wanted, filters) for each in brokers))
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
            added = {each for each, is_there in seen.items() if is_there}
            await self._conclude(desired, (present - seen.keys()) | added)

    async def _differences_of_log(self, present: Bindings) -> dict[AclBinding, bool]:
        """Return the changes of the log that the known ACLs lack; drop all others."""
        follower, selects = self.follower, self.config.scope.selects
        if follower.is_new:
            await follower.compare(present, self.config.scope)
        for each, is_there in list(follower.changes.items()):
            if (each in present) is is_there or not selects(each):
                follower.changes.pop(each)
        return dict(follower.changes)

    async def _compare(self, broker: int, desired: Bindings) -> AclDrift:
        self.reads += 1
        found = await self._remote.read(broker)
        return await asyncio.to_thread(compare, desired, found, self.config.scope)

    async def _compare_all(
        self, brokers: Sequence[int], desired: Bindings
    ) -> list[AclDrift | ClusterError]:
        async def one(broker: int) -> AclDrift | ClusterError:
            try:
                return await self._compare(broker, desired)
            except ClusterError as error:
                return error

        return await asyncio.gather(*map(one, brokers))

    async def _drift(self, desired: Bindings) -> AclDrift:
        """Return the difference of the ACLs that are known to be there."""
        present = self._present
        assert present is not None, "the cluster was read"
        known = self._compared
        if known is None or known[0] is not desired or known[1] is not present:
            drift = await asyncio.to_thread(compare, desired, present, self.config.scope)
            self._compared = known = desired, present, drift
        return known[2]

    async def _conclude(
        self, desired: Bindings, present: Bindings, outside: int | None = None
    ) -> None:
        """Record the ACLs that are there; report differences that this server has not caused."""
        self._present = present
        drift = await self._drift(desired)
        await asyncio.to_thread(self.enforcement.observe, desired, drift, self._clock())
        if drift:
            # "Since" of the next receipt must not cover the time of this drift.
            self.receipts.interrupt()
        if outside is None:
            outside = self.differences.drift.outside
        before = self.differences.drift
        known = self.differences.reported
        drift = drift._replace(outside=outside)
        await asyncio.to_thread(self.differences.update, drift, self._now_ms())
        everything = drift.missing | drift.extra
        # Where changes are sent, the differences that they remove are no news.
        new = (self.enforcement.foreign if self.config.is_enforced else everything) - known
        self.differences.reported = (known | new) & everything
        if new:
            self._tell(EventKind.DRIFT, drift, detail=f"for example {binding_text(min(new))}")
        elif before and not drift and known:
            self._tell(EventKind.AGREED)

    # --- changing

    async def _enforce(self, drift: AclDrift) -> None:
        edits = await asyncio.to_thread(self.enforcement.plan, drift)
        if edits.held and edits.held != self.held:
            self._tell(EventKind.HELD, drift, detail=edits.held)
        self.held = edits.held
        # What the cluster has refused is sent again after the next reading only.
        if not edits or drift is self._enforced:
            return
        self._enforced, self.refused = drift, ""
        async for sent in self._remote.send(edits):
            self._note(sent)
            # Another node may have got the lease while this one was frozen.
            # Batches that were sent already are part of the next reading of the other node.
            if not await self._lease.keep():
                self.is_holder = False
                return
        await asyncio.to_thread(self.enforcement.record, edits, self._clock())
        counts = AclDrift(frozenset(edits.added), frozenset(edits.removed), 0)
        self._tell(EventKind.CHANGED, counts, detail=self.refused)

    def _note(self, sent: SentBatch) -> None:
        """Record which changes of a batch the cluster took."""
        done = sent.successes
        if self._present is not None and done:
            self._present = self._present | done if sent.adds else self._present - done
        if sent.refusals and not self.refused:
            self.refused = f"refused: {sent.refusals[0]}"

    # --- receipts

    async def _confirm(self, desired: Bindings, target: State) -> None:
        """Ask all brokers whether they enforce the target, unless that is known."""
        book, read_s = self.receipts, self._clock()
        last = book.last
        if (
            last is not None
            and not book.waiters
            # A revision outside the scope, or of another kind of state, needs no new answers.
            and last.bindings is desired
            and last.brokers == self._brokers
            and not self.differences.drift
        ):
            self._receive(target, last.brokers, last.read_s)
            return
        self._brokers = brokers = await self._remote.brokers()
        changed = await self._changes_since(last, desired)
        filters = look_ups(changed)
        if filters:
            found = await asyncio.gather(
                *(self._lacks(each, changed, filters, desired) for each in brokers)
            )
        else:
            found = await self._compare_all(brokers, desired)
        self._attempts += 1
        drifts = [each for each in found if isinstance(each, AclDrift)]
        pairs = zip(brokers, found, strict=True)
        book.pending = {
            broker: _reason(each)
            for broker, each in pairs
            if not isinstance(each, AclDrift) or each
        }
        if self.is_holder and not filters and len(drifts) == len(brokers):
            if book.pending:
                # Not what is there: the brokers may not have applied this server's changes yet.
                self.enforcement.observe(desired, common(drifts), self._clock())
            else:
                self._read_s = self._clock()
                await self._conclude(desired, desired, max(each.outside for each in drifts))
        if not book.pending:
            self._receive(target, brokers, read_s)

    async def _changes_since(self, last: Receipt | None, desired: Bindings) -> Bindings:
        """Return the ACLs that brokers must be asked for since a receipt; none to read all."""
        if last is None or last.brokers != self._brokers or self.differences.drift:
            return frozenset()
        changed = await asyncio.to_thread(desired.symmetric_difference, last.bindings)
        return changed.union(*self.receipts.waiters)

    async def _lacks(
        self, broker: int, changed: Bindings, filters: Sequence[AclBindingFilter], desired: Bindings
    ) -> AclDrift | ClusterError:
        """Return the drift of some ACLs on a broker."""
        present = await self._holds(broker, changed, filters)
        if isinstance(present, ClusterError):
            return present
        return compare(desired & changed, present, self.config.scope)

    async def _holds(
        self, broker: int, bindings: Bindings, filters: Sequence[AclBindingFilter]
    ) -> Bindings | ClusterError:
        """Return which of some ACLs a broker has; the filters match them all."""
        try:
            found = await asyncio.gather(*(self._remote.look_up(broker, each) for each in filters))
        except ClusterError as error:
            return error
        return bindings.intersection(frozenset().union(*found))

    def _receive(self, target: State, brokers: tuple[int, ...], read_s: float) -> None:
        is_new = self.receipts.confirm(
            target, self._desired.bindings, brokers, read_s=read_s, now_ms=self._now_ms()
        )
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
        last = self.receipts.last
        self._on_event(
            ClusterEvent(
                cluster=self.config.name,
                kind=kind,
                revision=None if last is None else last.revision,
                missing=len(drift.missing),
                extra=len(drift.extra),
                brokers=brokers,
                detail=detail,
            )
        )


def _reason(found: AclDrift | ClusterError) -> str:
    """Return why a broker does not enforce the desired ACLs; empty if it does."""
    if isinstance(found, ClusterError):
        return str(found)
    if not found:
        return ""
    return f"{len(found.missing)} ACLs are missing, {len(found.extra)} are to be removed"
