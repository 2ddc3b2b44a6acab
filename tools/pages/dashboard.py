"""Writes the dashboard for Grafana, docker/grafana/dashboards/doorkeeper.json.

Rows of panels, each with its queries; the rest of a dashboard's JSON is the same for all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from testkit.checkout import ROOT

PAGE = ROOT / "docker" / "grafana" / "dashboards" / "doorkeeper.json"

NODE = 'instance=~"$node"'
WINDOW = "[$__rate_interval]"
SOURCE = {"type": "prometheus", "uid": "prometheus"}
WIDTH, HEIGHT = 24, 8


class Panel(NamedTuple):
    """A panel: its queries by the text of their legend."""

    title: str
    unit: str
    queries: dict[str, str]
    doc: str = ""
    kind: str = "timeseries"


def rate(metric: str, by: str = "instance", more: str = "") -> str:
    """Return the sum of rates."""
    return f"sum by ({by}) (rate({metric}{{{NODE}{more}}}{WINDOW}))"


def quantile(metric: str, of: float, more: str = "") -> str:
    """Return a quantile of a histogram, by API where it has one."""
    by = "le, api" if "request" in metric else "le, instance"
    return (
        f"histogram_quantile({of}, sum by ({by}) (rate({metric}_bucket{{{NODE}{more}}}{WINDOW})))"
    )


def now(metric: str, more: str = "") -> str:
    """Return a gauge as it is."""
    return f"{metric}{{{NODE}{more}}}"


ACL_APIS = ', api=~"CreateAcls|DeleteAcls"'
ACL_UPDATE = ', operation="acl-update"'

ROWS: dict[str, tuple[Panel, ...]] = {
    "Is all well?": (
        Panel(
            "Ready",
            "bool_yes_no",
            {"{{instance}}": f"min by (instance) ({now('doorkeeper_ready')})"},
            "Whether every check of /readyz holds.",
            "stat",
        ),
        Panel(
            "Nodes",
            "short",
            {"{{instance}}": now("doorkeeper_nodes")},
            "How many nodes each node tells its clients of.",
            "stat",
        ),
        Panel(
            "Controller",
            "bool_yes_no",
            {"{{instance}}": now("doorkeeper_is_controller")},
            "Clients send changes there.",
            "stat",
        ),
        Panel("ACLs", "short", {"{{instance}}": now("doorkeeper_acls")}, "", "stat"),
        Panel(
            "Last reload applied",
            "bool_yes_no",
            {"{{instance}}": now("doorkeeper_last_reload_successful")},
            "No: the node runs with an older configuration than its file has.",
            "stat",
        ),
        Panel("Version", "none", {"{{version}}": now("doorkeeper_build_info")}, "", "stat"),
    ),
    "Requests": (
        Panel("Requests by API", "reqps", {"{{api}}": rate("doorkeeper_requests_total", "api")}),
        Panel(
            "Requests with errors",
            "reqps",
            {
                "{{api}} {{error}}": rate(
                    "doorkeeper_requests_total", "api, error", ', error!="none"'
                )
            },
            "By the error of the answer, or of its first item that has one.",
        ),
        Panel(
            "Time of a request",
            "s",
            {
                "{{api}} 99 %": quantile("doorkeeper_request_seconds", 0.99),
                "{{api}} 50 %": quantile("doorkeeper_request_seconds", 0.5),
            },
        ),
    ),
    "Changes of ACLs (KIP-504)": (
        Panel(
            "Local, remote, total, 99 %",
            "s",
            {
                f"{{{{api}}}} {name}": quantile(
                    f"doorkeeper_request_{metric}seconds", 0.99, ACL_APIS
                )
                for name, metric in (("local", "local_"), ("remote", "remote_"), ("total", ""))
            },
            "Local ends when the wait for the authorizer begins, remote with its last item.",
        ),
        Panel(
            "Waiting for the authorizer",
            "short",
            {
                "{{instance}} updates": now("doorkeeper_delayed_operations", ACL_UPDATE),
                "{{instance}} items": now("doorkeeper_purgatory_size", ACL_UPDATE),
                "{{instance}} items at most": now("doorkeeper_purgatory_size_max", ACL_UPDATE),
            },
            "Kafka: NumDelayedOperations and PurgatorySize with delayedOperation=AlterAcls.",
        ),
        Panel(
            "Refused and timed out",
            "cps",
            {
                "{{instance}} refused": rate("doorkeeper_updates_refused_total"),
                "{{instance}} items timed out": rate("doorkeeper_update_items_timed_out_total"),
            },
        ),
    ),
    "Decisions": (
        Panel("Decisions", "cps", {"{{result}}": rate("doorkeeper_decisions_total", "result")}),
        Panel(
            "Denied, of all",
            "percentunit",
            {
                "{{instance}}": (
                    rate("doorkeeper_decisions_total", more=', result="denied"')
                    + " / "
                    + rate("doorkeeper_decisions_total")
                )
            },
        ),
        Panel(
            "Authorizer: faults and slow calls",
            "cps",
            {
                "{{instance}} faults": rate("doorkeeper_authorizer_faults_total"),
                "{{instance}} slow": rate("doorkeeper_authorizer_slow_calls_total"),
            },
            "Faults allowed nothing.",
        ),
    ),
    "Store": (
        Panel(
            "Revision, and how far behind",
            "short",
            {
                "{{instance}} revision": now("doorkeeper_revision"),
                "{{instance}} behind": (
                    f"{now('doorkeeper_head_revision')} - {now('doorkeeper_revision')}"
                ),
            },
        ),
        Panel(
            "Age of the snapshot, and reachable",
            "s",
            {
                "{{instance}} age": now("doorkeeper_snapshot_age_seconds"),
                "{{instance}} reachable (1 or 0)": now("doorkeeper_store_reachable"),
            },
            "While the store is away a node decides from what it has, and this is how old that is.",
        ),
        Panel(
            "Commits",
            "cps",
            {
                "{{instance}} {{result}}": rate(
                    "doorkeeper_store_commits_total", "instance, result"
                ),
                "{{instance}} changes": rate("doorkeeper_store_changes_total"),
                "{{instance}} reconnects": rate("doorkeeper_store_reconnects_total"),
            },
        ),
        Panel(
            "Time of a commit",
            "s",
            {
                "{{instance}} 99 %": quantile("doorkeeper_store_commit_seconds", 0.99),
                "{{instance}} 50 %": quantile("doorkeeper_store_commit_seconds", 0.5),
            },
        ),
    ),
    "Connections and logins": (
        Panel(
            "Connections",
            "short",
            {"{{instance}} {{listener}}": now("doorkeeper_connections")},
        ),
        Panel(
            "New connections and TLS handshakes",
            "cps",
            {
                "{{listener}} accepted": rate("doorkeeper_connections_accepted_total", "listener"),
                "{{listener}} TLS {{result}}": rate(
                    "doorkeeper_tls_handshakes_total", "listener, result"
                ),
            },
        ),
        Panel(
            "Logins",
            "cps",
            {
                "{{mechanism}} {{result}}": rate(
                    "doorkeeper_authentications_total", "mechanism, result"
                ),
                "sessions expired": rate("doorkeeper_sessions_expired_total"),
            },
        ),
        Panel(
            "Bytes held",
            "bytes",
            {"{{instance}} {{direction}}": now("doorkeeper_held_bytes")},
            "Received and not answered, answered and not taken.",
        ),
    ),
    "Audit log": (
        Panel(
            "Events",
            "cps",
            {
                "{{instance}} written": rate("doorkeeper_audit_written_events_total"),
                "{{instance}} lost: {{reason}}": rate(
                    "doorkeeper_audit_dropped_events_total", "instance, reason"
                ),
            },
        ),
        Panel("Events that wait", "short", {"{{instance}}": now("doorkeeper_audit_queued_events")}),
        Panel(
            "Time of a sync, 99 %",
            "s",
            {"{{instance}}": quantile("doorkeeper_audit_sync_seconds", 0.99)},
        ),
    ),
    "Process": (
        Panel("Processor", "percentunit", {"{{instance}}": rate("process_cpu_seconds_total")}),
        Panel("Memory", "bytes", {"{{instance}}": now("process_resident_memory_bytes")}),
        Panel(
            "Descriptors",
            "short",
            {
                "{{instance}} open": now("process_open_fds"),
                "{{instance}} at most": now("process_max_fds"),
            },
        ),
        Panel(
            "Lateness of the event loop", "s", {"{{instance}}": now("doorkeeper_loop_lag_seconds")}
        ),
    ),
    "Kafka clusters": (
        Panel(
            "ACLs that differ",
            "short",
            {"{{cluster}} {{kind}}": f"max by (cluster, kind) ({now('doorkeeper_cluster_drift')})"},
            "Within the scope of each cluster.",
        ),
        Panel(
            "Revision in force",
            "short",
            {"{{cluster}}": f"max by (cluster) ({now('doorkeeper_cluster_revision')})"},
            "The last one that all brokers enforced.",
        ),
        Panel(
            "Descriptions asked for",
            "reqps",
            {"{{cluster}}": rate("doorkeeper_cluster_reads_total", by="cluster")},
        ),
        Panel(
            "Metadata log is followed",
            "short",
            {"{{cluster}}": f"max by (cluster) ({now('doorkeeper_cluster_follows_log')})"},
            "0 where the holder of a cluster polls it: doorkeeper clusters status says why.",
        ),
    ),
}


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in ROWS.items():
        place = {"h": 1, "w": WIDTH, "x": 0, "y": y}
        panels.append({"type": "row", "title": title, "gridPos": place, "collapsed": False})
        height = HEIGHT // 2 if row[0].kind == "stat" else HEIGHT
        width = WIDTH // len(row)
        for number, panel in enumerate(row):
            place = {"h": height, "w": width, "x": number * width, "y": y + 1}
            panels.append(_panel(panel, place))
        y += 1 + height
    for number, made in enumerate(panels, 1):
        made["id"] = number
    return {
        "uid": "doorkeeper",
        "title": "Doorkeeper",
        "tags": ["doorkeeper", "kafka"],
        "editable": True,
        "graphTooltip": 1,
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "",
        "templating": {"list": [_variable()]},
        "panels": panels,
    }


def _panel(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {"refId": chr(65 + number), "expr": expr, "legendFormat": legend, "datasource": SOURCE}
        for number, (legend, expr) in enumerate(panel.queries.items())
    ]
    made: dict[str, Any] = {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.doc,
        "gridPos": place,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
    if panel.title == "Version":
        made["options"] = {"textMode": "name"}
    return made


def _variable() -> dict[str, Any]:
    return {
        "name": "node",
        "label": "Node",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": "label_values(doorkeeper_build_info, instance)", "refId": "node"},
        "includeAll": True,
        "multi": True,
        "refresh": 2,
        "current": {"text": "All", "value": "$__all"},
    }


def page() -> str:
    """Return the file."""
    return json.dumps(dashboard(), indent=2) + "\n"


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}
