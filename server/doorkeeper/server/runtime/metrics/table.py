"""Every metric of the server, with Kafka's name.

``docs/reference/metrics.md`` and ``/metrics`` are generated from this table; a test compares the
dashboard with it. Units are those of Prometheus: seconds and bytes.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct


class Metric(Struct, frozen=True, kw_only=True):
    """One metric. ``name`` is the one in queries; of a histogram, without ``_bucket``.

    ``kafka`` is the name of the same metric in a broker or a KIP, empty if there is none.
    ``buckets`` are the upper bounds of a histogram, ascending, without infinity.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    doc: str
    labels: tuple[str, ...] = ()
    kafka: str = ""
    buckets: tuple[float, ...] = ()


def _counter(name: str, doc: str, *labels: str, kafka: str = "") -> Metric:
    return Metric(name=name, kind="counter", doc=doc, labels=labels, kafka=kafka)


def _gauge(name: str, doc: str, *labels: str, kafka: str = "") -> Metric:
    return Metric(name=name, kind="gauge", doc=doc, labels=labels, kafka=kafka)


def _histogram(
    name: str, doc: str, *labels: str, buckets: tuple[float, ...], kafka: str = ""
) -> Metric:
    return Metric(name=name, kind="histogram", doc=doc, labels=labels, kafka=kafka, buckets=buckets)


