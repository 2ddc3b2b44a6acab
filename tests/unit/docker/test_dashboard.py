"""The dashboard and the alerts name metrics and labels that a server gives."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from doorkeeper.metrics.table import METRICS, MetricKind
from testkit import dashboard
from testkit.checkout import ROOT
from testkit.promql import query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.metrics.table import Metric

ALERTS = ROOT / "docker" / "prometheus" / "alerts.yaml"
OF_PROMETHEUS = {"up"}
OF_TARGETS = {"instance", "job"}


def labels_by_name() -> dict[str, set[str]]:
    """Return the labels of each name that a query can ask for."""
    return {name: set(labels) for metric in METRICS for name, labels in _names(metric)}


def _names(metric: Metric) -> Iterator[tuple[str, tuple[str, ...]]]:
    if metric.kind is MetricKind.HISTOGRAM:
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


def test_the_dashboard_is_what_its_writer_gives() -> None:
    """Whoever changes it changes tests/testkit/dashboard.py."""
    assert dashboard.PAGE.read_text(encoding="utf-8") == dashboard.page()


@pytest.mark.parametrize(
    ("title", "expr"), [*dashboard_queries().items(), *alert_queries().items()]
)
def test_each_query_names_what_there_is(title: str, expr: str) -> None:
    """Each metric is one of the table, and each label one of a metric in the query."""
    known, found = labels_by_name(), query(expr)

    assert found.metrics
    assert found.metrics <= known.keys() | OF_PROMETHEUS
    labels = set().union(*(known.get(name, set()) for name in found.metrics))
    assert found.labels <= labels | OF_TARGETS


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        *((title.partition(": ")[2], expr) for title, expr in dashboard_queries().items()),
        *(
            (rule["annotations"]["summary"].replace("$labels.", ""), rule["expr"])
            for rule in yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
        ),
    ],
)
def test_legends_and_texts_name_labels_that_the_query_keeps(text: str, expr: str) -> None:
    """What a sum drops cannot be shown."""
    named = set(re.findall(r"\{\{ ?([a-z]+) ?\}\}", text))
    found = query(expr)
    known = labels_by_name()
    kept = set().union(*(known.get(name, set()) for name in found.metrics)) | OF_TARGETS
    if sums := re.findall(r"\b(?:sum|min|max) by \(([^)]*)\)", expr):
        kept = {label.strip() for by in sums for label in by.split(",")}

    assert named <= kept
