"""Every metric of the server, with Kafka's name.

``docs/reference/metrics.md`` and ``/metrics`` are generated from this table; a test compares the
dashboard with it. Units are those of Prometheus: seconds and bytes.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from doorkeeper.base.value import Value


class MetricKind(Enum):
    """The type of a metric in Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Value):
    """One metric. ``name`` is the one in queries; of a histogram, without ``_bucket``.

    ``kafka`` is the name of the same metric in a broker or a KIP, empty if there is none.
    ``buckets`` are the upper bounds of a histogram, ascending, without infinity. ``foreign``: the
    library that publishes metrics reads the value, from the system or from Python.
    """

    name: str
    kind: MetricKind
    doc: str
    labels: tuple[str, ...] = ()
    kafka: str = ""
    buckets: tuple[float, ...] = ()
    foreign: bool = False


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

REQUESTS: Final = Metric(
    name="doorkeeper_requests_total",
    kind=MetricKind.COUNTER,
    doc=(
        "Requests that were answered, by API and by what came of them: the error of the answer, or"
        ' of its first item that has one; "none" without any.'
    ),
    labels=("api", "error"),
    kafka=f"{_REQUESTS.format('RequestsPerSec')}; name=ErrorsPerSec,error=<name>",
)
REQUEST_SECONDS: Final = Metric(
    name="doorkeeper_request_seconds",
    kind=MetricKind.HISTOGRAM,
    doc=(
        "Total time of a request: from when its connection's turn came until its answer left for"
        " the socket, with those of the same turn. Of CreateAcls and DeleteAcls, local and remote"
        " time together."
    ),
    labels=("api",),
    kafka=_REQUESTS.format("TotalTimeMs"),
    buckets=FAST_S,
)
LOCAL_SECONDS: Final = Metric(
    name="doorkeeper_request_local_seconds",
    kind=MetricKind.HISTOGRAM,
    doc=(
        "Local time of a request that changes something (CreateAcls, DeleteAcls...): it ends when"
        " the wait for the authorizer or the store begins."
    ),
    labels=("api",),
    kafka=_REQUESTS.format("LocalTimeMs"),
    buckets=FAST_S,
)
REMOTE_SECONDS: Final = Metric(
    name="doorkeeper_request_remote_seconds",
    kind=MetricKind.HISTOGRAM,
    doc=(
        "Remote time of a request that changes something: from the begin of the wait until the"
        " last item is complete, or has timed out; 0 where nothing was waited for."
    ),
    labels=("api",),
    kafka=_REQUESTS.format("RemoteTimeMs"),
    buckets=SLOW_S,
)
HELD_BYTES: Final = Metric(
    name="doorkeeper_held_bytes",
    kind=MetricKind.GAUGE,
    doc="Bytes that connections hold: received and not answered (in), not taken by peers (out).",
    labels=("direction",),
)
TRAILING_BYTES: Final = Metric(
    name="doorkeeper_request_trailing_bytes_total",
    kind=MetricKind.COUNTER,
    doc="Bytes behind the end of requests, which are ignored, as a broker ignores them.",
)
WITHHELD_ACLS: Final = Metric(
    name="doorkeeper_withheld_acls_total",
    kind=MetricKind.COUNTER,
    doc="ACLs left out of answers because of doorkeeper.clients.withhold.",
)

# --- updates that wait

DELAYED_OPERATIONS: Final = Metric(
    name="doorkeeper_delayed_operations",
    kind=MetricKind.GAUGE,
    doc=(
        "Requests that wait for what they change, also those whose clients have left. An update of"
        ' ACLs is an "acl-update".'
    ),
    labels=("operation",),
    kafka=_PURGATORY.format("NumDelayedOperations"),
)
PURGATORY_SIZE: Final = Metric(
    name="doorkeeper_purgatory_size",
    kind=MetricKind.GAUGE,
    doc="Items of those requests: what is watched until it is complete.",
    labels=("operation",),
    kafka=_PURGATORY.format("PurgatorySize"),
)
PURGATORY_SIZE_MAX: Final = Metric(
    name="doorkeeper_purgatory_size_max",
    kind=MetricKind.GAUGE,
    doc="How many items may wait: doorkeeper.update.waiting.max, for updates of ACLs.",
    labels=("operation",),
)
UPDATES_REFUSED: Final = Metric(
    name="doorkeeper_updates_refused_total",
    kind=MetricKind.COUNTER,
    doc="Updates of ACLs that were refused because too many items waited.",
)
ITEMS_TIMED_OUT: Final = Metric(
    name="doorkeeper_update_items_timed_out_total",
    kind=MetricKind.COUNTER,
    doc="Items of updates that were not complete after doorkeeper.update.timeout.ms.",
    labels=("operation",),
)