FAST_S: Final = (
    *(0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)
"""From a describe of one ACL (50 us) to an authorizer that hangs."""

SLOW_S: Final = (0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
"""From a sync of a fast disk to the default of doorkeeper.update.timeout.ms."""

_REQUESTS = "kafka.network:type=RequestMetrics,name={},request=<api>"
_PURGATORY = (
    "kafka.server:type=DelayedOperationPurgatory,name={},delayedOperation=AlterAcls"
    " (KIP-504: acl-update)"
)
_SOCKETS = "kafka.server:type=socket-server-metrics,listener=<name>,name={}"
_PLUGIN = "kafka.server:type=plugins,config=authorizer.class.name,name={} (KIP-877)"

# --- requests

REQUESTS: Final = _counter(
    "doorkeeper_requests_total",
    "Answered requests by API and error. The error is that of the response, or of its first failed"
    ' item; "none" if there is no error.',
    "api",
    "error",
    kafka=f"{_REQUESTS.format('RequestsPerSec')}; name=ErrorsPerSec,error=<name>",
)
REQUEST_SECONDS: Final = _histogram(
    "doorkeeper_request_seconds",
    "Total time of a request: from the start of processing until the response is written; pipelined"
    " requests share their end time. Includes local and remote time of requests that waited.",
    "api",
    buckets=FAST_S,
    kafka=_REQUESTS.format("TotalTimeMs"),
)
LOCAL_SECONDS: Final = _histogram(
    "doorkeeper_request_local_seconds",
    "Local time of requests that waited (changes, long polls): ends when the wait for the"
    " authorizer, the store, or an event begins.",
    "api",
    buckets=FAST_S,
    kafka=_REQUESTS.format("LocalTimeMs"),
)
REMOTE_SECONDS: Final = _histogram(
    "doorkeeper_request_remote_seconds",
    "Remote time of requests that waited: from the start of the wait until its last item completed"
    " or timed out.",
    "api",
    buckets=SLOW_S,
    kafka=_REQUESTS.format("RemoteTimeMs"),
)
HELD_BYTES: Final = _gauge(
    "doorkeeper_held_bytes",
    "Bytes buffered by connections: received but not yet answered (in), not yet read by clients"
    " (out).",
    "direction",
)
TRAILING_BYTES: Final = _counter(
    "doorkeeper_request_trailing_bytes_total",
    "Trailing bytes after the end of requests, which are ignored, as in Kafka.",
)

# --- updates that wait

DELAYED_OPERATIONS: Final = _gauge(
    "doorkeeper_delayed_operations",
    "Requests that wait for a change to complete, including those of disconnected clients. ACL"
    ' changes are counted as "acl-update".',
    "operation",
    kafka=_PURGATORY.format("NumDelayedOperations"),
)
PURGATORY_SIZE: Final = _gauge(
    "doorkeeper_purgatory_size",
    "Items in waiting requests.",
    "operation",
    kafka=_PURGATORY.format("PurgatorySize"),
)
PURGATORY_SIZE_MAX: Final = _gauge(
    "doorkeeper_purgatory_size_max",
    "The maximum number of waiting items; for ACL changes, doorkeeper.update.waiting.max.",
    "operation",
)
UPDATES_REFUSED: Final = _counter(
    "doorkeeper_updates_refused_total",
    "ACL changes refused because too many items were waiting.",
)
ITEMS_TIMED_OUT: Final = _counter(
    "doorkeeper_update_items_timed_out_total",
    "Items of ACL changes that timed out after doorkeeper.update.timeout.ms.",
    "operation",
)

# --- decisions

DECISIONS: Final = _counter(
    "doorkeeper_decisions_total",
    "Decisions of the authorizer: allowed or denied. KIP-430 probes are not counted.",
    "result",
    kafka=_PLUGIN.format("authorization-{allowed,denied}-rate-per-minute"),
)
SLOW_DECISIONS: Final = _counter(
    "doorkeeper_authorizer_slow_calls_total",
    "Authorizer calls that took longer than doorkeeper.authorizer.slow.ms.",
)
AUTHORIZER_FAULTS: Final = _counter(
    "doorkeeper_authorizer_faults_total",
    "Authorizer calls that raised an exception or violated the contract. They were denied.",
)
ACLS: Final = _gauge(
    "doorkeeper_acls",
    "Number of ACLs of the authorizer; absent if it does not report it.",
    kafka=_PLUGIN.format("acls-total-count"),
)

# --- connections

CONNECTIONS: Final = _gauge(
    "doorkeeper_connections",
    "Open client connections.",
    "listener",
    kafka=_SOCKETS.format("connection-count"),
)
CONNECTIONS_ACCEPTED: Final = _counter(
    "doorkeeper_connections_accepted_total",
    "Accepted connections.",
    "listener",
    kafka=_SOCKETS.format("connection-creation-total"),
)
HANDSHAKES: Final = _counter(
    "doorkeeper_tls_handshakes_total",
    "Completed TLS handshakes: succeeded or failed.",
    "listener",
    "result",
    kafka=_SOCKETS.format("{successful,failed}-authentication-total"),
)
AUTHENTICATIONS: Final = _counter(
    "doorkeeper_authentications_total",
    'SASL authentications and re-authentications by result. The mechanism is "none" if the client'
    " chose none.",
    "mechanism",
    "result",
    kafka=_SOCKETS.format("{successful,failed}-{authentication,reauthentication}-total"),
)
SESSIONS_EXPIRED: Final = _counter(
    "doorkeeper_sessions_expired_total",
    "Connections closed because they sent a request after their session had expired (KIP-368).",
    kafka=_SOCKETS.format("expired-connections-killed-count"),
)

# --- the store

REVISION: Final = _gauge(
    "doorkeeper_revision",
    "The revision of the state that this node uses for decisions and responses.",
    kafka="kafka.server:type=broker-metadata-metrics,name=last-applied-record-offset",
)
HEAD_REVISION: Final = _gauge(
    "doorkeeper_head_revision",
    "The newest revision known to this node. Subtract doorkeeper_revision to get the lag.",
)
SNAPSHOT_AGE: Final = _gauge(
    "doorkeeper_snapshot_age_seconds",
    "Time since this node last confirmed that it has the newest revision; 0 for an embedded store.",
    kafka="kafka.server:type=broker-metadata-metrics,name=last-applied-record-lag-ms",
)
STORE_REACHABLE: Final = _gauge(
    "doorkeeper_store_reachable", "Whether the store is available: 1 or 0."
)
STORE_COMMITS: Final = _counter(
    "doorkeeper_store_commits_total", "Store transactions by result.", "result"
)
STORE_CHANGES: Final = _counter(
    "doorkeeper_store_changes_total",
    "Changes committed to the store; a transaction may contain several.",
)
COMMIT_SECONDS: Final = _histogram(
    "doorkeeper_store_commit_seconds",
    "Duration of successful transactions.",
    buckets=SLOW_S,
)
STORE_RECONNECTS: Final = _counter(
    "doorkeeper_store_reconnects_total", "Reconnections to a shared store."
)

# --- the nodes

NODES: Final = _gauge(
    "doorkeeper_nodes",
    "Live nodes, as this node reports them to clients.",
    kafka="kafka.controller:type=KafkaController,name=ActiveBrokerCount",
)
IS_CONTROLLER: Final = _gauge(
    "doorkeeper_is_controller",
    "Whether this node is the controller: 1 or 0.",
    kafka="kafka.controller:type=KafkaController,name=ActiveControllerCount",
)

# --- clusters

CLUSTER_REVISION: Final = _gauge(
    "doorkeeper_cluster_revision",
    "The last revision enforced by all brokers of a cluster; absent before the first.",
    "cluster",
)
CLUSTER_DRIFT: Final = _gauge(
    "doorkeeper_cluster_drift",
    "ACLs in the scope that a cluster lacks (missing) or has in addition (extra).",
    "cluster",
    "kind",
)
CLUSTER_HELD: Final = _gauge(
    "doorkeeper_cluster_held",
    "ACLs whose change is held back on a cluster, by rule.",
    "cluster",
    "rule",
)
CLUSTER_REACHABLE: Final = _gauge(
    "doorkeeper_cluster_reachable",
    "Whether the last attempt to read or change a cluster succeeded: 1 or 0.",
    "cluster",
)
CLUSTER_FOLLOWS_LOG: Final = _gauge(
    "doorkeeper_cluster_follows_log",
    "Whether this node follows the metadata log of a cluster (1) or polls its ACLs (0).",
    "cluster",
)
CLUSTER_READS: Final = _counter(
    "doorkeeper_cluster_reads_total",
    "Full DescribeAcls requests sent to the brokers of a cluster.",
    "cluster",
)

# --- the audit log

AUDIT_QUEUED: Final = _gauge(
    "doorkeeper_audit_queued_events",
    "Audit events waiting to be written; one with long names counts as several.",
)
AUDIT_WRITTEN: Final = _counter("doorkeeper_audit_written_events_total", "Audit events written.")
AUDIT_DROPPED: Final = _counter(
    "doorkeeper_audit_dropped_events_total",
    "Audit events lost, because the queue was full or they could not be written.",
    "reason",
)
AUDIT_SYNC_SECONDS: Final = _histogram(
    "doorkeeper_audit_sync_seconds",
    "Duration of syncing the audit log to disk.",
    buckets=SLOW_S,
)

# --- the process

RELOADS: Final = _counter(
    "doorkeeper_reloads_total",
    "Configuration reloads (SIGHUP) by result: applied or refused.",
    "result",
)
LAST_RELOAD: Final = _gauge(
    "doorkeeper_last_reload_successful",
    "Whether the last reload was applied: 1 or 0; 1 before the first reload.",
)
LOOP_LAG: Final = _gauge(
    "doorkeeper_loop_lag_seconds",
    "Delay of the event loop's last periodic timer.",
)
READY: Final = _gauge("doorkeeper_ready", "Result of each check of /readyz: 1 or 0.", "check")
METRIC_FAULTS: Final = _counter(
    "doorkeeper_metric_faults_total",
    "Metrics that could not be read at a scrape. Any value but 0 is a bug.",
)
BUILD_INFO: Final = _gauge(
    "doorkeeper_build_info",
    "Always 1; the labels have the version.",
    "version",
    "python",
    kafka="kafka.server:type=app-info",
)


METRICS: Final = tuple(value for value in tuple(vars().values()) if isinstance(value, Metric))
"""All metrics, in the order of the page and of /metrics."""
