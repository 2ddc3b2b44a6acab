"""The operations port: its pages, its start and stop, and the gauges of a scrape."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from doorkeeper.base.version import __version__
from doorkeeper.server.api.node import UpdateOperation
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.config.http import HttpSettings
from doorkeeper.server.net import Server
from doorkeeper.server.operations.http.exposition import Exposition
from doorkeeper.server.operations.http.heartbeat import Heartbeat
from doorkeeper.server.operations.http.history_pages import HistoryPages
from doorkeeper.server.operations.http.pages import Check, CheckResult, Pages, results_of
from doorkeeper.server.operations.http.port import HttpPort
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics import table
from doorkeeper.server.runtime.metrics.series import Meters
from doorkeeper.server.state.log import StateLog

if TYPE_CHECKING:
    from doorkeeper.server.app.clusters import Fleet
    from doorkeeper.server.app.history import ReadHistory
    from doorkeeper.server.app.node import LiveNode


class Parts(Struct, frozen=True):
    """The observed parts of a server. ``loaded`` and ``draining`` are called for each check.

    ``history`` is None for a store that keeps none, ``fleet`` without Kafka clusters.
    ``notice`` is what readiness says of records; empty without a test broker.
    """

    edge: Server
    log: StateLog
    node: LiveNode
    authorizer: GuardedAuthorizer | None
    loaded: Callable[[], bool]
    draining: Callable[[], bool]
    history: ReadHistory | None
    fleet: Fleet | None = None
    notice: str = ""


class OperationsPort:
    """The port with its pages. For the event loop's thread."""

    def __init__(
        self, settings: HttpSettings, parts: Parts, meters: Meters, logger: Logger
    ) -> None:
        """Read the files of the settings.

        Raises:
            StartError: one of them cannot be used.
        """
        try:
            self._port = HttpPort(settings, logger)
        except ValueError as error:
            raise StartError(str(error)) from None
        self._meters = meters
        self._heartbeat = Heartbeat(asyncio.get_running_loop())
        self._checks = checks_of(parts, settings.store_age_max_ms / 1000)
        self._history = None
        if parts.history is not None:
            self._history = HistoryPages(parts.history, lambda: parts.log.state.revision)
        read_edge(meters, parts.edge)
        read_store(meters, parts.log)
        read_node(meters, parts.node)
        if parts.authorizer is not None:
            read_authorizer(meters, parts.authorizer)
        self._clusters = None
        if parts.fleet is not None:
            self._clusters = parts.fleet.status
            parts.fleet.read(meters)
        meters.read(table.LOOP_LAG, lambda: self._heartbeat.lag_s)
        meters.read(
            table.READY,
            lambda: {(name,): check.ok for name, check in results_of(self._checks).items()},
        )

    @property
    def url(self) -> str:
        """Return the URL of the port; known after ``open``."""
        return self._port.url

    async def open(self) -> None:
        """Accept connections.

        Raises:
            BindError: the address is not available.
        """
        await self._port.open(
            Pages(
                self._checks,
                self._heartbeat,
                Exposition(self._meters),
                self._port.credentials,
                self._history,
                self._clusters,
            )
        )

    async def close(self) -> None:
        self._heartbeat.stop()
        await self._port.close()


def checks_of(parts: Parts, store_age_max_s: float) -> Mapping[str, Check]:
    def serving() -> CheckResult:
        draining = parts.draining()
        return CheckResult(not draining, "draining" if draining else "serving")

    def listeners() -> CheckResult:
        is_open = parts.edge.is_open
        return CheckResult(is_open, "open" if is_open else "not open yet")

    def acls() -> CheckResult:
        if parts.authorizer is None:
            return CheckResult(ok=True, detail="no authorizer")
        loaded = parts.loaded()
        return CheckResult(loaded, "loaded" if loaded else "loading")

    def store() -> CheckResult:
        problem = parts.log.store.unavailable
        status = parts.log.status()
        state = "reachable" if problem is None else f"not reachable: {problem}"
        detail = (
            f"{state}; revision {status.revision} of {status.head_revision},"
            f" {status.age_s:.1f} s old"
        )
        if parts.log.state.stale:
            return CheckResult(ok=False, detail=f"{detail}: too old, access is denied")
        # A shared store may return: until the state is too old, the node stays ready.
        return CheckResult(not parts.log.store.is_lost and status.age_s <= store_age_max_s, detail)

    def tls() -> CheckResult:
        loaded = parts.edge.are_keys_loaded
        return CheckResult(loaded, "loaded" if loaded else "a listener has no certificate")

    checks = {"serving": serving, "listeners": listeners, "acls": acls, "store": store, "tls": tls}
    fleet = parts.fleet
    if fleet is not None:
        # A server without its clusters is as useful to its clients as before.
        checks["clusters"] = lambda: CheckResult(ok=True, detail=fleet.summary())
    if parts.notice:
        checks["records"] = lambda: CheckResult(ok=True, detail=parts.notice)
    return checks