# --- decisions

DECISIONS: Final = Metric(
    name="doorkeeper_decisions_total",
    kind=MetricKind.COUNTER,
    doc="Decisions of the authorizer: allowed or denied. What KIP-430 probes is none.",
    labels=("result",),
    kafka=_PLUGIN.format("authorization-{allowed,denied}-rate-per-minute"),
)
SLOW_DECISIONS: Final = Metric(
    name="doorkeeper_authorizer_slow_calls_total",
    kind=MetricKind.COUNTER,
    doc="Calls of the authorizer that took longer than doorkeeper.authorizer.slow.ms.",
)
AUTHORIZER_FAULTS: Final = Metric(
    name="doorkeeper_authorizer_faults_total",
    kind=MetricKind.COUNTER,
    doc="Calls in which the authorizer raised or broke its contract. They allowed nothing.",
)
ACLS: Final = Metric(
    name="doorkeeper_acls",
    kind=MetricKind.GAUGE,
    doc="ACLs that the authorizer holds; absent where it does not say.",
    kafka=_PLUGIN.format("acls-total-count"),
)

# --- connections

CONNECTIONS: Final = Metric(
    name="doorkeeper_connections",
    kind=MetricKind.GAUGE,
    doc="Open connections of clients.",
    labels=("listener",),
    kafka=_SOCKETS.format("connection-count"),
)
CONNECTIONS_ACCEPTED: Final = Metric(
    name="doorkeeper_connections_accepted_total",
    kind=MetricKind.COUNTER,
    doc="Connections that were let in.",
    labels=("listener",),
    kafka=_SOCKETS.format("connection-creation-total"),
)
HANDSHAKES: Final = Metric(
    name="doorkeeper_tls_handshakes_total",
    kind=MetricKind.COUNTER,
    doc="TLS handshakes that are over: succeeded or failed.",
    labels=("listener", "result"),
    kafka=_SOCKETS.format("{successful,failed}-authentication-total"),
)
AUTHENTICATIONS: Final = Metric(
    name="doorkeeper_authentications_total",
    kind=MetricKind.COUNTER,
    doc=(
        "SASL authentications and re-authentications that succeeded or failed."
        ' The mechanism is "none" if none was chosen.'
    ),
    labels=("mechanism", "result"),
    kafka=_SOCKETS.format("{successful,failed}-{authentication,reauthentication}-total"),
)
SESSIONS_EXPIRED: Final = Metric(
    name="doorkeeper_sessions_expired_total",
    kind=MetricKind.COUNTER,
    doc="Connections closed because they went on after the time of their login (KIP-368).",
    kafka=_SOCKETS.format("expired-connections-killed-count"),
)

# --- the store

