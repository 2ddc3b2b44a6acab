"""What the parts of a server know anyway, read for its metrics at each scrape."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from doorkeeper.metrics import table
from doorkeeper.node import ACL_UPDATE
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.app.live_node import LiveNode
    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.exchange import Counts
    from doorkeeper.limits import Limits
    from doorkeeper.metrics.hooks import SightedStore
    from doorkeeper.metrics.series import Meters
    from doorkeeper.net import Server

NO_MECHANISM = "none"


def read_edge(meters: Meters, edge: Server, limits: Limits) -> None:
    """Read connections, what they hold, and what waits."""

    def by_listener(ask: Callable[[str], float]) -> Callable[[], Mapping[tuple[str, ...], float]]:
        return lambda: {(name,): ask(name) for name in edge.listener_names}

    def handshakes() -> Mapping[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for name in edge.encrypted_listener_names:
            succeeded, failed = edge.handshakes_on(name)
            found[name, "succeeded"] = succeeded
            found[name, "failed"] = failed
        return found

    meters.read(table.CONNECTIONS, by_listener(edge.connections_on))
    meters.read(table.CONNECTIONS_ACCEPTED, by_listener(edge.accepted_on))
    meters.read(table.HANDSHAKES, handshakes)
    meters.read(
        table.HELD_BYTES, lambda: {("in",): edge.bytes_incoming, ("out",): edge.bytes_outgoing}
    )
    meters.read(table.DELAYED_OPERATIONS, lambda: _labelled(edge.waiting()[0]))
    meters.read(table.PURGATORY_SIZE, lambda: _labelled(edge.waiting()[1]))
    meters.read(table.PURGATORY_SIZE_MAX, lambda: {(ACL_UPDATE,): limits.updates_waiting_max})
    read_counts(meters, edge.counts)


def read_counts(meters: Meters, counts: Counts) -> None:
    """Read what connections count."""

    def authentications() -> Mapping[tuple[str, ...], float]:
        return {
            (mechanism or NO_MECHANISM, "succeeded" if succeeded else "failed"): count
            for (mechanism, succeeded), count in counts.authentications.items()
        }

    meters.read(table.AUTHENTICATIONS, authentications)
    meters.read(table.SESSIONS_EXPIRED, lambda: counts.killed_by_expiry)
    meters.read(table.TRAILING_BYTES, lambda: counts.trailing_bytes)
    meters.read(table.WITHHELD_ACLS, lambda: counts.withheld_acls)


def read_authorizer(meters: Meters, authorizer: GuardedAuthorizer) -> None:
    """Read decisions, faults and the number of ACLs."""

    def acls() -> float | None:
        count = authorizer.acl_count()
        return None if count < 0 else count

    meters.read(
        table.DECISIONS,
        lambda: {("allowed",): authorizer.allowed, ("denied",): authorizer.denied},
    )
    meters.read(table.SLOW_DECISIONS, lambda: authorizer.slow_calls)
    meters.read(table.AUTHORIZER_FAULTS, lambda: authorizer.faults)
    meters.read(table.ACLS, acls)


def read_store(meters: Meters, store: SightedStore) -> None:
    """Read how the node sees its store."""
    meters.read(table.REVISION, lambda: store.sight().revision)
    meters.read(table.HEAD_REVISION, lambda: store.sight().head_revision)
    meters.read(table.SNAPSHOT_AGE, lambda: store.sight().age_s)
    meters.read(table.STORE_REACHABLE, lambda: store.sight().reachable)


def read_node(meters: Meters, node: LiveNode) -> None:
    """Read which nodes there are, and what runs here."""

    def nodes() -> float | None:
        listener = node.settings.inter_broker_listener_name
        return len(node.brokers(listener)) if node.is_advertised(listener) else None

    meters.read(table.NODES, nodes)
    meters.read(table.IS_CONTROLLER, lambda: node.controller_id == node.node_id)
    meters.read(table.BUILD_INFO, lambda: {(__version__, platform.python_version()): 1})


def _labelled(values: Mapping[str, int]) -> Mapping[tuple[str, ...], float]:
    return {(name,): value for name, value in values.items()}
