"""All clusters of a server: their tasks, their order, and their status."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import binding_text
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.result_checks import CREATION
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.schema.declared import ACL
from doorkeeper.sync.synchronization import ClusterSynchronization, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.authorizer.result_checks import AclChange
    from doorkeeper.server.operations.audit.cluster_changes import ClusterEvent
    from doorkeeper.server.runtime.metrics.series import Labels, Meters
    from doorkeeper.server.runtime.metrics.table import Metric
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.outcome import Results
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
        self.log = log
        self.now_ms = now_ms
        self.tell = on_event
        self.clusters = [ClusterSynchronization(config, self) for config in configs]
        log.subscribe(lambda _: self._wake(), ACL)

    def start(self) -> None:
        for cluster in self.clusters:
            cluster.start()
        self.log.loaded.add_done_callback(lambda _: self._wake())

    async def use(self, configs: Sequence[ClusterConfig]) -> None:
        """Use another file: begin anew with the clusters that it changes, and go on with others."""
        gone = [cluster for cluster in self.clusters if cluster.config not in configs]
        same = {cluster.config.name: cluster for cluster in self.clusters if cluster not in gone}
        # They release their leases before the clusters of the same names take them.
        await asyncio.gather(*(cluster.stop() for cluster in gone))
        self.clusters = [
            same.get(config.name) or ClusterSynchronization(config, self) for config in configs
        ]
        # Orders may have changed, and waits end for clusters that are gone.
        for cluster in self.clusters:
            cluster.start()
            cluster.wake()
        for cluster in gone:
            cluster.receipts.close()

    async def close(self) -> None:
        await asyncio.gather(*(cluster.stop() for cluster in self.clusters))

    @property
    def _enforcing(self) -> list[ClusterSynchronization]:
        return [cluster for cluster in self.clusters if cluster.config.is_enforced]

    async def wait_in_force(self, revision: int, changed: Sequence[AclBinding]) -> None:
        """Return when all brokers of all enforced clusters enforce a revision.

        ``changed`` are the ACLs of the change that waits, also those that it left as they were.
        """

        async def wait(cluster: ClusterSynchronization) -> None:
            bindings = frozenset(filter(cluster.config.scope.selects, changed))
            await cluster.receipts.wait_for(revision, bindings)

        done: set[ClusterSynchronization] = set()
        # Another file may replace a cluster meanwhile.
        while waiting := set(self._enforcing) - done:
            await asyncio.gather(*map(wait, waiting))
            done |= waiting

    def pending(self, revision: int) -> list[str]:
        """Return the reasons why a revision is not in force everywhere, one for each cluster."""
        return [
            f"cluster {cluster.config.name}: {_pending_text(cluster)}"
            for cluster in self._enforcing
            if cluster.receipts.pending or not cluster.receipts.has(revision)
        ]

    def acknowledging(self, updates: AuthorizerUpdates) -> AuthorizerUpdates:
        return AcknowledgedByClusters(updates, self)

    def read(self, meters: Meters) -> None:
        for metric in _METRICS:
            meters.read(metric, partial(self._values, metric))

    def _values(self, metric: Metric) -> Mapping[Labels, float]:
        return {
            (cluster.config.name, *labels): value
            for cluster in self.clusters
            for labels, value in _METRICS[metric](_status_of(cluster)).items()
        }

    def status(self) -> list[dict[str, Any]]:
        return [_status_of(cluster) | {"drift": _drift_of(cluster)} for cluster in self.clusters]

    def summary(self) -> str:
        return "; ".join(
            f"{cluster.config.name}: {_summary_of(cluster)}" for cluster in self.clusters
        )

    def _wake(self) -> None:
        for cluster in self.clusters:
            cluster.wake()

    # --- for the synchronizations

    def wake_followers(self) -> None:
        """Wake clusters whose target is another one than that of their last receipt."""
        for cluster in self._enforcing:
            target = self.target_of(cluster.config)
            if target is not None and cluster.receipts.state is not target:
                cluster.wake()

    def is_canary(self, config: ClusterConfig) -> bool:
        """Return whether clusters of a higher order wait for the receipts of one."""
        return config.is_enforced and any(
            cluster.config.order > config.order for cluster in self._enforcing
        )

    def target_of(self, config: ClusterConfig) -> State | None:
        """Return the state that a cluster should have; None for none yet."""
        log = self.log
        loaded = log.loaded
        is_loaded = loaded.done() and not loaded.cancelled() and loaded.exception() is None
        # A state that may be old must not undo newer changes of other nodes.
        if not is_loaded or log.state.stale or log.store.is_lost:
            return None
        before = [cluster for cluster in self._enforcing if cluster.config.order < config.order]
        if not before or not config.is_enforced:
            return log.state
        order = max(cluster.config.order for cluster in before)
        states = [cluster.receipts.state for cluster in before if cluster.config.order == order]
        known = [state for state in states if state is not None]
        # A canary without a receipt since the start: nothing is known to work.
        if len(known) < len(states):
            return None
        return min(known, key=lambda state: state.revision)


class AcknowledgedByClusters(Struct, frozen=True):
    """Changes of ACLs that complete when the brokers of all enforced clusters enforce them.

    They are asynchronous in Kafka's contract of authorizers too (KIP-504).
    """

    updates: AuthorizerUpdates
    fleet: ClusterFleet

    async def change(
        self,
        change: AclChange,
        context: AuthorizableRequestContext,
        items: Sequence[Any],
        timeout_s: float,
    ) -> Results:
        """Update, and wait for the clusters; then a success that is not in force is an error."""
        # One time-out for both parts: storing, and the answers of the brokers.
        ends_s = asyncio.get_running_loop().time() + timeout_s
        results = await self.updates.change(change, context, items, timeout_s)
        if all(result.error is not None for result in results.values):
            return results
        # This one or a later one, which contains the change too.
        revision = self.fleet.log.state.revision
        changed = items
        if change is not CREATION:
            changed = [row.binding for result in results.values for row in result.bindings]
        try:
            async with asyncio.timeout_at(ends_s):
                await self.fleet.wait_in_force(revision, changed)
        except TimeoutError:
            pending = "; ".join(self.fleet.pending(revision)) or "no broker responded in time"
            text = f"Stored as revision {revision}, but not in force everywhere: {pending}"
            error = change.result(ApiError(ErrorCode.REQUEST_TIMED_OUT, text))
            values = [error if result.error is None else result for result in results.values]
            return replace(results, values=values)
        return results


def _status_of(cluster: ClusterSynchronization) -> dict[str, Any]:
    """Return the status of a cluster without the ACLs that differ, of which there may be many."""
    receipts, differences = cluster.receipts, cluster.differences
    return {
        "name": cluster.config.name,
        "mode": cluster.config.mode,
        "holder": cluster.is_holder,
        "failure": cluster.failure or None,
        "unread": cluster.unread or None,
        "revision": receipts.revision,
        "since_ms": receipts.since_ms,
        "brokers": list(receipts.brokers),
        "pending": {str(broker): reason for broker, reason in receipts.pending.items()},
        "missing": len(differences.drift.missing),
        "extra": len(differences.drift.extra),
        "foreign": len(cluster.enforcement.foreign),
        "outside": len(differences.drift.outside),
        "drift_since_ms": min(differences.since_ms.values(), default=None),
        "held": [
            {"rule": held.rule.value, "acls": len(held.bindings), "reason": reason_of(held)}
            for held in cluster.holds
        ],
        "reads": cluster.remote.reads,
        "follows_log": cluster.follower.is_following,
        "polls_because": cluster.follower.reason or None,
    }


def _drift_of(cluster: ClusterSynchronization) -> list[dict[str, Any]]:
    missing = cluster.differences.drift.missing
    rows = sorted(cluster.differences.since_ms.items())[:_SHOWN_MAX]
    return [
        {"missing": binding in missing, "acl": binding_text(binding), "since_ms": since_ms}
        for binding, since_ms in rows
    ]


def _held_acls(status: Mapping[str, Any]) -> dict[Labels, float]:
    counts: Counter[Labels] = Counter()
    for hold in status["held"]:
        counts[hold["rule"],] += hold["acls"]
    return dict(counts)


def _summary_of(cluster: ClusterSynchronization) -> str:
    if not cluster.is_holder:
        return "synchronized by another node"
    drift, revision = cluster.differences.drift, cluster.receipts.revision
    parts = [
        "" if revision is None else f"revision {revision} is in force",
        f"{len(drift.missing)} ACLs missing, {len(drift.extra)} extra" if drift else "",
        cluster.held,
    ]
    return cluster.failure or ", ".join(filter(None, parts)) or cluster.unread or "no drift"


def _pending_text(cluster: ClusterSynchronization) -> str:
    pending = cluster.receipts.pending.items()
    parts = [cluster.held, *(f"broker {broker}: {reason}" for broker, reason in pending)]
    return cluster.failure or ", ".join(filter(None, parts)) or "not read yet"


_METRICS: Final[Mapping[Metric, Callable[[Mapping[str, Any]], Mapping[Labels, float]]]] = {
    table.CLUSTER_REVISION: lambda status: (
        {} if status["revision"] is None else {(): status["revision"]}
    ),
    table.CLUSTER_DRIFT: lambda status: (
        {} if status["unread"] else {(kind,): status[kind] for kind in ("missing", "extra")}
    ),
    table.CLUSTER_HELD: _held_acls,
    table.CLUSTER_REACHABLE: lambda status: (
        {} if status["unread"] and not status["failure"] else {(): not status["failure"]}
    ),
    # A node that does not hold a cluster neither follows nor polls it.
    table.CLUSTER_FOLLOWS_LOG: lambda status: (
        {(): status["follows_log"]} if status["holder"] else {}
    ),
    table.CLUSTER_READS: lambda status: {(): status["reads"]},
}
"""The values of each metric, by the labels after the cluster's, from the status of a cluster."""