REVISION: Final = Metric(
    name="doorkeeper_revision",
    kind=MetricKind.GAUGE,
    doc="The revision of which this node decides and describes.",
    kafka="kafka.server:type=broker-metadata-metrics,name=last-applied-record-offset",
)
HEAD_REVISION: Final = Metric(
    name="doorkeeper_head_revision",
    kind=MetricKind.GAUGE,
    doc="The newest revision of the store that this node knows of. Less the revision: the lag.",
)
SNAPSHOT_AGE: Final = Metric(
    name="doorkeeper_snapshot_age_seconds",
    kind=MetricKind.GAUGE,
    doc="How long ago this node last knew that nothing newer was in the store; 0 where it is ours.",
    kafka="kafka.server:type=broker-metadata-metrics,name=last-applied-record-lag-ms",
)
STORE_REACHABLE: Final = Metric(
    name="doorkeeper_store_reachable",
    kind=MetricKind.GAUGE,
    doc="Whether the store answers: 1 or 0.",
)
STORE_COMMITS: Final = Metric(
    name="doorkeeper_store_commits_total",
    kind=MetricKind.COUNTER,
    doc="Transactions of the store: stored or failed.",
    labels=("result",),
)
STORE_CHANGES: Final = Metric(
    name="doorkeeper_store_changes_total",
    kind=MetricKind.COUNTER,
    doc="Changes that these transactions stored; several share one commit.",
)
COMMIT_SECONDS: Final = Metric(
    name="doorkeeper_store_commit_seconds",
    kind=MetricKind.HISTOGRAM,
    doc="How long a transaction took that was stored.",
    buckets=SLOW_S,
)
STORE_RECONNECTS: Final = Metric(
    name="doorkeeper_store_reconnects_total",
    kind=MetricKind.COUNTER,
    doc="How often a connection to a shared store was made again.",
)

# --- the nodes

NODES: Final = Metric(
    name="doorkeeper_nodes",
    kind=MetricKind.GAUGE,
    doc="Nodes that are alive, as this node tells its clients.",
    kafka="kafka.controller:type=KafkaController,name=ActiveBrokerCount",
)
IS_CONTROLLER: Final = Metric(
    name="doorkeeper_is_controller",
    kind=MetricKind.GAUGE,
    doc="Whether this node is the controller: 1 or 0.",
    kafka="kafka.controller:type=KafkaController,name=ActiveControllerCount",
)

# --- the audit log

AUDIT_QUEUED: Final = Metric(
    name="doorkeeper_audit_queued_events",
    kind=MetricKind.GAUGE,
    doc="Events of the audit log that wait to be written.",
)
AUDIT_WRITTEN: Final = Metric(
    name="doorkeeper_audit_written_events_total",
    kind=MetricKind.COUNTER,
    doc="Events of the audit log that were written.",
)
AUDIT_DROPPED: Final = Metric(
    name="doorkeeper_audit_dropped_events_total",
    kind=MetricKind.COUNTER,
    doc="Events that the audit log lost: its queue was full, or they could not be written.",
    labels=("reason",),
)
AUDIT_SYNC_SECONDS: Final = Metric(
    name="doorkeeper_audit_sync_seconds",
    kind=MetricKind.HISTOGRAM,
    doc="How long the audit log's sync to the disk took.",
    buckets=SLOW_S,
)

# --- the process

RELOADS: Final = Metric(
    name="doorkeeper_reloads_total",
    kind=MetricKind.COUNTER,
    doc="Reloads of the configuration (SIGHUP): applied or refused.",
    labels=("result",),
)
LAST_RELOAD: Final = Metric(
    name="doorkeeper_last_reload_successful",
    kind=MetricKind.GAUGE,
    doc="Whether the last reload was applied, 1 or 0; 1 before the first.",
)
LOOP_LAG: Final = Metric(
    name="doorkeeper_loop_lag_seconds",
    kind=MetricKind.GAUGE,
    doc="How much later than wanted the event loop last came to its beat.",
)
READY: Final = Metric(
    name="doorkeeper_ready",
    kind=MetricKind.GAUGE,
    doc="What /readyz says of each thing it looks at: 1 or 0.",
    labels=("check",),
)
CLUSTER_REVISION: Final = Metric(
    name="doorkeeper_cluster_revision",
    kind=MetricKind.GAUGE,
    doc="The last revision that all brokers of a cluster enforced; none before the first.",
    labels=("cluster",),
)
CLUSTER_DRIFT: Final = Metric(
    name="doorkeeper_cluster_drift",
    kind=MetricKind.GAUGE,
    doc="ACLs of the scope that a cluster lacks (missing) or has too many (extra).",
    labels=("cluster", "kind"),
)
CLUSTER_HELD: Final = Metric(
    name="doorkeeper_cluster_held",
    kind=MetricKind.GAUGE,
    doc="ACLs whose change is not made on a cluster, and so not in force, by the reason.",
    labels=("cluster", "rule"),
)
CLUSTER_REACHABLE: Final = Metric(
    name="doorkeeper_cluster_reachable",
    kind=MetricKind.GAUGE,
    doc="Whether the last attempt to read or change a cluster succeeded: 1 or 0.",
    labels=("cluster",),
)
CLUSTER_FOLLOWS_LOG: Final = Metric(
    name="doorkeeper_cluster_follows_log",
    kind=MetricKind.GAUGE,
    doc="Whether this node follows the metadata log of a cluster (1), or polls it (0).",
    labels=("cluster",),
)
CLUSTER_READS: Final = Metric(
    name="doorkeeper_cluster_reads_total",
    kind=MetricKind.COUNTER,
    doc="Descriptions of all ACLs that the brokers of a cluster were asked for.",
    labels=("cluster",),
)
METRIC_FAULTS: Final = Metric(
    name="doorkeeper_metric_faults_total",
    kind=MetricKind.COUNTER,
    doc="Metrics that could not be read at a scrape. Never anything but 0, or it is a bug.",
)
BUILD_INFO: Final = Metric(
    name="doorkeeper_build_info",
    kind=MetricKind.GAUGE,
    doc="Always 1; the labels say what runs.",
    labels=("version", "python"),
    kafka="kafka.server:type=app-info",
)


