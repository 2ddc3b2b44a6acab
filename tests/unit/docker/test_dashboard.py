"""The dashboard and the alerts name metrics and labels that a server gives."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from doorkeeper.server.operations.http.exposition import process_metrics
from doorkeeper.server.runtime.metrics.table import METRICS
from pages import dashboard
from testkit.checkout import ROOT
from testkit.promql import query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.runtime.metrics.table import Metric

ALERTS = ROOT / "docker" / "prometheus" / "alerts.yaml"
OF_PROMETHEUS = {"up"}
OF_TARGETS = {"instance", "job"}


def labels_by_name() -> dict[str, set[str]]:
    """Return the labels of each name that a query can ask for."""
    known = {name: set(labels) for metric in METRICS for name, labels in _names(metric)}
    for metric in process_metrics().collect():
        known |= {sample.name: set(sample.labels) for sample in metric.samples}
    return known


def _names(metric: Metric) -> Iterator[tuple[str, tuple[str, ...]]]:
    if metric.kind == "histogram":
        yield f"{metric.name}_bucket", (*metric.labels, "le")
        yield f"{metric.name}_sum", metric.labels
        yield f"{metric.name}_count", metric.labels
    else:
        yield metric.name, metric.labels


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard.PAGE.read_text())["panels"]
    return found


def dashboard_queries() -> dict[str, str]:
    return {
        f"{panel['title']}: {target['legendFormat']}": target["expr"]
        for panel in panels()
        for target in panel.get("targets", ())
    }


def alert_queries() -> dict[str, str]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def test_queries_use_existing_metrics_and_labels() -> None:
    known = labels_by_name()
    for title, expr in {**dashboard_queries(), **alert_queries()}.items():
        found = query(expr)
        labels = set().union(*(known.get(name, set()) for name in found.metrics))

        assert found.metrics, title
        assert found.metrics <= known.keys() | OF_PROMETHEUS, title
        assert found.labels <= labels | OF_TARGETS, title


def test_legends_use_labels_of_the_query() -> None:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    texts = [(title.partition(": ")[2], expr) for title, expr in dashboard_queries().items()]
    texts += [
        (rule["annotations"]["summary"].replace("$labels.", ""), rule["expr"])
        for rule in group["rules"]
    ]
    known = labels_by_name()
    for text, expr in texts:
        kept = set().union(*(known.get(name, set()) for name in query(expr).metrics)) | OF_TARGETS
        if sums := re.findall(r"\b(?:sum|min|max) by \(([^)]*)\)", expr):
            kept = {label.strip() for by in sums for label in by.split(",")}

        assert set(re.findall(r"\{\{ ?([a-z]+) ?\}\}", text)) <= kept, text
