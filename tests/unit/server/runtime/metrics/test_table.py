"""The table of metrics."""

from __future__ import annotations

import re

from doorkeeper.server.runtime.metrics.table import METRICS


def test_names_are_unique_and_typed() -> None:
    names = [metric.name for metric in METRICS]

    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert metric.name.startswith("doorkeeper_"), metric.name


def test_labels_are_not_chosen_by_clients() -> None:
    allowed = {
        # Of the file of clusters.
        *("cluster", "kind", "rule"),
        *("api", "check", "direction", "error", "listener", "mechanism"),
        *("operation", "python", "reason", "result", "version"),
    }

    assert {label for metric in METRICS for label in metric.labels} == allowed