def _foreign(
    name: str, doc: str, kind: MetricKind = MetricKind.GAUGE, labels: tuple[str, ...] = ()
) -> Metric:
    return Metric(name=name, kind=kind, doc=doc, labels=labels, foreign=True)


PROCESS: Final = (
    _foreign("process_virtual_memory_bytes", "Virtual memory size in bytes."),
    _foreign("process_resident_memory_bytes", "Resident memory size in bytes."),
    _foreign(
        "process_start_time_seconds", "Start time of the process since unix epoch in seconds."
    ),
    _foreign(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        MetricKind.COUNTER,
    ),
    _foreign("process_open_fds", "Number of open file descriptors."),
    _foreign("process_max_fds", "Maximum number of open file descriptors."),
    _foreign(
        "python_gc_objects_collected_total",
        "Objects collected during gc",
        MetricKind.COUNTER,
        ("generation",),
    ),
    _foreign(
        "python_gc_objects_uncollectable_total",
        "Uncollectable objects found during GC",
        MetricKind.COUNTER,
        ("generation",),
    ),
    _foreign(
        "python_gc_collections_total",
        "Number of times this generation was collected",
        MetricKind.COUNTER,
        ("generation",),
    ),
)
"""Metrics that the publishing library reads from the system (Linux only) and from Python."""

METRICS: Final[tuple[Metric, ...]] = (
    *(REQUESTS, REQUEST_SECONDS, LOCAL_SECONDS, REMOTE_SECONDS),
    *(HELD_BYTES, TRAILING_BYTES, WITHHELD_ACLS),
    *(DELAYED_OPERATIONS, PURGATORY_SIZE, PURGATORY_SIZE_MAX, UPDATES_REFUSED, ITEMS_TIMED_OUT),
    *(DECISIONS, SLOW_DECISIONS, AUTHORIZER_FAULTS, ACLS),
    *(CONNECTIONS, CONNECTIONS_ACCEPTED, HANDSHAKES, AUTHENTICATIONS, SESSIONS_EXPIRED),
    *(REVISION, HEAD_REVISION, SNAPSHOT_AGE, STORE_REACHABLE),
    *(STORE_COMMITS, STORE_CHANGES, COMMIT_SECONDS, STORE_RECONNECTS),
    *(NODES, IS_CONTROLLER),
    *(CLUSTER_REVISION, CLUSTER_DRIFT, CLUSTER_HELD, CLUSTER_REACHABLE),
    *(CLUSTER_FOLLOWS_LOG, CLUSTER_READS),
    *(AUDIT_QUEUED, AUDIT_WRITTEN, AUDIT_DROPPED, AUDIT_SYNC_SECONDS),
    *(RELOADS, LAST_RELOAD, LOOP_LAG, READY, METRIC_FAULTS, BUILD_INFO),
    *PROCESS,
)
"""All metrics, in the order of the page and of /metrics."""
