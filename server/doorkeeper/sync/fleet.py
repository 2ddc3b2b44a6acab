"""All clusters of a server: their tasks, their order, and their status."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.schema.declared import ACL
from doorkeeper.sync.acknowledgement import AcknowledgedByClusters
from doorkeeper.sync.drift import binding_text
from doorkeeper.sync.synchronization import ClusterSynchronization

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent
    from doorkeeper.server.runtime.metrics.series import Meters
    from doorkeeper.server.schema.change import Committed
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.state import State
    from doorkeeper.sync.config import ClusterConfig

# A set that is not adopted yet may differ in all of its ACLs; the counts are complete.
_SHOWN_MAX: Final = 100
"""The most ACLs of a drift in a status."""


class ClusterFleet:
    """The clusters of one server. For the event loop's thread."""

    def __init__(
        self,
        configs: Sequence[ClusterConfig],
        log: StateLog,
        on_event: Callable[[ClusterEvent], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._log = log
        self._on_event = on_event
        self._now_ms = now_ms
        self._tasks: dict[ClusterSynchronization, asyncio.Task[None]] = {}
        self.clusters = list(map(self._synchronization, configs))
        self._note_orders()
        log.subscribe(self._on_commit, ACL)

    def start(self) -> None:
        """Start the tasks; they wait until the ACLs are loaded."""
        self._start(self.clusters)
        self._log.loaded.add_done_callback(lambda _: self._wake())

    async def use(self, configs: Sequence[ClusterConfig]) -> None:
        """Use another file: begin anew with the clusters that it changes, and go on with others."""
        kept = {each.config.name: each for each in self.clusters if each.config in configs}
        gone = [each for each in self.clusters if each.config not in configs]
        # They release their leases before the clusters of the same names take them.
        await self._stop(gone)
        self.clusters = [kept.get(each.name) or self._synchronization(each) for each in configs]
        self._note_orders()
        self._start([each for each in self.clusters if each not in self._tasks])
        # Orders may have changed, and waits end for clusters that are gone.
        self._wake()
        for each in gone:
            each.receipts.close()

    async def close(self) -> None:
        """End the tasks; the clusters stay as they are."""
        await self._stop(list(self._tasks))

    def _synchronization(self, config: ClusterConfig) -> ClusterSynchronization:
        return ClusterSynchronization(
            config,
            self._log.store.named_lease(f"cluster {config.name}"),
            store_id=self._log.store_id,
            target=self._target_of(config),
            on_event=self._on_event,
            on_receipt=self._wake_followers,
            now_ms=self._now_ms,
        )

    def _note_orders(self) -> None:
        last = max((each.config.order for each in self._enforcing), default=0)
        for each in self.clusters:
            each.is_followed = each.config.is_enforced and each.config.order < last

    def _start(self, clusters: Sequence[ClusterSynchronization]) -> None:
        loop = asyncio.get_running_loop()
        for each in clusters:
            name = f"cluster {each.config.name}"
            self._tasks[each] = loop.create_task(each.run(), name=name)

    async def _stop(self, clusters: Sequence[ClusterSynchronization]) -> None:
        tasks = [self._tasks.pop(each) for each in clusters]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def _enforcing(self) -> list[ClusterSynchronization]:
        return [each for each in self.clusters if each.config.is_enforced]

    async def wait_in_force(self, revision: int, changed: Sequence[AclBinding]) -> None:
        """Return when all brokers of all enforced clusters enforce a revision.

        ``changed`` are the ACLs of the change that waits, also those that it left as they were.
        """
        done: set[ClusterSynchronization] = set()
        # Another file may replace a cluster meanwhile.
        while waiting := [each for each in self._enforcing if each not in done]:
            await asyncio.gather(
                *(
                    each.receipts.wait_for(
                        revision, frozenset(filter(each.config.scope.selects, changed))
                    )
                    for each in waiting
                )
            )
            done.update(waiting)

    def pending(self, revision: int) -> list[str]:
        """Return the reasons why a revision is not in force everywhere, one for each cluster."""
        return [
            f"cluster {each.config.name}: {_pending_text(each)}"
            for each in self._enforcing
            if each.receipts.pending
            or each.receipts.last is None
            or each.receipts.last.revision < revision
        ]

    def acknowledging(self, updates: AuthorizerUpdates) -> AuthorizerUpdates:
        """Return changes of ACLs that complete when all brokers enforce them."""
        return AcknowledgedByClusters(updates, self, self._log)

    def read(self, meters: Meters) -> None:
        """Register the receipts and differences of the clusters."""

        def revisions() -> Mapping[tuple[str, ...], float]:
            return {
                (each.config.name,): each.receipts.last.revision
                for each in self.clusters
                if each.receipts.last is not None
            }

        def drift() -> Mapping[tuple[str, ...], float]:
            found: dict[tuple[str, ...], float] = {}
            for each in self.clusters:
                found[each.config.name, "missing"] = len(each.differences.drift.missing)
                found[each.config.name, "extra"] = len(each.differences.drift.extra)
            return found

        def held() -> Mapping[tuple[str, ...], float]:
            found: Counter[tuple[str, ...]] = Counter()
            for each in self.clusters:
                for rule, acls, _ in each.holds:
                    found[each.config.name, rule] += acls
            return found

        meters.read(table.CLUSTER_REVISION, revisions)
        meters.read(table.CLUSTER_DRIFT, drift)
        meters.read(table.CLUSTER_HELD, held)
        meters.read(
            table.CLUSTER_REACHABLE,
            lambda: {(each.config.name,): not each.failure for each in self.clusters},
        )
        # A node that does not hold a cluster neither follows nor polls it.
        meters.read(
            table.CLUSTER_FOLLOWS_LOG,
            lambda: {
                (each.config.name,): each.follower.is_following
                for each in self.clusters
                if each.is_holder
            },
        )
        meters.read(
            table.CLUSTER_READS,
            lambda: {(each.config.name,): each.readings.count for each in self.clusters},
        )

    def status(self) -> list[dict[str, Any]]:
        """Return the status of all clusters, for JSON."""
        return [_status_of(each) for each in self.clusters]

    def summary(self) -> str:
        """Return one line about all clusters, for readiness."""
        return "; ".join(f"{each.config.name}: {_summary_of(each)}" for each in self.clusters)

    def _on_commit(self, committed: Committed) -> None:
        for each in self.clusters:
            each.note(committed)

    def _wake(self) -> None:
        for each in self.clusters:
            each.wake()

    def _wake_followers(self) -> None:
        for each in self._enforcing:
            state = each.receipts.last
            target = self._target_of(each.config)()
            if target is not None and (state is None or state.state is not target):
                each.wake()

    def _target_of(self, config: ClusterConfig) -> Callable[[], State | None]:
        """Return a function of the state that a cluster should have; of None for none yet."""

        def target() -> State | None:
            log = self._log
            loaded = log.loaded
            is_loaded = loaded.done() and not loaded.cancelled() and loaded.exception() is None
            # A state that may be old must not undo newer changes of other nodes.
            if not is_loaded or log.state.stale or log.store.is_lost:
                return None
            before = [each for each in self._enforcing if each.config.order < config.order]
            if not before or not config.is_enforced:
                return log.state
            last = max(each.config.order for each in before)
            receipts = [each.receipts.last for each in before if each.config.order == last]
            states = [each.state for each in receipts if each is not None]
            # A canary without a receipt since the start: nothing is known to work.
            if len(states) < len(receipts):
                return None
            return min(states, key=lambda state: state.revision)

        return target


def _summary_of(cluster: ClusterSynchronization) -> str:
    if not cluster.is_holder:
        return "synchronized by another node"
    if cluster.failure:
        return cluster.failure
    last, drift = cluster.receipts.last, cluster.differences.drift
    parts = [] if last is None else [f"revision {last.revision} is in force"]
    if drift:
        parts.append(f"{len(drift.missing)} ACLs missing, {len(drift.extra)} too many")
    if cluster.held:
        parts.append(cluster.held)
    return ", ".join(parts) or "no drift"


def _pending_text(cluster: ClusterSynchronization) -> str:
    if cluster.failure:
        return cluster.failure
    reasons = [cluster.held] if cluster.held else []
    pending = cluster.receipts.pending
    reasons += [f"broker {broker}: {reason}" for broker, reason in pending.items()]
    return ", ".join(reasons) or "not read yet"


def _status_of(cluster: ClusterSynchronization) -> dict[str, Any]:
    last, differences = cluster.receipts.last, cluster.differences
    drift = differences.drift
    rows = [
        {"missing": each in drift.missing, "acl": binding_text(each), "since_ms": since_ms}
        for each, since_ms in sorted(differences.since_ms.items())[:_SHOWN_MAX]
    ]
    return {
        "name": cluster.config.name,
        "mode": cluster.config.mode.value,
        "holder": cluster.is_holder,
        "failure": cluster.failure or None,
        "revision": None if last is None else last.revision,
        "since_ms": None if last is None else last.since_ms,
        "brokers": [] if last is None else list(last.brokers),
        "pending": {str(broker): reason for broker, reason in cluster.receipts.pending.items()},
        "missing": len(drift.missing),
        "extra": len(drift.extra),
        "foreign": len(cluster.enforcement.foreign),
        "outside": len(drift.outside),
        "drift_since_ms": differences.oldest_ms,
        "held": [
            {"rule": rule, "acls": acls, "reason": text} for rule, acls, text in cluster.holds
        ],
        "reads": cluster.readings.count,
        "follows_log": cluster.follower.is_following,
        "polls_because": cluster.follower.reason or None,
        "drift": rows,
    }