NO_MECHANISM = "none"


def read_edge(meters: Meters, edge: Server) -> None:
    """Register gauges of connections, their memory, and delayed operations."""

    def by_listener(ask: Callable[[str], float]) -> Callable[[], Mapping[tuple[str, ...], float]]:
        return lambda: {(name,): ask(name) for name in edge.listeners}

    def handshakes() -> Mapping[tuple[str, ...], float]:
        counts: dict[tuple[str, ...], float] = {}
        for name in edge.encrypted_listener_names:
            succeeded, failed = edge.listeners[name].handshakes
            counts[name, "succeeded"] = succeeded
            counts[name, "failed"] = failed
        return counts

    meters.read(table.CONNECTIONS, by_listener(edge.admission.on_listener))
    meters.read(table.CONNECTIONS_ACCEPTED, by_listener(edge.admission.accepted.__getitem__))
    meters.read(table.HANDSHAKES, handshakes)
    shared = edge.context
    meters.read(
        table.HELD_BYTES,
        lambda: {("in",): shared.incoming.total, ("out",): shared.outgoing.total},
    )
    meters.read(table.DELAYED_OPERATIONS, lambda: _with_labels(shared.updates.updates))
    meters.read(table.PURGATORY_SIZE, lambda: _with_labels(shared.updates.items))
    meters.read(
        table.PURGATORY_SIZE_MAX,
        lambda: {(UpdateOperation.ACLS,): shared.limits.updates_waiting_max},
    )
    counts = edge.counts
    meters.read(
        table.AUTHENTICATIONS,
        lambda: {
            (mechanism or NO_MECHANISM, "succeeded" if succeeded else "failed"): count
            for (mechanism, succeeded), count in counts.authentications.items()
        },
    )
    meters.read(table.SESSIONS_EXPIRED, lambda: counts.killed_by_expiry)
    meters.read(table.TRAILING_BYTES, lambda: counts.trailing_bytes)


def read_authorizer(meters: Meters, authorizer: GuardedAuthorizer) -> None:
    """Register decisions, faults and the number of ACLs."""

    def acls() -> float | None:
        count = authorizer.acl_count()
        # A plug-in may not know its number of ACLs: -1.
        return None if count < 0 else count

    meters.read(
        table.DECISIONS,
        lambda: {("allowed",): authorizer.allowed, ("denied",): authorizer.denied},
    )
    meters.read(table.SLOW_DECISIONS, lambda: authorizer.slow_calls)
    meters.read(table.AUTHORIZER_FAULTS, lambda: authorizer.faults)
    meters.read(table.ACLS, acls)


def read_store(meters: Meters, store: StateLog) -> None:
    meters.read(table.REVISION, lambda: store.status().revision)
    meters.read(table.HEAD_REVISION, lambda: store.status().head_revision)
    meters.read(table.SNAPSHOT_AGE, lambda: store.status().age_s)
    meters.read(table.STORE_REACHABLE, lambda: store.status().reachable)


def read_node(meters: Meters, node: LiveNode) -> None:
    """Register the number of nodes, the controller and the versions."""

    def nodes() -> float | None:
        listener = node.settings.inter_broker_listener_name
        # None of them is known before this node has its own addresses.
        return len(node.brokers(listener)) or None

    meters.read(table.NODES, nodes)
    meters.read(table.IS_CONTROLLER, lambda: node.controller_id == node.node_id)
    meters.read(table.BUILD_INFO, lambda: {(__version__, platform.python_version()): 1})


def _with_labels(values: Mapping[str, int]) -> Mapping[tuple[str, ...], float]:
    return {(name,): value for name, value in values.items()}
