"""A cluster as it is at the moment, broker by broker, for commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from doorkeeper.acls.live_changes import binding_text, unenforced
from doorkeeper.sync.drift import NO_BINDINGS, NO_DRIFT, AclDrift, common
from doorkeeper.sync.following import log_refusal
from doorkeeper.sync.remote import ClusterError, RemoteCluster

if TYPE_CHECKING:
    from doorkeeper.cli.json_records.stores import ClusterState
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings
    from doorkeeper.sync.remote import Answers


class ClusterComparison(Struct, frozen=True):
    """The drift of each broker of a cluster, or why one cannot be read; or why none can."""

    config: ClusterConfig
    brokers: Answers
    failure: str = ""
    polled_because: str = ""
    """Why the metadata log cannot be followed; empty if it can."""
    refusal: str = ""
    """Why the store may not change an enforced cluster; empty if it may."""
    ignored: Bindings = NO_BINDINGS
    """The desired ACLs that the release of the cluster does not honour."""

    @property
    def drifts(self) -> list[AclDrift]:
        return [drift for drift in self.brokers.values() if isinstance(drift, AclDrift)]

    @property
    def drift(self) -> AclDrift:
        """Return the drift that all brokers show."""
        return common(self.drifts) if self.drifts else NO_DRIFT

    @property
    def is_in_force(self) -> bool:
        """Return whether every broker enforces the desired ACLs."""
        all_read = len(self.drifts) == len(self.brokers) > 0
        return not self.failure and all_read and not any(self.drifts) and not self.ignored

    def record(self, revision: int | None) -> ClusterState:
        """Return the comparison for JSON; ``revision`` is that of the desired ACLs."""
        drift = self.drift
        return {
            "name": self.config.name,
            "mode": self.config.mode.value,
            "revision": revision,
            "inForce": self.is_in_force,
            "failure": self.failure or None,
            "pollsBecause": self.polled_because or None,
            "held": self.refusal or None,
            "notHonoured": [binding_text(binding) for binding in sorted(self.ignored)],
            "brokers": {str(broker): _broker_text(state) for broker, state in self.brokers.items()},
            "outside": len(drift.outside),
            "missing": [binding_text(binding) for binding in sorted(drift.missing)],
            "extra": [binding_text(binding) for binding in sorted(drift.extra)],
        }


async def compare_cluster(
    config: ClusterConfig, desired: Bindings, store_id: str
) -> ClusterComparison:
    """Read every broker of a cluster; errors are in the result."""
    remote = RemoteCluster(config, desired)
    refusal = config.refusal_of(store_id)
    networks = frozenset(binding for binding in desired if "/" in binding.entry.host)
    try:
        brokers = await remote.compare(await remote.brokers())
        reason = await log_refusal(config)
        ignored = unenforced(networks, await remote.facts(0)) if networks else NO_BINDINGS
        return ClusterComparison(config, brokers, "", reason, refusal, ignored)
    except ClusterError as error:
        return ClusterComparison(config, {}, str(error), refusal=refusal)
    finally:
        await remote.close()


def _broker_text(state: AclDrift | ClusterError) -> str:
    if isinstance(state, ClusterError):
        return str(state)
    return f"{len(state.missing)} missing, {len(state.extra)} extra" if state else "in force"
